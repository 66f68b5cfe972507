# What to change, as text and for programs; one checker; a run that leaves nothing to say.
cd "$TACHO_SOURCE_DIR/tests/data" || exit 1
run=two_ranks
"$TACHO" report "$run" --view advise | sed 1,3d
"$TACHO" report "$run" --view advise --name straggler --json
"$TACHO" report "$run" --view advise --name 'data|device' | sed 1,3d
"$TACHO" report "$run" --view advise --rank 0 --steps 2 --name straggler --json
# What advices tell the user to run.
for what in bandwidth=2x latency=0.5x bucket_mb=25 straggler:1=0.80; do
	"$TACHO" replay "$run" --what-if "$what" --json >/dev/null && echo "$what can be replayed"
done
