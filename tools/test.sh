#!/usr/bin/env bash
# test.sh PRESET [CTEST OPTION...]: run the tests of build/PRESET; leaves their results in
# build/PRESET/junit.xml.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

# gcc 12's thread sanitizer finds no room for its tables where the kernel randomises addresses widely.
runner=()
if [ "$preset" = tsan ] && setarch -R true 2>/dev/null; then
	runner=(setarch -R)
fi
exec "${runner[@]}" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
	--output-junit junit.xml "$@"
