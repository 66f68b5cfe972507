#!/usr/bin/env bash
# tacho record --ranks: some ranks whole, of the others steps and collectives. All collectives are matched, the steps are found on
# all ranks, the late one is found although it is partial; views and predictions say what is not known. Ranks are told by tacho, by
# the variables of launchers, and by the program itself.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
cd "$work"

cat >job.py <<'PYTHON'
import os, sys, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(rank, size, port):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:%s" % port, rank=rank, world_size=size)
    late = int(sys.argv[2]) if len(sys.argv) > 2 else -1
    pair = dist.new_group([0, 1])
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(12):
        if rank == late:
            time.sleep(0.05)
        optimizer.zero_grad()
        model(torch.randn(16, 64)).sum().backward()
        optimizer.step()
        if rank < 2:
            dist.all_reduce(torch.ones(8), group=pair)
    dist.destroy_process_group()


if __name__ == "__main__":
    port = os.environ.get("JOB_PORT") or os.environ["MASTER_PORT"]
    if sys.argv[1] == "spawn":
        import torch.multiprocessing as mp

        mp.spawn(train, args=(4, port), nprocs=4)
    else:
        rank = int(os.environ.get("RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"])
        train(rank, 4, port)
PYTHON

# check RUN WHOLE [LATE]: what must hold of a run in which the ranks of WHOLE (a Python set) are whole
check() {
	"$TACHO" info --json "$1" >info
	"$TACHO" query --format json "$1" "select t.rank as rank, s.category as kind, count(*) as n from slice s join thread_track t on s.track_id = t.id group by 1, 2" >kinds
	"$TACHO" report "$1" --view step --json >steps
	"$TACHO" report "$1" --view straggler --json >straggler
	"$python" - "$2" "${3:--1}" <<'PYTHON'
import json, sys
whole, late = eval(sys.argv[1]), int(sys.argv[2])
info, kinds, steps = json.load(open("info")), json.load(open("kinds")), json.load(open("steps"))
assert info["ranks"] == 4, info
problems = {p["kind"]: p for p in info["trust"]["problems"]}
assert problems["partial_rank"]["count"] == 4 - len(whole), problems
assert "unmatched_collective" not in problems and "missing_rank" not in problems, problems
assert info["trust"]["score"] >= 90 and info["trust"]["present_score"] >= 95, info["trust"]
counts = {(k["rank"], k["kind"]): k["n"] for k in kinds}
for rank in range(4):
    ops = counts.get((rank, "op"), 0)
    assert (ops > 200) == (rank in whole), (rank, counts)
    assert not [k for (r, k), n in counts.items() if r == rank and rank not in whole and k in ("kernel", "message", "module", "function")], counts
for rank in range(4):
    rows = [s for s in steps if s["rank"] == rank and s["state"] != "incomplete"]
    assert len(rows) >= 11, (rank, rows)
    for row in rows:
        assert (row["compute_ms"] is None) == (rank not in whole), row
        assert (row["idle_ms"] is None) == (rank not in whole), row
        assert row["communication_ms"] > 0, row
if late >= 0:
    rows = json.load(open("straggler"))
    assert max(rows, key=lambda row: row["caused_wait_ms"])["rank"] == late, rows
    for row in rows:
        for key in ("compute_ms", "idle_ms", "longer_ms"):
            assert (row[key] is None) == (row["rank"] not in whole), row
        assert row["rank"] in whole or row["longer_in"] is None, row
PYTHON
}

"$TACHO" record -q -n 4 --ranks 0 -o own -- "$python" job.py env 2
check own '{0}' 2
"$TACHO" query "$work/own" "select count(*) from collective" | grep -q '[0-9]'
"$TACHO" report own | grep -q 'Of rank 1 to 3 only steps, regions and collectives were recorded'
"$TACHO" report own --view advise | grep -q 'Record it whole.*--ranks 2'
"$TACHO" replay own >replay
grep -q 'Of rank 1 to 3 only steps' replay
"$TACHO" replay own --json | "$python" -c 'import json, sys; r = json.load(sys.stdin); assert abs(r["error_pct"]) < 10, r["error_pct"]'
"$TACHO" export --to ctf -o exported own
"$TACHO" info --json exported | grep -q partial_rank

JOB_PORT=$("$python" -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
export JOB_PORT
# Each rank by the variable of another launcher: torchrun's is above, mpirun's and MPICH's are whole and in part.
"$TACHO" record -q --ranks 1-2 -o launched -- sh -c "env PMI_RANK=0 $python job.py env & env OMPI_COMM_WORLD_RANK=1 $python job.py env &
	env PMI_RANK=2 $python job.py env & env OMPI_COMM_WORLD_RANK=3 $python job.py env & wait"
check launched '{1, 2}'
# Nobody but the program tells the rank: what comes before it joins the group is whole.
"$TACHO" record -q --ranks 3 -o spawn -- "$python" job.py spawn
"$TACHO" info --json spawn >info
"$TACHO" query --format json spawn "select t.rank as rank, count(*) as n from slice s join thread_track t on s.track_id = t.id where s.category = 'op' group by 1" >ops
"$python" - <<'PYTHON'
import json

info = json.load(open("info"))
assert info["ranks"] == 4, info
problems = {p["kind"]: p for p in info["trust"]["problems"]}
assert problems["partial_rank"]["count"] == 3, problems
assert "unmatched_collective" not in problems, problems
ops = {row["rank"]: row["n"] for row in json.load(open("ops"))}
assert [ops.get(rank, 0) > 200 for rank in range(4)] == [False, False, False, True], ops
PYTHON
