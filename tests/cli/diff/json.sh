# The JSON is JSON, and has the keys that docs/json.md names.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
cp -r "$run" base
"$TACHO" diff base,base base --json >out.json
python3 - <<'END'
import json
out = json.load(open("out.json"))
comparison = out["comparisons"][0]
print(list(out), len(out["base"]), out["base"][0])
print(list(comparison))
print(comparison["step_time"])
for view in "step", "op", "kernel", "comm":
    rows = comparison[view]
    print(view, len(rows), list(rows[0]) if view == "step" else sorted({row["change"] for row in rows}))
for row in comparison["kernel"]:
    print(row)
END
