#!/usr/bin/env bash
# Without a compiler PyTorch is recorded by the plain probe. One that was compiled from PyTorch's headers is built once, kept, and
# used from then on; where it cannot be built a sentence says why; two builds at once are one probe.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
cat >"$work/job.py" <<'END'
import torch
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libtacho_torch.so" in line}
assert len(loaded) == 1, loaded
print(torch.ones(3).sum().item(), "compiled" if "/cache/" in loaded.pop() else "plain")
END

# recorded WORDS [VARIABLE=VALUE...]: the job says that, nothing is said on stderr, and its operations are there
recorded()
{
	local expected=$1

	shift
	rm -rf "$work/run"
	env "$@" "$TACHO" record -q -o "$work/run" -- "$python" "$work/job.py" >"$work/out" 2>"$work/err"
	[ "$(cat "$work/out")" = "$expected" ] || { echo "the job said: $(cat "$work/out")"; exit 1; }
	[ ! -s "$work/err" ] || { cat "$work/err"; exit 1; }
	"$TACHO" report --view op "$work/run" | grep -q aten::sum
}

# refused TEXT [VARIABLE=VALUE...]: the probe is not built, for that reason
refused()
{
	local expected=$1

	shift
	env "$@" "$TACHO" probe build torch --python "$python" >"$work/out" 2>"$work/err" && exit 1
	grep -q "$expected" "$work/err" || { cat "$work/err"; echo "not said: $expected"; exit 1; }
}

mkdir "$work/empty"
recorded "3.0 plain" PATH="$work/empty" CXX=''
refused "no C++ compiler" PATH="$work/empty" CXX=''

printf '#!/bin/sh\necho "I am broken" >&2\nexit 1\n' >"$work/broken"
chmod +x "$work/broken"
refused "the compiler failed; see " CXX="$work/broken"
log=$(sed -n 's/.*failed; see \(.*\)/\1/p' "$work/err")
grep -q "I am broken" "$log"
recorded "3.0 plain"
"$TACHO" probe list --python "$python" --json | grep -q '"probe":"torch","is_ready":true,.*"why":"in plain C'

"$TACHO" probe build torch --python "$python" 2>/dev/null &
"$TACHO" probe build torch --python "$python"
wait $!
recorded "3.0 compiled"
"$TACHO" probe list --python "$python" --json | grep -q '"probe":"torch","is_ready":true,.*"why":"compiled'
[ -z "$(find "$work/cache" -name 'building-*')" ]
[ "$(stat -c %a "$work/cache/tacho/torch")" = 700 ]
"$TACHO" probe build torch --python /nowhere/python 2>"$work/err" && exit 1
grep -q "has no PyTorch" "$work/err"
