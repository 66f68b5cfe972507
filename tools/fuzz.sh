#!/usr/bin/env bash
# fuzz.sh SECONDS [LIBFUZZER OPTION...]: run every fuzz target of build/fuzz for so long, on a corpus
# kept beside it. A crash is an error; the input that crashed is left in build/fuzz/crashes.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
seeds=$PWD/tests/fuzz/corpus

# As in test.sh.
runner=()
if setarch -R true 2>/dev/null; then
	runner=(setarch -R)
fi
mkdir -p build/fuzz/crashes build/fuzz/corpus
found=0
for target in build/fuzz/tests/fuzz_*; do
	[ -x "$target" ] && [ -f "$target" ] || continue
	name=$(basename "$target")
	found=1
	folders=("build/fuzz/corpus/$name")
	mkdir -p "${folders[0]}"
	[ ! -d "$seeds/$name" ] || folders+=("$seeds/$name")
	echo "fuzzing: $name for $seconds s"
	log=build/fuzz/$name.log
	if ! "${runner[@]}" "$target" -max_total_time="$seconds" -timeout=120 -rss_limit_mb=2048 "$@" \
		-artifact_prefix=build/fuzz/crashes/"$name"- "${folders[@]}" >"$log" 2>&1; then
		tail -n 50 "$log" >&2
		echo "fuzzing: $name failed; the input is in build/fuzz/crashes" >&2
		exit 1
	fi
	tail -n 1 "$log"
done
if [ $found = 0 ]; then
	echo "fuzzing: there is no fuzz target in build/fuzz/tests" >&2
	exit 1
fi
