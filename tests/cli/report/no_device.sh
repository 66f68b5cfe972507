# The views of device streams say of a run on CPUs why they are empty.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
report() { "$TACHO" report "$run" "$@" | sed 1,4d; }
report --view idle
"$TACHO" report "$run" --view idle --json
report --view launch
report --view queue
report --view counters
