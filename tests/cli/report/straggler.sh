# Who is waited for, and why; the rows of one rank; one kind of collective; a step.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
report() { "$TACHO" report "$run" --view straggler "$@" | sed 1,3d; }
report
report --rank 0 --name reduce
report --steps 2 --sort compute_ms
"$TACHO" report "$run" --view straggler --json
"$TACHO" report "$run/$(ls "$run" | grep -m1 vm)" --view straggler | sed 1,3d
