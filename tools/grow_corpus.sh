#!/usr/bin/env bash
# grow_corpus.sh MINUTES [TARGET...]: fuzz for so long in all, then keep in tests/fuzz/corpus the fewest inputs that reach all
# that the seeds there do not.
#
# The seeds that somebody wrote stay as they are. What was grown is called by the sum of its bytes, has MAX_FILE bytes at most,
# and of a target MAX_TARGET in all: the smallest are kept. Inputs are made of the seeds alone: no trace of others goes in.
set -euo pipefail
cd "$(dirname "$0")/.."

MAX_FILE=4096
MAX_TARGET=32768
minutes=$1
shift
status=0
tools/fuzz.sh --keep $((minutes * 60)) -max_len=$MAX_FILE "-seed=$RANDOM" "$@" || status=$? # what was found until a crash counts

is_grown() { # PATH
	[[ $(basename "$1") =~ ^[0-9a-f]{16}$ ]]
}

# The seeds of a target that somebody wrote, into a folder.
copy_written() { # NAME FOLDER
	local seed

	for seed in tests/fuzz/corpus/"$1"/*; do
		[ ! -f "$seed" ] || is_grown "$seed" || cp "$seed" "$2"
	done
}

keep_grown() { # NAME
	local name=$1 folder=tests/fuzz/corpus/$1 scratch left=$MAX_TARGET file sum size

	scratch=$(mktemp -d)
	mkdir -p "$folder" "$scratch/written" "$scratch/all"
	copy_written "$name" "$scratch/written"
	cp "$scratch"/written/* "$scratch/all" 2>/dev/null || true
	# first with what is written there already, so that only what it lacks is added
	if ! build/fuzz/tests/"$name" -set_cover_merge=1 -max_len=$MAX_FILE -timeout=20 -rss_limit_mb=2048 \
		-artifact_prefix="$scratch/" "$scratch/all" "$folder" "build/fuzz/corpus/$name" >"build/fuzz/$name-merge.log" 2>&1; then
		echo "$name cannot be merged: build/fuzz/$name-merge.log" >&2
		rm -rf "$scratch"
		return 1
	fi
	for file in "$folder"/*; do
		[ ! -f "$file" ] || ! is_grown "$file" || rm "$file"
	done
	while read -r size file; do
		cmp -s "$scratch/written/$(basename "$file")" "$file" && continue
		[ "$size" -le $MAX_FILE ] && [ $((left -= size)) -ge 0 ] || break
		sum=$(sha256sum "$file")
		cp "$file" "$folder/${sum:0:16}"
	done < <(find "$scratch/all" -type f -printf '%s %p\n' | sort -k1,1n -k2,2)
	rm -rf "$scratch"
	echo "$name: $(find "$folder" -type f -printf x | wc -c) inputs, $(du -sb --apparent-size "$folder" | cut -f1) bytes"
}

names=("$@")
if [ ${#names[@]} = 0 ]; then
	for target in build/fuzz/tests/fuzz_*; do
		[ ! -x "$target" ] || [ ! -f "$target" ] || names+=("$(basename "$target")")
	done
fi
running=0
for name in "${names[@]}"; do
	if [ $running = "$(nproc)" ]; then
		wait -n || status=1
		running=$((running - 1))
	fi
	keep_grown "$name" &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || status=1
	running=$((running - 1))
done
exit $status
