#!/usr/bin/env bash
# torch_op.sh [--count] [BUILD_DIR]: cost of a recorded PyTorch operation above an empty RecordFunction callback that asks for
# its tensors (target: 60 ns): by the plain probe in a step that is asked, in one that is not, and by the compiled probe.
# --count: instead of times, the instructions that the compiled probe's two callbacks take, by callgrind. Roughly: its
# attribution to a function and what that calls differs between runs of the same. Needs Debian's libtorch-dev,
# and valgrind to count; exit 77 without.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
is_count=
[ "${1:-}" = --count ] && { is_count=1; shift; }
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
python=${PYTHON:-/usr/bin/python3}
folder=$("$python" -c 'import importlib.util as u
s = u.find_spec("torch")
print(list(s.submodule_search_locations)[0] if s else "")' 2>/dev/null) || true
if [ ! -e "${folder:-/nowhere}/include/ATen/record_function.h" ]; then
	echo "torch_op: no PyTorch headers for $python: skipped"
	exit 77
fi
if [ "$is_count" ] && [ ! -e /usr/include/valgrind/callgrind.h ]; then
	echo "torch_op: no valgrind (with its headers) to count with: skipped"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${CXX:-c++}" -O2 -DNDEBUG -std=c++17 -isystem "$folder/include" -o "$work/torch_op" \
	"$source_dir/bench/torch_op.cc" -L "$folder/lib" -ltorch_cpu -lc10
export LD_LIBRARY_PATH=$folder/lib XDG_CACHE_HOME=$work/cache
# measure WORD
measure()
{
	echo "$1"
	"$build_dir/bin/tacho" record --quiet --force --probes torch -o "$work/run" -- "$work/torch_op" "$1"
}
if [ ! "$is_count" ]; then
	measure asked
	measure unasked
fi
"$build_dir/bin/tacho" probe build torch --python "$python" >/dev/null 2>"$work/log" ||
	{ cat "$work/log"; exit 1; }
if [ ! "$is_count" ]; then
	measure compiled
	exit
fi

"$build_dir/bin/tacho" record --quiet --probes torch -o "$work/run" -- \
	valgrind --quiet --tool=callgrind --callgrind-out-file="$work/counts" --instr-atstart=no \
	"$work/torch_op" compiled count 2>"$work/log" ||
	{ cat "$work/log"; exit 1; }
# of 1000 operations, the callbacks with all that they call; one dump for each number of inputs
echo "instructions an operation, in tacho's callbacks"
echo "inputs   begin     end     sum"
part=0
for n_inputs in 1 3 6; do
	part=$((part + 1))
	callgrind_annotate --inclusive=yes --threshold=100 "$work/counts.$part" | tr -d ',' | awk -v n=$n_inputs '
		/:\(anonymous namespace\)::begin_event\(/ { begin = $1 }
		/:\(anonymous namespace\)::end_event\(/ { end = $1 }
		END { printf "%6d %7d %7d %7d\n", n, begin / 1000, end / 1000, (begin + end) / 1000 }'
done
