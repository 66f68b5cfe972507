#!/usr/bin/env bash
# Children that are forked while another thread has PyTorch's lock around its callbacks, which are switched between steps, run
# their operations all the same: with the probe in plain C, and with the compiled one.
set -u
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME="$work/cache"
${CC:-cc} -O1 -Wall -shared -fPIC "$TACHO_SOURCE_DIR/tests/job/slow_lock.c" -o slow_lock.so || exit 1

# forks PROBE: with that probe
forks() {
	LD_PRELOAD=$work/slow_lock.so "$TACHO" record -q --force --control 1 -o run -- \
		"$python" "$TACHO_SOURCE_DIR/tests/job/torch_forks.py" >out 2>err ||
		{ echo "$1: $(cat out)"; cat err; exit 1; }
	case $(cat out) in
	"all ended") echo "$1: all ended" ;;
	unknown) echo "this PyTorch does not tell its lock: skipped"; exit 77 ;;
	*) echo "$1: $(cat out)"; exit 1 ;;
	esac
}

forks plain
if "$TACHO" probe build torch --python "$python" >build.out 2>&1; then
	forks compiled
else
	echo "the compiled probe is left out: $(tail -n 1 build.out)"
fi
