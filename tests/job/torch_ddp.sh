#!/usr/bin/env bash
# Two ranks of DDP over gloo: every gradient byte is reduced once a step, and the records say so; the
# group and the buckets are told; modules carry their paths; the losses are those of an unrecorded
# run.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 PYTHONPATH="$TACHO_SOURCE_DIR/tests/support"
job=$TACHO_SOURCE_DIR/examples/ddp_train.py

"$TACHO" record -q -n 2 -o "$work/run" -- "$python" "$job" --steps 4 --batch 4 | sort >"$work/recorded"

# plain_job: the same without tacho; false: a rank failed
plain_job()
{
	local port=$((20000 + RANDOM % 12000)) other status=0

	RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
		"$python" "$job" --steps 4 --batch 4 >"$work/plain.1" &
	other=$!
	RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
		"$python" "$job" --steps 4 --batch 4 >"$work/plain.0" || status=1
	[ $status = 0 ] || kill $other 2>/dev/null
	wait $other && return $status
}
# the port may be somebody's
plain_job || plain_job || plain_job
sort "$work"/plain.? >"$work/plain"
diff "$work/plain" "$work/recorded"

cat >"$work/check.py" <<'END'
import re
import sys
from records import named, read

sys.path.insert(0, sys.argv[2])
import ddp_train

gradient_bytes = sum(p.numel() * p.element_size() for p in ddp_train.SmallCnn().parameters())
records = read(sys.argv[1])
reduces = named(records, "gloo:all_reduce")
ranks = {r.tid for r in named(records, "Optimizer.step#SGD.step")}
assert len(ranks) == 2
assert sum(r["bytes"] for r in reduces) == 2 * 4 * gradient_bytes, [r["bytes"] for r in reduces]

groups = named(records, "process_group")
assert len(groups) == 2
for group in groups:
    assert "ranks=0-1" in group["text"] and "backend=gloo" in group["text"], group["text"]
    assert group["second"] == 2 and group["first"] != 0
threads = {int(t) for g in groups for t in re.search(r"tids=([\d,]+)", g["text"])[1].split(",")}
for reduce in reduces:
    assert reduce["duration"] < 60 * 10**9
    assert reduce["end_tid"] in threads, reduce.payload

buckets = named(records, "ddp_bucket")
for state in "initial", "rebuilt":
    told = [b["second"] for b in buckets if "state=" + state in b["text"]]
    assert sum(told) == 2 * gradient_bytes, (state, told)

for path in (
    "DistributedDataParallel",
    "SmallCnn",
    "SmallCnn.layer1 (Sequential)",
    "SmallCnn.layer1.0.conv1 (Conv2d)",
    "SmallCnn.head (Linear)",
):
    assert len(named(records, path)) == 8, (path, len(named(records, path)))
for tid in ranks:
    mine = [r for r in records if r.tid == tid]
    block = named(mine, "SmallCnn.layer1.0 (Block)")[1]
    inner = named(mine, "SmallCnn.layer1.0.conv2 (Conv2d)")[1]
    assert block.begin_ns <= inner.begin_ns and inner.end_ns <= block.end_ns
    assert any(
        inner.begin_ns <= op.begin_ns and op.end_ns <= inner.end_ns
        for op in named(mine, "aten::conv2d")
    )
END
"$python" "$work/check.py" "$work/run" "$TACHO_SOURCE_DIR/examples"

# a collective that is dispatched names its group: the address of the mark
cat >"$work/groups.py" <<'END'
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
pair = dist.new_group([0, 1])
dist.all_reduce(torch.ones(10))
dist.all_reduce(torch.ones(20), group=pair)
dist.destroy_process_group()
END
"$TACHO" record -q -n 2 -o "$work/groups" -- "$python" "$work/groups.py"
cat >"$work/check.py" <<'END'
import sys
from records import named, read

records = read(sys.argv[1])
marks = {}
for mark in named(records, "process_group"):
    marks.setdefault(mark.tid, []).append(mark["first"])
assert len(marks) == 2 and all(len(set(m)) == 2 for m in marks.values()), marks
worlds, pairs = (sorted(groups) for groups in zip(*marks.values()))
reduces = named(records, "gloo:all_reduce")
assert sorted(r["group"] for r in reduces if r["bytes"] == 40) == worlds, (
    worlds, [r.payload for r in reduces])
assert sorted(r["group"] for r in reduces if r["bytes"] == 80) == pairs, (
    pairs, [r.payload for r in reduces])
END
"$python" "$work/check.py" "$work/groups"
