#!/usr/bin/env bash
# build.sh PRESET [TARGET]: configure build/PRESET if it is not yet, and build what is out of date; only TARGET
# where one is named.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1

for program in cmake ninja cc c++ pkg-config; do
	if ! command -v "$program" >/dev/null; then
		echo "$program is missing. To install all that a build needs:  tools/install-packages.sh build" >&2
		exit 1
	fi
done
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset"
cmake --build --preset "$preset" ${2:+--target "$2"}
