#!/usr/bin/env bash
# replay_speed.sh [BUILD_DIR]: nodes a second of a replay, and 1000 changes of a graph. Targets: 20 M in
# order, 5 M with shared links, cores and overlap; 10 s.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --build "$build_dir" --target bench_replay >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
"$build_dir/bench/bench_replay"
