#!/usr/bin/env bash
# What one operation alone does to the loss and to the gradients in bf16 is what somebody finds who writes the job so by hand, where the model gives out
# the loss and where it does not; and no number of the job changes, although the model is called again: dropout and batch norm are there to tell.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
cd "$work"

cat >job.py <<'END_OF_JOB'
import json
import sys

import torch
from torch import nn
from torch.nn import functional as F

words = sys.argv[1:]
narrow = None  # the linear that computes in bf16, by hand


def linear(name, layer, x):
    if narrow != name:
        return layer(x)
    return F.linear(x.bfloat16(), layer.weight.bfloat16(), layer.bias.bfloat16()).float()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.norm = nn.BatchNorm1d(32)
        self.b = nn.Linear(32, 8)

    def forward(self, x, wanted=None):
        x = linear("b", self.b, F.dropout(F.relu(self.norm(linear("a", self.a, x))), 0.3))
        return x if wanted is None else F.cross_entropy(x, wanted)


torch.manual_seed(1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
generator = torch.Generator().manual_seed(2)
found = {"a": [], "b": []}


def loss_of(x, wanted):
    if "twice" in words:
        model(x)
    return model(x, wanted=wanted) if "inside" in words else F.cross_entropy(model(x), wanted)


def by_hand(name, x, wanted):
    """The change of the loss, and the squared norm of that of the gradients."""
    global narrow
    numbers, buffers = torch.get_rng_state(), [b.clone() for b in model.buffers()]
    losses = []
    for narrow in (None, name):
        torch.set_rng_state(numbers)
        loss = loss_of(x, wanted)
        losses.append((loss.item(), torch.autograd.grad(loss, list(model.parameters()))))
        for b, kept in zip(model.buffers(), buffers):
            b.copy_(kept)
    narrow = None
    torch.set_rng_state(numbers)
    (loss, known), (other, changed) = losses
    return abs(other - loss), sum((p - q).double().square().sum().item() for p, q in zip(known, changed))


for step in range(13):
    x, wanted = torch.randn(24, 16, generator=generator), torch.randint(8, (24,), generator=generator)
    if "by-hand" in words and step in (9, 10):
        for name in found:
            found[name].append(by_hand(name, x, wanted))
    optimizer.zero_grad()
    loss = loss_of(x, wanted)
    loss.backward()
    optimizer.step()
    print(loss.item().hex(), sum(b.double().sum().item() for b in model.buffers()).hex())
if "by-hand" in words:
    with open("by_hand.json", "w") as file:
        json.dump({name: [sum(v) / len(v) for v in zip(*rows)] for name, rows in found.items()}, file)
END_OF_JOB

for where in inside outside; do
    "$python" job.py $where by-hand >plain
    "$TACHO" record -q --precision-direct 2 -o $where.tacho -- "$python" job.py $where >out 2>said
    cmp plain out
    [ ! -s said ]
    "$python" - $where.tacho <<'END_OF_CHECK'
import json
import sys

wanted = json.load(open("by_hand.json"))
operations = json.load(open(sys.argv[1] + "/precision-statistics.json"))["operations"]
assert [o["module"] for o in operations] == ["a", "b"], operations
for operation in operations:
    direct = operation["direct"]["bf16"]
    for key, value in zip(("loss_change", "gradient_change2"), wanted[operation["module"]]):
        assert value > 0 and abs(direct[key] / value - 1) < 0.02, (operation["module"], key, direct[key], value)
END_OF_CHECK
done
"$TACHO" precision indicator --statistics inside.tacho/precision-statistics.json --indicator direct --json >told.json
grep -q '"harm"' told.json

# a step with two calls of the model: that is said, and the rest is gathered
"$TACHO" record -q --precision-direct 2 -o twice.tacho -- "$python" job.py twice >out 2>said
grep -q "several models" said
grep -q '"weight_gradient"' twice.tacho/precision-statistics.json
! grep -q '"direct"' twice.tacho/precision-statistics.json
# numbers of Python's own generator stay as they were, too; a model that torch.jit runs, and one that counts its calls, are left alone
cat >odd.py <<'END_OF_ODD'
import random
import sys

import torch
from torch import nn


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2)
        self.calls = 0

    def forward(self, x):
        if "traced" in sys.argv:
            return self.layer(x)
        self.calls += 1
        return self.layer(x) * (1 + (random.random() if "random" in sys.argv else self.calls / 100))


torch.manual_seed(1)
random.seed(2)
model = Odd()
if "traced" in sys.argv:
    model = torch.jit.trace(model, torch.randn(4, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(13):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
    if "counts" not in sys.argv:
        print(loss.item().hex())
END_OF_ODD
for how in random traced counts; do
    "$python" odd.py $how >plain
    "$TACHO" record -q --precision-direct 8 -o odd.tacho --force -- "$python" odd.py $how >out 2>said
    cmp plain out
    case $how in
    random) [ ! -s said ] && grep -q '"direct"' odd.tacho/precision-statistics.json ;;
    traced) grep -q "torch.jit" said ;;
    counts) grep -q "gives other numbers" said ;;
    esac
done
status=0
"$TACHO" record -q --precision-direct 9 -o no.tacho -- "$python" job.py 2>said || status=$?
[ $status -eq 2 ] && [ ! -e no.tacho ]
grep -q "from 0 to 8" said
