# What cannot be done is said in one line on stderr, and the exit code is 2.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" report || echo "exit $?"
"$TACHO" report nowhere.tacho || echo "exit $?"
"$TACHO" report "$run" --view weather || echo "exit $?"
"$TACHO" report "$run" --name '(' || echo "exit $?"
"$TACHO" report "$run" --steps 5:3 || echo "exit $?"
"$TACHO" report "$run" --steps some || echo "exit $?"
"$TACHO" report "$run" --rank 7 || echo "exit $?"
"$TACHO" report "$run" --view op --sort weight || echo "exit $?"
"$TACHO" report "$run" --limit x || echo "exit $?"
"$TACHO" report "$run" --rank -2 || echo "exit $?"
"$TACHO" report "$run" --limit -1 || echo "exit $?"
if [ -w /dev/full ]; then "$TACHO" report "$run" >/dev/full || echo "exit $?"; fi
"$TACHO" report "$run" --view op --all | head -n 1
# What no view shown goes by.
"$TACHO" report "$run" --view step --name mm || echo "exit $?"
"$TACHO" report "$run" --view breakdown --view memory_curve --shapes || echo "exit $?"
"$TACHO" report "$run" --view kernel --max-depth 2 || echo "exit $?"
"$TACHO" report "$run" --instance 1 || echo "exit $?"
"$TACHO" report "$run" --name convolution --limit 1 | grep -A10 '^step:'
