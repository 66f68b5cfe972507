#!/usr/bin/env bash
# torch_op.sh [BUILD_DIR]: cost of a recorded PyTorch operation above an empty RecordFunction callback
# (target: 60 ns). Needs Debian's libtorch-dev; exit 77 without it.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
python=${PYTHON:-/usr/bin/python3}
folder=$("$python" -c 'import importlib.util as u
s = u.find_spec("torch")
print(list(s.submodule_search_locations)[0] if s else "")' 2>/dev/null) || true
if [ ! -e "${folder:-/nowhere}/include/ATen/record_function.h" ]; then
	echo "torch_op: no PyTorch headers for $python: skipped"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${CXX:-c++}" -O2 -DNDEBUG -std=c++17 -isystem "$folder/include" -o "$work/torch_op" \
	"$source_dir/bench/torch_op.cc" -L "$folder/lib" -ltorch_cpu -lc10
"$build_dir/bin/tacho" probe build torch --python "$python" >/dev/null 2>"$work/log" ||
	{ cat "$work/log"; exit 1; }
# as a job that a Python starts, so that the probe of its PyTorch is the one looked for
LD_LIBRARY_PATH=$folder/lib "$build_dir/bin/tacho" record --quiet --probes torch -o "$work/run" \
	-- "$work/torch_op"
