#!/usr/bin/env bash
# Statistics of a job's tensors are those that somebody gets who writes them by hand, and gathering them changes no number of the job. Casts are
# measured, for every size and in both directions.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
job="$TACHO_SOURCE_DIR/tests/support/precision_job.py"
cd "$work"

"$python" "$job" steps 12 >plain
"$TACHO" record -q --precision-statistics -o run -- "$python" "$job" steps 12 >out
cmp plain out

# The same by hand: gradients of the loss by autograd, for the steps 3 to 10.
cat >by_hand.py <<'END_OF_HAND'
import importlib.util
import json
import sys

import torch
from torch.nn import functional as F

path, sys.argv = sys.argv[1], ["job"]
spec = importlib.util.spec_from_file_location("job", path)
job = importlib.util.module_from_spec(spec)
spec.loader.exec_module(job)
torch.manual_seed(1)
model = job.Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
generator = torch.Generator().manual_seed(2)
seen = {}

def norm2(t):
    return t.detach().double().square().sum().item()

def note(name, value):
    seen.setdefault(name, []).append(value)

linear = model.feed.down
def before(module, inputs):
    x = inputs[0]
    note("input", norm2(x))
    note("input bf16", norm2(x.bfloat16().float() - x))
    note("input max", x.detach().abs().max().item())
    kept["x"] = x
    x.retain_grad()
def behind(module, inputs, output):
    output.retain_grad()
    kept["y"] = output
kept = {}
for step in range(12):
    tokens = torch.randint(16, (4, 8), generator=generator)
    optimizer.zero_grad()
    is_seen = 3 <= step < 11
    handles = [linear.register_forward_pre_hook(before), linear.register_forward_hook(behind)] if is_seen else []
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(1, 1).flatten())
    loss.backward()
    if is_seen:
        note("loss", loss.item())
        note("output_gradient", norm2(kept["y"].grad))
        note("output_gradient bf16", norm2(kept["y"].grad.bfloat16().float() - kept["y"].grad))
        note("input_gradient", norm2(kept["x"].grad))
        note("weight_gradient", norm2(linear.weight.grad))
        note("weight", norm2(linear.weight))
        w = linear.weight.detach()
        scale = w.abs().max(dim=1, keepdim=True)[0] / 127
        note("weight int8", norm2((w / scale).round() * scale - w))
    for handle in handles:
        handle.remove()
    optimizer.step()

got = json.load(open("run/precision-statistics.json"))
assert list(got)[0] == "tacho_precision_statistics" and got["tacho_precision_statistics"] == 1
assert (got["reference"], got["steps"], got["samples"]) == ("fp32", 8, 4 * 8), (got["reference"], got["steps"], got["samples"])
operations = {(o["module"], o["kind"], o["ordinal"]): o for o in got["operations"]}
assert list(operations) == [("feed.up", "linear", 0), ("feed.down", "linear", 0), ("", "matmul", 0), ("", "matmul", 1),
                            ("pictures", "conv1d", 0), ("", "linear", 0)], list(operations)
down = operations["feed.down", "linear", 0]
assert (down["form"], down["n"], down["k"], down["m"], down["groups"]) == ("product", 32, 32, 16, 1), down

def mean(name):
    return sum(seen[name]) / len(seen[name])

def near(value, name, tolerance=1e-5):
    wanted = mean(name)
    assert abs(value - wanted) <= tolerance * abs(wanted), (name, value, wanted)

near(got["loss"]["mean"], "loss")
near(down["input"]["norm2"], "input")
near(down["input"]["max_abs"], "input max")
near(down["input"]["formats"]["bf16"]["error2"], "input bf16")
near(down["weight"]["norm2"], "weight")
near(down["weight"]["formats"]["int8"]["error2"], "weight int8", 1e-3)
near(down["output_gradient"]["norm2"], "output_gradient")
near(down["output_gradient"]["formats"]["bf16"]["error2"], "output_gradient bf16")
near(down["input_gradient"]["norm2"], "input_gradient")
near(down["weight_gradient"]["norm2"], "weight_gradient")
spread = (sum((v - mean("input")) ** 2 for v in seen["input"]) / 7) ** 0.5
assert abs(down["input"]["norm2_spread"] - spread) <= 1e-4 * spread
product = operations["", "matmul", 0]
assert (product["n"], product["k"], product["m"], product["groups"]) == (8, 16, 8, 4), product
conv = operations["pictures", "conv1d", 0]
assert (conv["n"], conv["k"], conv["m"], conv["groups"]) == (4 * 8, 16 * 3, 16, 1), conv
END_OF_HAND
"$python" by_hand.py "$job"

# --- the Hessian's trace, where it is known: of a mean of squares, 2 |X|^2 / rows, exactly if the rows of X are orthogonal ---
cat >squares.py <<'END_OF_SQUARES'
import torch

torch.manual_seed(3)
layer = torch.nn.Linear(8, 4, bias=False)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
x = torch.diag(torch.arange(1.0, 9.0))
for _ in range(13):
    optimizer.zero_grad()
    loss = layer(x).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
END_OF_SQUARES
"$python" squares.py >plain
"$TACHO" record -q --precision-hessian 4 -o squares -- "$python" squares.py >out
cmp plain out
"$python" - <<'END_OF_TRACE'
import json

(o,) = json.load(open("squares/precision-statistics.json"))["operations"]
wanted = 2 * sum(i * i for i in range(1, 9)) / 8
assert abs(o["hessian_trace"]["mean"] - wanted) < 1e-4 * wanted and o["hessian_trace"]["probes"] == 4, (o["hessian_trace"], wanted)
assert o["module"] == "" and o["weight_gradient"]["elements"] == 32
END_OF_TRACE

# --- casts ---
"$TACHO" calibrate casts --python "$python" --rounds 3 --seconds 0 -o casts.json
"$python" - <<'END_OF_CASTS'
import json

casts = json.load(open("casts.json"))
assert casts["tacho_casts"] == 1 and casts["device"] and casts["torch"]
pairs = {(c["from"], c["to"]): c["samples"] for c in casts["casts"]}
assert {("fp32", "bf16"), ("bf16", "fp32"), ("fp32", "int8"), ("int8", "fp32"), ("fp32", "fp16")} <= set(pairs)
for samples in pairs.values():
    sizes = [n for n, _ in samples]
    assert sizes == sorted(set(sizes)) and sizes[0] == 256 and len(sizes) > 20
    assert all(ns > 0 for _, ns in samples)
    assert samples[-1][1] > samples[0][1]
END_OF_CASTS
status=0
"$TACHO" calibrate casts --python /bin/false -o none.json 2>said || status=$?
[ $status = 2 ] && [ ! -e none.json ]
"$TACHO" calibrate casts --rounds 0 2>said && exit 1
grep -q "from 1 to 1000" said
