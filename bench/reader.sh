#!/usr/bin/env bash
# reader.sh [BUILD_DIR]: opening a run and summing its durations, beside babeltrace2 stepping over the same run.
# Target: 50 M events/s. Two runs are recorded by the real agent, four threads each: of slices alone, and one with
# an operation of 4 tensors in every four slices. The files are in the page cache. Without babeltrace2, no ratio.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
n_rounds=${BENCH_ROUNDS:-15}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Seconds that the command takes.
time_of() {
	local start

	start=$(date +%s%N)
	"$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
	echo $(($(date +%s%N) - start)) | awk '{ print $1 / 1e9 }'
}

cmake --build "$build_dir" --target bench_reader bench_reader_job >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
printf '%-16s %10s %6s %34s %24s %7s\n' "" events MB "tacho, M events/s [worst, best]" "babeltrace2, M events/s" ratio
while read -r title slices ops_of_4; do
	"$build_dir/bin/tacho" record -q --probes torch -o "$work/run" -- \
		"$build_dir/bench/bench_reader_job" 4 "$slices" "$ops_of_4"
	"$build_dir/bench/bench_reader" "$work/run" 1 >"$work/warm"
	read -r n_events _ _ best_s median_s worst_s _ < <("$build_dir/bench/bench_reader" "$work/run" "$n_rounds")
	other_s=
	if command -v babeltrace2 >/dev/null; then
		other_s=$(time_of babeltrace2 "$work/run" -c sink.utils.dummy)
	fi
	megabytes=$(du -sm --apparent-size "$work/run" | cut -f1)
	awk -v title="${title//_/ }" -v n="$n_events" -v mb="$megabytes" -v best="$best_s" -v median="$median_s" \
		-v worst="$worst_s" -v other="${other_s:-0}" 'BEGIN {
		tacho = sprintf("%.1f [%.1f, %.1f]", n / median / 1e6, n / worst / 1e6, n / best / 1e6)
		printf "%-16s %10d %6d %34s", title, n, mb, tacho
		if (other)
			printf " %24.2f %7.1f", n / other / 1e6, other / median
		print "" }'
	rm -rf "$work/run"
done <<'RUNS'
slices 2500000 0
with_tensors 1000000 1
RUNS
