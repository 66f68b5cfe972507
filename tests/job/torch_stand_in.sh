#!/usr/bin/env bash
# The plain torch probe finds its way in a libtorch of our own, on any processor, and refuses each of those in which one thing is elsewhere:
# it says which, records nothing of it, and the job runs.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
job=$TACHO_BUILD_DIR/tests/stand_in_job

# record SURPRISE: what the job said is in `out` and `err`
record()
{
	"$TACHO" record -q --force --probes torch -o "$work/run" -- \
		"$job" "$TACHO_BUILD_DIR/tests/stand_in/$1/libtorch_cpu.so" >"$work/out" 2>"$work/err"
	[ "$(cat "$work/out")" = ran ] || { cat "$work/err"; echo "the job did not run with $1"; exit 1; }
}

record 0
[ ! -s "$work/err" ] || { cat "$work/err"; exit 1; }
"$TACHO" query "$work/run" "select depth, name from slice order by ts" >"$work/slices"
grep -q "my region" "$work/slices"
grep -q "aten::stand_in" "$work/slices"
! grep -q "known operation\|zero_" "$work/slices" || exit 1 # the trial is nobody's business

surprise=0
for expected in "how an operation ends" "the sequence number" "the inputs of" "behind the outputs" "the shape of" \
	"the device of" "the arguments of"; do
	surprise=$((surprise + 1))
	record $surprise
	grep -q "operations are not recorded: .*$expected.* is not as tacho knows it" "$work/err" ||
		{ cat "$work/err"; echo "stand-in $surprise was not refused for $expected"; exit 1; }
	! "$TACHO" query "$work/run" "select name from slice" 2>/dev/null | grep -q aten:: || exit 1
done
