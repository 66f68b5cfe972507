#!/usr/bin/env bash
# PyTorch is asked for tensors in some steps: the first ten, every Nth, and from an operation on that is new to the end of the next step. Operations of
# the others have those of the same place; what has no such place has none.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 PYTHONPATH="$TACHO_SOURCE_DIR/tests/support"

cat >"$work/job.py" <<'END'
import torch

weights = torch.ones(7, 5, requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.1)
for step in range(24):
    loss = (torch.ones(3, 7) @ weights).sum()
    if step >= 14:
        loss = loss + torch.ones(step).cumsum(0).sum()  # new to step 14
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
END
"$TACHO" record -q --shapes-every 5 -o "$work/run" -- "$python" "$work/job.py"
cat >"$work/check.py" <<'END'
import json
import subprocess
import sys
from records import named, read

records = read(sys.argv[1])
ends = [r.end_ns for r in named(records, "Optimizer.step#SGD.step")]
assert len(ends) == 24


def asked(name):
    """The steps in which the operations of that name were asked, and those in which they were not."""
    where = {True: set(), False: set()}
    for r in named(records, name):
        where[not r["flags"] & 8].add(sum(end <= r.begin_ns for end in ends))
    return sorted(where[True]), sorted(where[False])


# of the two in step 14 the second is behind what is new
assert asked("aten::mm") == ([*range(11), 14, 15, 20], [11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 23]), asked("aten::mm")
# it was not asked when it was met, but what followed it was
assert asked("aten::cumsum")[0] == [15, 20], asked("aten::cumsum")
assert 14 in asked("SumBackward0")[0]
assert not [r for r in named(records, "aten::mm") if r["flags"] & 8 and r["n_inputs"]]


def query(sql):
    done = subprocess.run([sys.argv[2], "query", sys.argv[1], sql, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


rows = query("select extract_arg(arg_set_id, 'inputs') as i, count(*) as n from slice where name = 'aten::mm' group by 1")
rows = rows["rows"] if isinstance(rows, dict) else rows
told = {row["i"]: row["n"] for row in rows}
assert told == {"float32[3,7], float32[7,5]": 24, "float32[7,3], float32[3,5]": 24}, told
END
"$python" "$work/check.py" "$work/run" "$TACHO"

"$TACHO" record -q --shapes-every 1 -o "$work/all" -- "$python" "$work/job.py"
"$TACHO" query "$work/all" "select count(*) from slice where category = 'op'" >"$work/all.n"
"$TACHO" query "$work/run" "select count(*) from slice where category = 'op'" >"$work/some.n"
diff "$work/all.n" "$work/some.n"
"$TACHO" record --shapes-every 0 -- true 2>"$work/err" && exit 1
grep -q -- "--shapes-every must be 1 or more" "$work/err"
