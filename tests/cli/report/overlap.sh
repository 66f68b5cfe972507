# How much communication is hidden; one collective, one rank, a sort, JSON; and nothing of that name.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
report() { "$TACHO" report "$run" --view overlap "$@" | sed 1,3d; }
report
report --sort exposed_ms --limit 1
report --steps 2 --name reduce --rank 1
report --name broadcast
report --device 'gpu 0'
"$TACHO" report "$run" --view overlap --steps 2:3 --rank 0 --json
