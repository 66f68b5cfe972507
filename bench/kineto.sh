#!/usr/bin/env bash
# How long a Kineto trace of 1 GB takes from the file to the full report, and how much memory: plain and
# gzip. The trace is made from a sample of $TACHO_SHARED (or beside the source); without one, nothing is
# measured. Each is done ROUNDS times, the file in the page cache; every round is printed: where the machine
# is busy, user and system time say more than the wall clock.
#   bench/kineto.sh BUILD_DIR [SAMPLE]
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
build=$1
shared=${TACHO_SHARED:-$source/../shared}
sample=${2:-$shared/data/kineto/hta/trace_diff/control/control.json.gz}
[ -f "$sample" ] || { echo "no sample $sample"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/bench/make_kineto.py" "$sample" "$work/trace.json" "${GIGABYTES:-1}"
gzip -1 -k "$work/trace.json"
(cd "$work" && wc -c trace.json trace.json.gz | head -2)
for trace in trace.json trace.json.gz; do
	cat "$work/$trace" >/dev/null
	for command in info report; do
		for ((round = 0; round < ${ROUNDS:-5}; round++)); do
			/usr/bin/time -f "$trace: $command %e s, %U s user, %S s system, %M KiB" \
				"$build/bin/tacho" "$command" "$work/$trace" 2>&1 >/dev/null | tail -1
		done
	done
done
