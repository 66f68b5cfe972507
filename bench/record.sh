#!/usr/bin/env bash
# record.sh [BUILD_DIR] [--json]: what one record costs, beside LTTng-UST in the same process. Target: 30 ns.
# Where a session daemon can be run, a session of its own is made for it and taken away again.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
shift || true
work=$(mktemp -d)
session=tacho_bench_$$
daemon_pid=
has_session=

clean_up() {
	[ -z "$has_session" ] || lttng --quiet destroy "$session" >/dev/null 2>&1 || true
	[ -z "$daemon_pid" ] || kill "$daemon_pid" 2>/dev/null || true
	rm -rf "$work"
}
trap clean_up EXIT

cmake --build "$build_dir" --target bench_record >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
if command -v lttng-sessiond >/dev/null; then
	if ! lttng --quiet list >/dev/null 2>&1; then
		lttng-sessiond --quiet --no-kernel >/dev/null 2>&1 &
		daemon_pid=$!
		for _ in $(seq 50); do
			lttng --quiet list >/dev/null 2>&1 && break
			sleep 0.1
		done
	fi
	if lttng --quiet create "$session" --output "$work/lttng" >/dev/null 2>&1; then
		has_session=1
		lttng --quiet enable-channel -u -s "$session" --subbuf-size 1M --num-subbuf 8 all >/dev/null
		lttng --quiet enable-event -u -s "$session" -c all 'tacho_bench:*' >/dev/null
		lttng --quiet start "$session" >/dev/null
	fi
fi
"$build_dir/bin/tacho" record --quiet --probes torch -o "$work/run" -- "$build_dir/bench/bench_record" "$@"
if [ -n "$has_session" ]; then
	lttng stop "$session" 2>&1 | grep -i discarded || true
else
	echo "no LTTng session could be made: it is not in the table" >&2
fi
