#!/usr/bin/env bash
# One rank: operations with shapes and storages, autograd nodes with the numbers of their forward,
# regions, optimizer steps, memory; recursion, exceptions and another thread do not upset the stack.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 PYTHONPATH="$TACHO_SOURCE_DIR/tests/support"

cat >"$work/job.py" <<'END'
import threading
import torch

net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(4, 6)
for step in range(3):
    with torch.autograd.profiler.record_function("my region"):
        loss = net(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError:
    pass
with torch.no_grad():
    torch.stack([torch.zeros(7) for _ in range(100)])
thread = threading.Thread(target=lambda: torch.ones(11, 13).cumsum(0))
thread.start()
thread.join()
torch.zeros(1000, 1000)
torch.full((1,), 3.0).item()
END
"$TACHO" record -q --shapes-every 1 -o "$work/run" -- "$python" "$work/job.py"

cat >"$work/check.py" <<'END'
import sys
from records import named, read

records = read(sys.argv[1])
OPEN = 2**64 - 1
assert not [r.name for r in records if r.fields.get("duration") == OPEN]

addmms = named(records, "aten::addmm")
assert len(addmms) == 6, len(addmms)
assert addmms[0].shapes == [[5], [4, 6], [6, 5]], addmms[0].shapes
outputs = {r["begin_stamp"]: r for r in named(records, "outputs")}
assert [[4, 5]] in [r.shapes for r in outputs.values()]
# where no output is a tensor there is no record of them (the op has ended all the same: see above)
assert named(records, "aten::item")[-1].shapes == [[1]]
assert all(r["n_outputs"] > 0 for r in outputs.values())

# the tape: a node carries the number that its op took, and the thread of it
threads = {r["first"] for r in named(records, "autograd_thread") if r.tid == addmms[0].tid}
nodes = named(records, "AddmmBackward0")
assert len(nodes) == 6
for node in nodes:
    assert node["flags"] & 1 and node["forward_thread"] in threads, node.payload
assert sorted(r["sequence"] for r in nodes) == sorted(r["sequence"] for r in addmms)
assert all(r["sequence"] == -1 for r in named(records, "torch::autograd::AccumulateGrad"))

regions = named(records, "my region")
assert len(regions) == 3
for region in regions:
    inside = [r for r in named(records, "aten::sum") if region.begin_ns <= r.begin_ns <= region.end_ns]
    assert inside and all(r.end_ns <= region.end_ns for r in inside), (region, inside)
assert len(named(records, "Optimizer.step#SGD.step")) == 3

# the op that threw has ended; so does what came after it
assert named(records, "aten::mm")[-1].shapes == [[2, 3], [2, 3]]
stack = named(records, "aten::stack")[0]
assert stack["n_inputs"] == 64 and stack["flags"] & 4, stack.payload
cumsum = named(records, "aten::cumsum")
assert len(cumsum) == 1 and cumsum[0].tid != addmms[0].tid

# memory: the tensor's storage is the address that was handed out, and given back at the end
memory = named(records, "c10::alloc_cpu")
big = [r for r in memory if r["bytes"] == 4000000]
assert len(big) == 1
back = [r for r in memory if r["address"] == big[0]["address"] and r["bytes"] == 0]
assert back and back[-1].begin_ns >= big[0].begin_ns
assert big[0]["address"] in named(records, "aten::zero_")[-1].storages
costs = {r["event_kind"]: r["picoseconds"] for r in records if "picoseconds" in r}
assert costs[0] > 0, costs
assert 7 in costs and 2 in costs
END
"$python" "$work/check.py" "$work/run"
