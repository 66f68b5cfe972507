# The critical path of the step nearest to the median; of one name and step; of a rank that is not on it. What
# the figures are is the replay's to say, and its tests': here they are all N.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
report() { "$TACHO" report "$run" --view critical "$@" | sed '1,3d; /^In the replay/d'; }
without_figures() { sed -E 's/-?[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g'; }
report --limit 3 | without_figures
report --name 'c10d.*reduce' --steps 1 | without_figures
report --rank 0 | without_figures
"$TACHO" report "$run" --view critical --sort pieces --limit 1 --json | without_figures
