# The recording replayed as it is, and with something changed. Twice the same bytes.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" replay "$run"
"$TACHO" replay "$run" --what-if bandwidth=0.5x --what-if straggler:1=1.5 --step 1
"$TACHO" replay "$run" --what-if cores=1 --json >first.json
"$TACHO" replay "$run" --what-if cores=1 --json >second.json
cmp first.json second.json
python3 - <<'END'
import json
prediction = json.load(open("first.json"))
print(*prediction)
print(prediction["measured_step_ms"], prediction["baseline_step_ms"], prediction["interval_ms"])
path = prediction["critical_path"]
print(path[0], len(path) > 1, {row["what"] for row in path} <= {"compute", "communication", "host", "wait"})
END
# Data loading, samples and late ranks: the run loads nothing, and has two ranks.
for change in drop:loader workers=4 batch=64 batch=2x drop:wait; do
	"$TACHO" replay "$run" --what-if "$change" 2>&1 | grep -E '^(with|tacho|- (no rank|a step|kernels))'
done
