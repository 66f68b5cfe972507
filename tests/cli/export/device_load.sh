# K1: how full a device is over time, as PyTorch's TensorBoard plug-in adds it to a trace. The times are the plug-in's.
# The values in its file are not what it computes from this trace: its test writes them down by hand, a hundred
# and ten times too large (of the first kernels, 6 us run in 1 ms and have 0.025 blocks a multiprocessor; the file
# says 0.6 and 0.25), and has it only put them into the trace. What it computes is 0.006 and 0.025, which is here.
# It also begins each counter with a 1 and a 0, so that viewers show the whole range; those are left out.
data=${TACHO_SHARED:-$TACHO_SOURCE_DIR/../shared}/data/kineto/kineto/tb_plugin_test
[ -d "$data" ] || exit 77
"$TACHO" export "$data/gpu_metrics_input.json" --to chrome -o out.json >/dev/null 2>&1 || echo "not exported"
python3 - "$data/gpu_metrics_expected.json" out.json <<'EOF'
import json, sys

def counter(path, name, scale):
    """Times since the profiler's begin, and values."""
    events = json.load(open(path))["traceEvents"]
    begin = min(float(e["ts"]) for e in events if e.get("name") == "PyTorch Profiler (0)")
    return [(float(e["ts"]) - begin, next(iter(e["args"].values())) * scale)
            for e in events if e["ph"] == "C" and e["name"] == name]

for what, scale in (("Utilization", 0.01), ("Est. SM Efficiency", 0.1)):
    expected = counter(sys.argv[1], f"GPU 0 {what}", scale)[2:]
    ours = {"Utilization": "utilization", "Est. SM Efficiency": "SM efficiency"}[what]
    found = counter(sys.argv[2], f"gpu 0 {ours} %", 0.01)
    same = len(expected) == len(found) and all(
        abs(a[0] - b[0]) < 1e-3 and abs(a[1] - b[1]) < 1e-12 for a, b in zip(expected, found))
    print(ours, len(expected), "values:", "the same" if same else (expected[:5], found[:5]))
EOF
