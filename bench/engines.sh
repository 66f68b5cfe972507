#!/usr/bin/env bash
# engines.sh [BUILD_DIR] [ROUNDS]: what one record costs with tacho's own engine and with LTTng as the engine: the same program by
# both in turn, ROUNDS times (default 5), the median of each, and how many times as much the second takes.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
rounds=${2:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --build "$build_dir" --target bench_record >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
for ((i = 0; i < rounds; i++)); do
	for engine in tacho lttng; do
		"$build_dir/bin/tacho" record --quiet --force --engine $engine --probes torch -o "$work/$engine" -- \
			"$build_dir/bench/bench_record" --json >"$work/$engine.$i.json"
		"$build_dir/bin/tacho" info "$work/$engine" --json >"$work/$engine.$i.info"
	done
done
python3 - "$work" "$rounds" <<'END_OF_PYTHON'
import json
import statistics
import sys

work, rounds = sys.argv[1], int(sys.argv[2])


def medians(engine):
    """The median of the rounds of what bench_record measured, by name."""
    found = [{row["name"]: row["median_ns"] for row in json.load(open(f"{work}/{engine}.{i}.json"))} for i in range(rounds)]
    return {name: statistics.median(row[name] for row in found) for name in found[0]}


def dropped(engine):
    return sum(json.load(open(f"{work}/{engine}.{i}.info"))["dropped_events"] for i in range(rounds))


own, lttng = medians("tacho"), medians("lttng")
print(f"{'ns an event':16} {'tacho':>8} {'lttng':>8} {'times':>6}")
for name, ns in own.items():
    print(f"{name:16} {ns:8.1f} {lttng[name]:8.1f} {lttng[name] / ns:6.1f}")
print(f"dropped: {dropped('tacho')} by tacho, {dropped('lttng')} by lttng")
END_OF_PYTHON
