#!/usr/bin/env bash
# tacho calibrate communication on real ranks of gloo: what it measures goes into a model, and a replay takes from it what the recording of a job with
# collectives of one size does not tell.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
cd "$work"

"$TACHO" calibrate communication -n 2 --most 1m --operations all_reduce,broadcast -o cost.json --json -- "$python" train.py --lr 1 >found 2>said ||
	{ cat said; exit 1; }
cat >check.py <<'END'
import json

rows = {row["operation"]: row for row in json.load(open("found"))}
assert set(rows) == {"all_reduce", "broadcast"}, rows
for row in rows.values():
    assert row["backend"] == "gloo" and row["ranks"] == 2 and row["sizes"] == 6 and row["origin"] == "calibrated", row
    assert row["gb_per_s"] > 0, row
model = json.load(open("cost.json"))
for link in model["communication"]:
    sizes = [point[0] for point in link["points"]]
    assert sizes == [1024 * 4 ** i for i in range(6)], sizes
    assert all(point[1] > 0 and point[2] >= 5 for point in link["points"]), link
END
"$python" check.py || { cat found said; exit 1; }

# one collective a step, so all are of one size, and no messages are recorded
cat >job.py <<'END'
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.ones(4, 256)).sum().backward()
    optimizer.step()
END
"$TACHO" record -q -n 2 --probes torch -o run.tacho -- "$python" job.py
"$TACHO" replay run.tacho --what-if bandwidth=0.1x --json >plain.json
"$TACHO" replay run.tacho --what-if bandwidth=0.1x --json --cost cost.json >known.json
cat >check.py <<'END'
import json

plain, known = (json.load(open(name)) for name in ("plain.json", "known.json"))
assert any("as all-reduces among 2 ranks were measured" in note for note in known["notes"]), known["notes"]
assert any("counts as bandwidth" in note for note in plain["notes"]), plain["notes"]
assert not any("counts as bandwidth" in note for note in known["notes"]), known["notes"]
# the baseline stays; what a tenth of the bandwidth makes longer is another part now: less, but where other programs slow the ranks down
assert abs(plain["baseline_step_ms"] - known["baseline_step_ms"]) < 0.05 * plain["baseline_step_ms"], (plain, known)
assert known["predicted_step_ms"] != plain["predicted_step_ms"], (plain["predicted_step_ms"], known["predicted_step_ms"])
END
"$python" check.py

# ranks that nobody started, and a Python without PyTorch: the file is as it was
cp cost.json before.json
status=0
"$TACHO" calibrate communication -o cost.json -- "$python" 2>said || status=$?
[ $status = 2 ] && grep -q "no launcher says which rank this is" said && cmp cost.json before.json
