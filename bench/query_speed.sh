#!/usr/bin/env bash
# query_speed.sh [BUILD_DIR]: queries over 4 M slices, beside the same rows in an ordinary SQLite table with indexes.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --build "$build_dir" --target bench_query >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
"$build_dir/bench/bench_query"
