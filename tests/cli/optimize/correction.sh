# What plans of a kind were off by on this host and device corrects the next search: here, half of the logarithm of 0.9 / 0.8.
run=$TACHO_SOURCE_DIR/tests/data/dpro/tf_horovod
row='"device":"cpu","change":"buckets","predicted_gain_pct":20,"measured_gain_pct":10,"low_gain_pct":9,"high_gain_pct":11,"pairs":5,"unix_s":1}'
host=$("$TACHO" query "$run" "SELECT host FROM process LIMIT 1" --format csv | tail -1)
for name in "$host" elsewhere; do
	echo "{\"format\":\"tacho-cost-model\",\"version\":1,\"corrections\":[{\"host\":\"$name\",$row]}" >cost.json
	"$TACHO" optimize "$run" --tries 1000 --json --cost cost.json >found.json
	"$TACHO" optimize "$run" --tries 1000 --json --cost none >plain.json
	python3 - <<'END'
import json
found, plain = (json.load(open(name)) for name in ("found.json", "plain.json"))
print([note for note in found["notes"] if "measured here" in note])
first = plain["candidates"][0]
print("gain", round(first["gain_pct"], 3), "as without", first["gain_pct"] == first["uncorrected_gain_pct"])
for row in found["candidates"]:
    print("corrected", round(row["predicted_step_ms"] / first["predicted_step_ms"], 5), row["uncorrected_gain_pct"] == first["gain_pct"])
if not found["candidates"]:
    print(*(f"{row['what_if']} {row['predicted_step_ms'] / first['predicted_step_ms']:.5f} {row['note']}" for row in found["tried"] if "gains nothing" in row["note"]), sep="\n")
END
done
