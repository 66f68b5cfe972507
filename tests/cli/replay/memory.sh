# What a change does to the most memory that a rank holds, and who holds it.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
for change in accumulate=2 'drop:op~aten::mm' bandwidth=2x; do
	echo "$change"
	"$TACHO" replay "$run" --what-if "$change" | grep -A 1 '^peak memory'
	"$TACHO" replay "$run" --what-if "$change" | sed -n '/^Memory held/,/^$/p'
done
"$TACHO" replay "$run" --what-if accumulate=2 --json >memory.json
python3 - <<'END'
import json
prediction = json.load(open("memory.json"))
print([prediction[key] for key in prediction if "peak" in key])
print(sum(row["bytes"] for row in prediction["peak_owners"]) == prediction["predicted_peak_memory_bytes"])
END
