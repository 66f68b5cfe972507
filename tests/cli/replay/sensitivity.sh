# What 1 % of each thing is worth, as text and JSON; twice the same bytes.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" replay "$run" --sensitivity | sed -n '/^What each/,/^$/p' | head -6
"$TACHO" replay "$run" --sensitivity --json >first.json
"$TACHO" replay "$run" --sensitivity --json >second.json
cmp first.json second.json
python3 - <<'END'
import json
rows = json.load(open("first.json"))["sensitivity"]
print(*rows[0])
print(all(a["gain_ms"] >= b["gain_ms"] for a, b in zip(rows, rows[1:])))
print(sorted({row["what"] for row in rows}))
END
