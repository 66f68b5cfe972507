# What cannot be done is said in one line on stderr, and the exit code is 2; 1 is for "too slow".
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
try() { "$TACHO" diff "$@"; echo "exit $?"; }
try
try "$run"
try "$run" nowhere.tacho
try "$run" "$run,nowhere.tacho"
try "$run" ""
try "$run" "$run" --view weather
try "$run" "$run" --name '('
try "$run" "$run" --steps 5:3
try "$run" "$run" --steps 500 2>&1 | sed 's,/.*/,,'
try "$run" "$run" --rank 7 2>&1 | sed 's,/.*/,,'
try "$run" "$run" --rank -2
try "$run" "$run" --limit -1
try "$run" "$run" --sort weight
try "$run" "$run" --fail-above -1
try "$run" "$run" --fail-above 5 --limit 1 --view step 2>&1 | tail -n 2
# Nothing is known of the spread of a single step: the difference alone decides.
cp -r "$run" base
mkdir first second
cp -r base/vm-27175 first && cp -r base/vm-27178 second
for pct in 0 1000; do
	try second first --steps 2 --fail-above $pct --json | tail -n 1
	try first second --steps 2 --fail-above $pct --json | tail -n 1
done
if [ -w /dev/full ]; then "$TACHO" diff "$run" "$run" >/dev/full || echo "exit $?"; fi
