#!/usr/bin/env bash
# test.sh PRESET [CTEST OPTION...]: run the tests of build/PRESET; leaves their results in
# build/PRESET/junit.xml.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
	--output-junit junit.xml "$@"
