#!/usr/bin/env bash
# Two and three ranks of DDP: every parameter's gradient is in one bucket, ready within the backward pass;
# every byte of a tensor that gloo sent or received is known to be of that all-reduce, and of which of the
# 2 (ranks - 1) steps of its ring; nothing else went over its connections but headers.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1

cat >"$work/job.py" <<'END'
import sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(1)
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = nn.Sequential(nn.Linear(64, 384), nn.ReLU(), nn.Linear(384, 960), nn.ReLU(),
                      nn.Linear(960, 384), nn.ReLU(), nn.Linear(384, 12))
model = DistributedDataParallel(model, bucket_cap_mb=float(sys.argv[1]),
                                gradient_as_bucket_view=sys.argv[2] == "views")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
END

cat >"$work/check.py" <<'END'
import json
import math
import sys
from collections import defaultdict

folder, n = sys.argv[1], int(sys.argv[2])
shapes = [(384, 64), (384,), (960, 384), (960,), (384, 960), (384,), (12, 384), (12,)]
parameters = sorted(4 * math.prod(shape) for shape in shapes)
buckets, gradients, messages, trace = (json.load(open(folder + name + ".json"))
                                       for name in ("bucket", "gradient", "message", "chrome"))
slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
pids = {int(e["args"]["name"].split()[1]): e["pid"] for e in trace["traceEvents"]
        if e["name"] == "process_name" and e["args"]["name"].startswith("rank ")}
assert sorted(pids) == list(range(n)), pids


def backward_ms(rank):
    """Means of begin and end of the backward passes of steps 1 to 3, since their steps began."""
    begins, ends = [], []
    for step in slices:
        if step["cat"] == "step" and step["pid"] == pids[rank] and step["args"]["number"] > 0:
            nodes = [e for e in slices if e["pid"] == pids[rank] and
                     e["name"].startswith("autograd::engine::evaluate_function") and
                     step["ts"] <= e["ts"] < step["ts"] + step["dur"]]
            begins.append(min(e["ts"] for e in nodes) - step["ts"])
            ends.append(max(e["ts"] + e["dur"] for e in nodes) - step["ts"])
    assert len(begins) == 3, begins
    return sum(begins) / 3e3, sum(ends) / 3e3


# Steps after the first, in which DDP packs its buckets for good.
for rank in range(n):
    begin_ms, end_ms = backward_ms(rank)
    mine = [b for b in buckets if b["rank"] == rank]
    assert sum(b["bytes"] for b in mine) == sum(parameters), mine
    assert [b["bucket"] for b in mine] == list(range(len(mine))), mine
    for b in mine:
        assert b["count"] == 3 and b["whole_pct"] == 100, b
        parts = [b[key + "_ms"] for key in ("queue", "pickup", "wait", "transfer")]
        assert min(parts) >= 0 and abs(b["ready_ms"] + sum(parts) - b["done_ms"]) < 1e-6, b
        held = [g for g in gradients if g["rank"] == rank and g["bucket"] == b["bucket"]]
        assert len(held) == b["gradients"], (b, held)
        assert abs(max(g["ready_ms"] for g in held) - b["ready_ms"]) < 1e-6, (b, held)
        end = 0
        for g in sorted(held, key=lambda g: g["offset_bytes"]): # one beside the other
            assert g["offset_bytes"] == end, (b, held)
            end += g["bytes"]
        assert end == b["bytes"], (b, held)
    held = [g for g in gradients if g["rank"] == rank]
    assert sorted(g["bytes"] for g in held) == parameters, held
    for g in held:
        assert g["count"] == 3 and g["exact_pct"] == 100, g
        assert begin_ms <= g["ready_ms"] <= end_ms + 1e-6, (g, begin_ms, end_ms)


def segments(size):
    """How many pieces with something in them gloo makes of an all-reduce of float32."""
    count = math.ceil(max(math.ceil(size / 2**20), 2 * n) / n) * n
    return math.ceil(size / (math.ceil(math.ceil(size / count) / 4) * 4))


# All steps: what each all-reduce sent and received, over all ranks. A piece goes 2 (n - 1) times, behind
# a header of 48 bytes, and each side says in another one that it is ready.
HEADER = 48
key_of = lambda e: (e["args"]["group"], e["args"]["number"])
moved, by_step, missing = defaultdict(int), defaultdict(int), defaultdict(int)
calls = [e for e in slices if e["cat"] == "message"]
for call in calls:
    args = call["args"]
    if args.get("collective") == "gloo:all_reduce":
        moved[key_of(call), args["direction"]] += args["bytes"]
        if "ring_step" in args:
            by_step[key_of(call), args["direction"], args["ring_step"]] += args["bytes"]
reduces = {key_of(e): e["args"]["bytes"] for e in slices
           if e["cat"] == "collective" and e["name"] == "gloo:all_reduce"}
assert len(reduces) >= 4, reduces
for key, size in reduces.items():
    for direction in "send", "receive":
        in_step = size + HEADER * segments(size)
        need = 2 * (n - 1) * (in_step + 2 * HEADER * segments(size))
        missing[direction] += need - moved[key, direction]
        assert moved[key, direction] <= need, (key, size, direction, moved[key, direction], need)
        for step in range(2 * (n - 1)):
            assert by_step[key, direction, step] == in_step, (key, size, direction, step, by_step)
assert len(by_step) == len(reduces) * 2 * 2 * (n - 1), by_step

# Headers queued behind other bytes, while two all-reduces were under way, may be known to be of none.
ends_of = lambda e: frozenset((e["args"]["local"], e["args"]["peer"]))
rings = {ends_of(call) for call in calls if call["args"].get("collective") == "gloo:all_reduce"}
for call in calls:
    if "collective" not in call["args"] and ends_of(call) in rings and call["args"]["bytes"] % HEADER == 0:
        missing[call["args"]["direction"]] -= call["args"]["bytes"]
assert not any(missing.values()), missing
for row in messages:
    if row["name"] == "gloo:all_reduce":
        assert row["paired_pct"] == 100, row
        assert row["ring_steps"] == 2 * (n - 1) or n > 2, row
        assert row["peer_rank"] in {(row["rank"] + 1) % n, (row["rank"] - 1) % n}, row
assert any("collective" not in call["args"] for call in calls)
names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"]
assert sum("(message loop)" in name for name in names) == n, names
assert sum("(collective worker)" in name for name in names) >= n, names
print(len(buckets) // n, "buckets")
END

# run RANKS CAP_MB HOW BUCKETS
run()
{
	local ranks=$1 run="$work/run" view

	"$TACHO" record -q -n "$ranks" -o "$run" --force -- "$python" "$work/job.py" "$2" "$3"
	for view in bucket gradient message; do
		"$TACHO" report "$run" --view $view --steps 1:3 --json >"$work/$view.json"
	done
	"$TACHO" export "$run" --to chrome -f -o "$work/chrome.json" >/dev/null 2>&1
	[ "$("$python" "$work/check.py" "$work/" "$ranks")" = "$4 buckets" ] ||
		{ echo "$*: not as it must be"; "$TACHO" report "$run" --view bucket; exit 1; }
}

# 1.43, 1.41 and 0.10 MiB of gradients, in the order in which they come: a first bucket closes at 1 MiB.
run 2 25 copies 2
run 3 0.5 views 3
