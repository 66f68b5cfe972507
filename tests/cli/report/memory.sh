# Who holds memory at the peak; of one rank and step; by what was handed out.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
report() { "$TACHO" report "$run" --view memory "$@" | sed 1,3d; }
report --limit 8
report --rank 1 --steps 2 --sort allocated_bytes --limit 3
report --name addmm
report --device gpu
"$TACHO" report "$run" --view memory --rank 0 --name 'addmm|pow' --json
