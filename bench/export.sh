#!/usr/bin/env bash
# How fast a run is exported: events a second beyond reading it, bytes an event. Without a RUN, one of a million
# slices is recorded.
#
#     bench/export.sh [BUILD_DIR [RUN...]]
set -eu
here=$(realpath "$(dirname "$0")/..")
tacho=${1:-${TACHO_BUILD_DIR:-$here/build/default}}/bin/tacho
[ $# = 0 ] || shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# = 0 ]; then
	cc -O2 -D_GNU_SOURCE "$here/tests/job/guest_job.c" -o "$work/guest_job" -lpthread
	"$tacho" record -q --probes alloc -o "$work/fill.tacho" -- "$work/guest_job" fill 1000000 >"$work/out" || true
	set -- "$work/fill.tacho"
fi
"$tacho" info "$@" --json >"$work/info.json"
n_slices=$(python3 -c 'import json, sys; print(sum(json.load(open(sys.argv[1]))["kinds"].values()))' "$work/info.json")
start=$(date +%s%N)
"$tacho" info "$@" >"$work/out"
reading_ns=$(($(date +%s%N) - start))
printf '%s slices and memory events; reading the run and finding its steps: %s ms\n' "$n_slices" $((reading_ns / 1000000))
printf '%-10s %10s %14s %10s %12s\n' format ms "M events/s" MB "bytes/event"
for format in perfetto chrome html sqlite csv xlsx folded dot pprof ctf; do
	best_ns= way="-o -"
	[ $format != ctf ] || way="-o $work/out.ctf --force" # a folder
	for _ in 1 2 3; do
		start=$(date +%s%N)
		# shellcheck disable=SC2086
		"$tacho" export "$@" --to $format $way >"$work/out" 2>"$work/said"
		ns=$(($(date +%s%N) - start))
		[ -n "$best_ns" ] && [ "$best_ns" -le $ns ] || best_ns=$ns
	done
	bytes=$(stat -c %s "$work/out")
	[ $format != ctf ] || bytes=$(cat "$work/out.ctf/"* "$work/out.ctf/.tacho_run" | wc -c)
	python3 -c 'import sys
name, n, ns, size, reading = sys.argv[1], *map(int, sys.argv[2:])
speed = f"{n / (ns - reading) * 1e3:.2f}" if ns > reading else "-"  # as quick as finding steps: nothing to tell
print(f"{name:10} {ns / 1e6:10.0f} {speed:>14} {size / 1e6:10.1f} {size / n:12.1f}")' \
		$format "$n_slices" "$best_ns" "$bytes" $reading_ns
done
