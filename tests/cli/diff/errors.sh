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
# One run a side cannot tell whether it is slower: a check that could fail by chance is refused.
try "$run" "$run" --fail-above 5 --limit 1 --view step 2>&1 | sed 's,/[^ ]*/,,'
cp -r "$run" base
try "$run" "$run,$run" base --fail-above 5 --view step
# Runs without any spread, of which each is 0.5 % slower or faster than the other side's.
mkdir first second
cp -r base/vm-27175 first && cp -r base/vm-27178 second
for pct in 0 1000; do
	try second,second first,first --fail-above $pct --json | tail -n 1
	try first,first second,second --fail-above $pct --json | tail -n 1
done
# Slower on the whole, but not beyond chance.
try first,second first --fail-above 0.1 --view step | tail -n 2
if [ -w /dev/full ]; then "$TACHO" diff "$run" "$run" >/dev/full || echo "exit $?"; fi
