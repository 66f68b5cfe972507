# A recording in which nothing is to be gained, one of a device in which nothing is known of gradients, and wrong usage.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" optimize "$run" --tries 1000 | sed -E 's/in [0-9.]+ s/in T s/'
"$TACHO" optimize "$run" --tries 1000 --all | sed -nE '/^What was tried/,/^How/p' | sort | head -5
"$TACHO" optimize "$run" --tries 1000 -o plan.json >/dev/null
echo "exit $?"
[ ! -e plan.json ] || echo "a plan was written"
"$TACHO" optimize "$run" --tries 1000 --trajectory way.csv >/dev/null
head -1 way.csv
"$TACHO" optimize "$run" --tries 1000 --json >found.json
python3 - <<'END'
import json
found = json.load(open("found.json"))
print(*found)
print(found["plan"], found["predicted_step_ms"] == found["baseline_step_ms"], found["is_exhaustive"])
END
"$TACHO" optimize "$TACHO_SOURCE_DIR/tests/data/nccl" 2>&1 | grep -E 'planned|no change|optimize:'
for wrong in "--budget soon" "--budget -1s" "--budget 2d" "--allow magic" "--tries -1" "--passes bucket" "--search mtcs" "--ucb most" "--temperature -1" \
	"--memory much" "--to paper" "--plan none.json" "--state /dev/null/no"; do
	"$TACHO" optimize "$run" $wrong
	echo "exit $?"
done
"$TACHO" optimize
