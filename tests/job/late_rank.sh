#!/usr/bin/env bash
# Each of two ranks, then one in the middle of four, sleeps a while in every step: all views name it.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1

cat >"$work/job.py" <<'PYTHON'
import statistics, sys, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
late = dist.get_rank() == int(sys.argv[1])
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
own_s = []  # of the steps so far: how much late is late depends on the machine
for step in range(24):
    if late:
        time.sleep(max(0.03, 2 * statistics.median(own_s)) if own_s else 0.03)
    began = time.monotonic()
    optimizer.zero_grad()
    model(torch.randn(32, 128)).sum().backward()
    optimizer.step()
    own_s.append(time.monotonic() - began)
PYTHON

for job in "2 0" "2 1" "4 2"; do
	read -r ranks late <<<"$job"
	"$TACHO" record -q --force -n $ranks -o "$work/run" -- "$python" "$work/job.py" $late
	"$TACHO" report "$work/run" >"$work/summary"
	grep -q "^Rank $late is late:" "$work/summary" || { echo "rank $late of $ranks:"; cat "$work/summary"; exit 1; }
	"$TACHO" report "$work/run" --view straggler --json >"$work/straggler"
	"$python" - "$work/straggler" $late <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))
late = int(sys.argv[2])
assert rows[0]["rank"] == late and rows[0]["stands_out"] and rows[0]["is_sure"], rows
assert max(rows, key=lambda row: row["caused_wait_ms"])["rank"] == late, rows
PYTHON
	"$TACHO" report "$work/run" --view advise --json | grep -q "\"checker\":\"straggler\",\"rank\":$late," || { echo "no advice about rank $late of $ranks"; exit 1; }
done
