#!/usr/bin/env bash
# How fast a CTF trace of others is read: babeltrace2 that drops all events (its dummy sink) and `tacho info`,
# in turn, ROUNDS times, the trace in the page cache. The trace is made as LTTng-UST writes them.
#   bench/foreign_ctf.sh BUILD_DIR [MILLIONS_OF_EVENTS]
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
build=$1
command -v babeltrace2 >/dev/null || { echo "no babeltrace2"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
events=$("$source/bench/make_ctf.py" "$work/trace" "${2:-4}" | cut -d' ' -f1)
du -sh "$work/trace" | cut -f1
cat "$work"/trace/* >/dev/null
for ((round = 0; round < ${ROUNDS:-5}; round++)); do
	for name in dummy tacho; do
		case $name in
		dummy) command=(babeltrace2 "$work/trace" -o dummy) ;;
		tacho) command=("$build/bin/tacho" info "$work/trace") ;;
		esac
		/usr/bin/time -f "%e %U %S %M" -o "$work/time" "${command[@]}" >/dev/null
		read -r wall user system kib <"$work/time"
		awk -v name="$name" -v n="$events" -v wall="$wall" -v user="$user" -v sys="$system" -v kib="$kib" \
			'BEGIN { printf "%-6s %.2f s, %.2f M events/s; %.2f s user, %.2f s system, %d MiB\n", name, wall,
				 n / wall / 1e6, user, sys, kib / 1024 }'
	done
done
