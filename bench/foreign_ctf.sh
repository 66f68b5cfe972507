#!/usr/bin/env bash
# How fast a CTF trace of others is read: babeltrace2 that drops all events (its dummy sink) and `tacho info`, by
# turns, ROUNDS times, the trace in the page cache; and the ratio of their times, each round and in the middle of all.
# The trace is made as LTTng-UST writes them.
#   bench/foreign_ctf.sh BUILD_DIR [MILLIONS_OF_EVENTS]
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
build=$1
command -v babeltrace2 >/dev/null || { echo "no babeltrace2"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
events=$("$source/bench/make_ctf.py" "$work/trace" "${2:-4}" | cut -d' ' -f1)
cat "$work"/trace/* >/dev/null
echo "$events events, $(du -sh "$work/trace" | cut -f1), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"

# measure NAME COMMAND...: print what it took; leave its wall clock in $work/NAME
measure() {
	local name=$1 wall user system kib
	shift
	/usr/bin/time -f "%e %U %S %M" -o "$work/time" "$@" >/dev/null
	read -r wall user system kib <"$work/time"
	echo "$wall" >"$work/$name"
	awk -v name="$name" -v n="$events" -v wall="$wall" -v user="$user" -v sys="$system" -v kib="$kib" \
		'BEGIN { printf "%-6s %.2f s, %.2f M events/s; %.2f s user, %.2f s system, %d MiB\n", name, wall,
			 n / wall / 1e6, user, sys, kib / 1024 }'
}

for ((round = 0; round < ${ROUNDS:-5}; round++)); do
	measure dummy babeltrace2 "$work/trace" -o dummy
	measure tacho "$build/bin/tacho" info "$work/trace"
	paste "$work/dummy" "$work/tacho" >>"$work/rounds"
done
awk '{ print $1 / $2 }' "$work/rounds" | sort -n |
	awk '{ ratio[NR] = $1 } END {
		printf "babeltrace2 / tacho: %.2f in the middle [%.2f, %.2f]\n", ratio[int((NR + 1) / 2)], ratio[1], ratio[NR] }'
