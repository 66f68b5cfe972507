#!/usr/bin/env bash
# grpc_calls.sh [BUILD_DIR [ROUNDS [CALLS]]]: what the gRPC probe adds to a call: a client and a server on this machine, one call after the other, both recorded, and
# both not, by turns. Says the least and the median of the rounds, in microseconds a call.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
rounds=${2:-9}
calls=${3:-5000}
tacho=$build_dir/bin/tacho
program=$build_dir/tests/grpc_calls
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -x "$program" ] || { echo "not built: no libgrpc++-dev"; exit 0; }

# measure LAUNCHER...: microseconds a call, by the client's own clock
measure() {
	local port fd
	coproc SERVER { "$@" "$program" serve sync 127.0.0.1; }
	read -r _ port <&"${SERVER[0]}"
	"$program" call unary "127.0.0.1:$port" 20 # connected, and every page touched
	"$@" "$program" call timed "127.0.0.1:$port" "$calls"
	fd=${SERVER[1]}
	eval "exec $fd>&-"
	wait "$SERVER_PID" 2>/dev/null || true
}
record() {
	local n=0
	while [ -e "$work/run$n" ]; do n=$((n + 1)); done
	"$tacho" record -q --probes grpc -o "$work/run$n" -- "$@"
}
for _ in $(seq "$rounds"); do
	measure env >>"$work/plain"
	measure record >>"$work/recorded"
	rm -rf "$work"/run*
done
for which in plain recorded; do
	sort -n "$work/$which" | awk -v which="$which" '{ all[NR] = $1 } END { printf "%-9s least %.1f us, median %.1f us a call\n", which, all[1], all[int((NR + 1) / 2)] }'
done
