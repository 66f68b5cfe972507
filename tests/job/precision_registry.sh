#!/usr/bin/env bash
# A kernel of one's own, registered by a file alone: a job with it is found to be the job without it, and a plan that uses it has no casts around it.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
cd "$work"

cat >job.py <<'END'
import sys

import torch
from torch import nn


class Half(torch.autograd.Function):
    """A product in bf16 that takes and gives fp32."""

    @staticmethod
    def forward(ctx, x, weight):
        x, weight = x.bfloat16(), weight.bfloat16()
        ctx.save_for_backward(x, weight)
        return x.mm(weight.t()).float()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        gradient = gradient.bfloat16()
        return gradient.mm(weight).float(), gradient.t().mm(x).float()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 64) / 8)

    def forward(self, x):
        return Half.apply(x, self.weight) if "own" in sys.argv else nn.functional.linear(x, self.weight)


torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(Layer(), nn.ReLU(), Layer(), nn.ReLU(), Layer())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(8):
    loss = model(torch.randn(32, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
END
cat >kernels <<'END'
kernel "half" {
  match forward "Half*"
  precision bf16
  input x: bf16  fused_quant
  output y: fp32
  variant_of "aten::linear"
}
END
"$TACHO" record -q -o base.tacho -- "$python" job.py
"$TACHO" record -q -o own.tacho -- "$python" job.py own
predict() { "$TACHO" precision predict fp32=base.tacho bf16=own.tacho --uniform bf16 --json "$@"; }
predict --registry kernels >with.json
predict >without.json
"$python" - <<'END'
import json

def told(name):
    answer = json.load(open(name))
    found = {run["precision"]: run["found_pct"] for run in answer["runs"]}
    kinds = [o["kind"] for o in answer["operations"] if o["precision"] == "bf16" and o["rule"] == "chosen"]
    return found, kinds, answer["casts_a_step"], answer["remarks"]

found, kinds, n_casts, remarks = told("with.json")
assert found == {"fp32": 100, "bf16": 100}, found
assert kinds == ["linear"] * 3, kinds
assert n_casts == 0, n_casts
assert any("'half' computes 3 operations in bf16" in remark for remark in remarks), remarks
# without the file, what follows them is in bf16, and what they read is cast
_, kinds, n_casts, _ = told("without.json")
assert n_casts > 0, n_casts
END

# several formats at once: each as alone, in the order asked for
predict --uniform fp32 >both.json
"$python" - <<'END'
import json

both, alone = json.load(open("both.json")), json.load(open("without.json"))
assert [answer["plan"] for answer in both] == ["bf16", "fp32"], both
assert both[0] == alone, (both[0], alone)
assert both[1]["predicted_step_ms"] == both[1]["reference_step_ms"], both[1]
END
"$TACHO" precision predict fp32=base.tacho bf16=own.tacho --uniform bf16 --uniform fp32 >both.txt
grep -q '^bf16 ' both.txt
grep -q '^fp32 ' both.txt
status=0
predict --plan nowhere.json 2>error.txt || status=$?
[ "$status" -eq 2 ]
grep -q "nowhere.json" error.txt
