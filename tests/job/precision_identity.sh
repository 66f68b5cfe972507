#!/usr/bin/env bash
# Operations keep their names where modules are called twice, compute their forward pass again, share a weight, belong to a second model that the job
# calls itself, or are left by an error; and a plan reaches them there.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
cd "$work"

cat >job.py <<'END_OF_JOB'
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

types = []  # of weights as linears read them: what an operation computes in, told by itself


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.again = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
        self.tied = nn.Linear(8, 8, bias=False)
        self.tied.weight = self.inner.weight

    def fail(self, x):
        raise ValueError

    def forward(self, x):
        x = self.inner(self.inner(x))
        try:
            self.again(x[:, :3])  # does not fit
        except RuntimeError:
            pass
        types.append(("again", self.again[0](x).dtype))
        x = checkpoint(self.again, x, use_reentrant=False)
        x = x @ x.t()
        return x @ self.tied(x.t()).t() if x.shape[0] == 8 else x


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.Linear(8, 1)

    def forward(self, x):
        y = self.judge(x)
        types.append(("judge", y.dtype))
        return y


torch.manual_seed(1)
scale = nn.Softsign()  # no parameters: it names no root
model, critic = Twice(), Critic()
optimizer = torch.optim.SGD([*model.parameters(), *critic.parameters()], lr=0.01)
generator = torch.Generator().manual_seed(2)
for step in range(6):
    optimizer.zero_grad()
    out = model(scale(torch.randn(8, 8, generator=generator)))
    assert out.dtype == torch.float32
    loss = critic(out).square().mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex(), flush=True)
print(*sorted({"%s %s" % t for t in types}), sep="\n", file=sys.stderr)
END_OF_JOB

"$python" job.py >plain 2>/dev/null
for precision in fp32 bf16; do
	"$TACHO" record -q --precision $precision -o $precision.tacho -- "$python" job.py >out.$precision 2>said.$precision
done
cmp plain out.fp32
! cmp -s plain out.bf16 || exit 1
grep -q "judge torch.bfloat16" said.bf16
"$python" - <<'END_OF_CHECK'
import json

runs = [json.load(open(p + ".tacho/precision.json")) for p in ("fp32", "bf16")]
assert runs[0]["operations"] == runs[1]["operations"]
assert runs[0]["roots"] == [{"name": "Softsign", "kind": "Softsign"}, {"name": "", "kind": "Twice"},
                            {"name": "Critic", "kind": "Critic"}], runs[0]["roots"]
chosen = {(o["module"], o["kind"], o["ordinal"]): o["calls"] for o in runs[0]["operations"] if o["rule"] == "chosen"}
assert chosen == {("inner", "linear", 0): 2, ("again.0", "linear", 0): 2, ("", "matmul", 0): 1, ("", "matmul", 1): 1,
                  ("tied", "linear", 0): 1, ("Critic:judge", "linear", 0): 1}, chosen
END_OF_CHECK

# plan MODULE: that linear alone in bf16
plan()
{
	echo "{\"tacho_plan\": 1, \"job\": {\"ranks\": 1, \"gradients\": []}, \"changes\": {\"precision\": [
	{\"module\": \"$1\", \"kind\": \"linear\", \"ordinal\": 0, \"precision\": \"bf16\"}]}}" >plan.json
	"$TACHO" apply plan.json -- "$python" job.py >out 2>said
	grep -q "the job ran with the precision of" said || { cat said; exit 1; }
}
plan again.0
grep -q "again torch.bfloat16" said && grep -q "judge torch.float32" said
plan Critic:judge
grep -q "again torch.float32" said && grep -q "judge torch.bfloat16" said
