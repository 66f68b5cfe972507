#!/usr/bin/env bash
# Runs of many kinds of jobs (validate/kit), each followed in pieces, have the steps that they have when they are read whole: as one run, and
# of the first host alone. One of them is known to differ where it is cut (docs/decisions/0036-live.md), and is tried whole alone.
set -eu
command -v xz >/dev/null || { echo "no xz: skipped"; exit 77; }
program=$TACHO_BUILD_DIR/tests/test_follow
[ -x "$program" ] || { echo "no $program: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runs=
for archive in "$TACHO_SOURCE_DIR"/validate/kit/*.tar.xz; do
	job=$(basename "$archive" .tar.xz)
	tar -xJf "$archive" -C "$work"
	# the asynchronous server has no steps by itself
	[ "$job" = async_server.0 ] || runs=$runs:$work/$job/r0.tacho
	[ "$job" = tensor_parallel.0 ] || runs=$runs:$(printf '%s\n' "$work/$job"/*.tacho | paste -sd,)
done
TACHO_FOLLOW_RUNS=${runs#:} "$program" --keep-going
