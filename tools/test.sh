#!/usr/bin/env bash
# test.sh PRESET [CTEST OPTION...]: run the tests of build/PRESET; leaves their results in
# build/PRESET/junit.xml.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

# The sanitizers of gcc 12 find no room for their tables, now and then, where the kernel randomises
# addresses widely (vm.mmap_rnd_bits above 28).
runner=()
if { [ "$preset" = tsan ] || [ "$preset" = asan ]; } && setarch -R true 2>/dev/null; then
	runner=(setarch -R)
fi
exec "${runner[@]}" ctest --test-dir "build/$preset" -j "$(nproc)" --output-on-failure --no-tests=error \
	--output-junit junit.xml "$@"
