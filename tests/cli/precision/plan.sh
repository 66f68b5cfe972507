# A plan of precisions: the fastest, within 5 % of it, within less memory, of two kinds of workers; as JSON, as a picture, as QSync's bits.
cp "$TACHO_SOURCE_DIR"/tests/data/precision/*.json .
plan() { "$TACHO" precision plan --problem "$@"; echo "exit $?"; }
plan one_kind.json --width 0
plan one_kind.json --statistics statistics.json --width 0 -o plan.json
"$TACHO" precision plan --problem one_kind.json --statistics statistics.json --json >found.json
python3 - <<'END'
import json
found = json.load(open("found.json"))
plan = json.load(open("plan.json"))
print(sorted(found))
print(found["plans"] == [plan], len(plan["changes"]["precision"]), plan["changes"]["precision"][0])
print(found["fastest_step_ms"] <= found["predicted_step_ms"] <= found["bound_ms"], 0 < found["least_harm"] <= found["harm"])
END
plan one_kind.json --statistics statistics.json --memory 7.6MB --front --width 0 | sed -n '/^worker/,$p'
plan two_kinds.json --statistics statistics.json --keep-within 0% --width 0 | grep -v ' raised from'
plan two_kinds.json --statistics statistics.json -o two.json | tail -2
plan two_kinds.json --statistics statistics.json --worker T4 -o t4.json | tail -2
# each rank does what its worker's own plan says
python3 - <<'END'
import json
joint, t4 = (json.load(open(name))["changes"]["precision"] for name in ("two.json", "t4.json"))
print(sorted({tuple(entry["ranks"]) for entry in joint}), len(joint), len(t4))
print([{k: v for k, v in entry.items() if k != "ranks"} for entry in joint if entry["ranks"][0] > 0] == t4)
END
plan one_kind.json --no-slower-than 9ms --statistics statistics.json | sed -n 3,4p

# a kernel that gives out fp32 from bf16, and casts what it reads
cat >kernels <<'END'
kernel "wide" {
  match forward "my::linear*"
  precision bf16
  input x: bf16  fused_quant
  output y: fp32
  variant_of "aten::linear"
}
END
plan one_kind.json --registry kernels --statistics statistics.json --width 0 | grep -E '^(fastest|plan) |registered'

# a picture, and bits that are judged again
plan one_kind.json --statistics statistics.json --to svg | grep -c '<circle'
"$TACHO" precision plan --problem one_kind.json --statistics statistics.json --to npy -o bits.npy >out.txt
"$TACHO" precision plan --problem one_kind.json --statistics statistics.json --bits bits.npy | sed -n 3p
od -c bits.npy | head -3
