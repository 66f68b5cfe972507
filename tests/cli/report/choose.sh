# What is shown can be chosen by view, name, rank, steps and number, and put in order.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" report "$run" --view op --name 'mm$' --rank 1 --steps 0:1
"$TACHO" report "$run" --view op --name mul --shapes
"$TACHO" report "$run" --view kernel --sort gflop_per_s --limit 1
"$TACHO" report "$run" --view step --steps 2:3
"$TACHO" report "$run" --view step --steps all
"$TACHO" report "$run" --view step --view op --steps all --limit 3
"$TACHO" report "$run" --view comm --view step --steps 1 --json | grep -oE '^	"[a-z]+"'
