# The critical path of the step nearest to the median; of one name and step; of a rank that is not on it.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
report() { "$TACHO" report "$run" --view critical "$@" | sed "1,3d;/^In the replay/d"; }
report --limit 5
report --name reduce --steps 1
report --rank 0
"$TACHO" report "$run" --view critical --sort pieces --limit 2 --json
