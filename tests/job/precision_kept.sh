#!/usr/bin/env bash
# The bytes that a forward pass keeps for the backward pass are predicted to the byte, in fp32 as its recording tells them, and in bf16 with what the formula says
# that formats change; there are convolutions, attention over heads, masks and indices, but no number that a tensor is divided by: later PyTorch tells
# its hooks nothing of those 8 bytes. Held against PyTorch's hooks of saved tensors, which the job itself sets.
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
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.up = nn.Linear(256, 32)
        self.q, self.k, self.v = nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 32)
        self.post = nn.LayerNorm(32)
        self.down = nn.Linear(32, 10)

    def forward(self, pictures, tokens):
        x = F.max_pool2d(F.relu(self.norm(self.conv(pictures))), 2)
        x = F.gelu(self.up(F.dropout(x, 0.2).flatten(1))) + self.words(tokens).reshape(6, 32)
        q, k, v = (make(x).view(2, 3, 4, 8).transpose(1, 2) for make in (self.q, self.k, self.v))  # which products of matrices copy
        scores = (q @ k.transpose(2, 3)).masked_fill(torch.ones(3, 3, dtype=torch.bool).triu(1), -1e4)
        return self.down(self.post((F.softmax(scores, -1) @ v).transpose(1, 2).reshape(6, 32)))


torch.manual_seed(1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
own = {t.data_ptr() for t in [*model.parameters(), *model.buffers()]}
kept = {}


def note(tensor):
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    kept[storage.data_ptr()] = storage.nbytes()
    return tensor


for step in range(8):
    pictures, tokens = torch.randn(6, 1, 8, 16), torch.randint(50, (6, 2))
    wanted = torch.randint(10, (6,))
    optimizer.zero_grad()
    if step == 6:
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            given = model(pictures, tokens)
    else:
        given = model(pictures, tokens)
    F.cross_entropy(given, wanted).backward()
    optimizer.step()
with open(sys.argv[1], "w") as file:
    print(sum(n for at, n in kept.items() if at not in own), file=file)
END_OF_JOB

for precision in fp32 bf16; do
    "$TACHO" record -q --precision $precision -o $precision.tacho -- "$python" job.py $precision.bytes
done
"$TACHO" precision predict fp32.tacho bf16.tacho --uniform fp32 --uniform bf16 --json >told.json
"$python" - <<'END_OF_CHECK'
import json

for answer in json.load(open("told.json")):
    seen = int(open(answer["plan"] + ".bytes").read())
    assert seen > 10000 and answer["saved_bytes"] == seen, (answer["plan"], answer["saved_bytes"], seen)
assert "kept" in json.load(open("fp32.tacho/precision.json")) and "kept" not in json.load(open("bf16.tacho/precision.json"))
END_OF_CHECK
