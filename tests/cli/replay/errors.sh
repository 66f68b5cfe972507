# What cannot be done is said in one line on stderr, and the exit code is 2.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" replay || echo "exit $?"
"$TACHO" replay nowhere.tacho || echo "exit $?"
"$TACHO" replay "$run" --step 99 || echo "exit $?"
"$TACHO" replay "$run" --step -5 || echo "exit $?"
"$TACHO" replay "$run" --what-if weather=fine || echo "exit $?"
"$TACHO" replay "$run" --what-if bandwidth=fast || echo "exit $?"
"$TACHO" replay "$run" --what-if straggler:7=2 || echo "exit $?"
"$TACHO" replay "$run" --what-if 'drop:op~nobody' || echo "exit $?"
"$TACHO" replay "$run" --export replay.txt || echo "exit $?"
"$TACHO" replay "$run" --export no/such/folder/replay.json || echo "exit $?"
if [ -w /dev/full ]; then "$TACHO" replay "$run" --json >/dev/full || echo "exit $?"; fi
# What nothing is like.
for what in bandwidth=1e-300x bandwidth=1e30x bandwidth=1bit latency=1e30s latency=+2000000x; do
	"$TACHO" replay "$run" --what-if "$what" || echo "exit $?"
done
