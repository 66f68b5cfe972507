#!/usr/bin/env bash
# What a plan changes besides buckets, in a real job of two ranks: the losses are, to the last bit, those of a job in which somebody wrote the
# same by hand. What the job's PyTorch cannot do, or what is not in the job, is refused.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
cd "$work"

cat >job.py <<'END'
import contextlib
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

by_hand = sys.argv[1] if len(sys.argv) > 1 else ""
dist.init_process_group("gloo")
torch.manual_seed(1)
width = 32
model = torch.nn.Sequential(
    *[torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Dropout(0.1)) for _ in range(3)],
    torch.nn.Linear(width, 1),
)
ddp = DistributedDataParallel(model)
if by_hand == "fp16":
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
if by_hand == "powersgd":
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2)
    ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
torch.manual_seed(10 + dist.get_rank())
loader = DataLoader(TensorDataset(torch.randn(64, width)), batch_size=8)
n = 4 if by_hand == "accumulation" else 1
losses = []
for step, (x,) in enumerate(loader):
    is_last = (step + 1) % n == 0
    if step % n == 0:
        optimizer.zero_grad()
    with contextlib.nullcontext() if is_last else ddp.no_sync():
        loss = ddp(x).square().mean()
        loss.backward()
    if is_last:
        for parameter in model.parameters() if n > 1 else []:
            parameter.grad.div_(n)
        optimizer.step()
    losses.append("%d %s\n" % (step, loss.item().hex()))
with open("%s.%d" % (os.environ["losses"], dist.get_rank()), "w") as file:
    file.writelines(losses)
sys.stdout.write("workers %d\n" % loader.num_workers)  # one write: two ranks share the pipe
sys.stdout.flush()
dist.barrier()
time.sleep(0.3)  # nobody closes what another still reads
os._exit(0)  # where a hook in Python has run, PyTorch 1.13 sometimes aborts while it ends
END

gradients='[4, "float32"], [128, "float32"], [128, "float32"], [4096, "float32"], [128, "float32"], [4096, "float32"], [128, "float32"], [4096, "float32"]'
write_plan()
{
	echo "{\"tacho_plan\": 1, \"job\": {\"ranks\": 2, \"gradients\": [$gradients]}, \"changes\": {$1}}" >plan.json
}
# same CHANGES HAND WORKERS: with the plan the losses are those of the job that HAND names
same()
{
	write_plan "$1"
	for rank in 0 1; do
		RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port losses=hand "$python" job.py $2 >/dev/null &
	done
	wait
	port=$((port + 1))
	losses=planned "$TACHO" apply -n 2 plan.json -- "$python" job.py >out 2>said
	cmp hand.0 planned.0 && cmp hand.1 planned.1 || { echo "$1: other losses"; exit 1; }
	grep -q "the job ran with the" said || { echo "$1:"; cat said; exit 1; }
	[ "$(sort -u out)" = "workers $3" ] || { echo "$1: $(cat out)"; exit 1; }
	rm hand.? planned.?
}
port=$((20000 + $$ % 20000))
same '"loader_workers": 2' "" 2
same '"checkpoint": ["0", "2"]' "" 0
same '"accumulation": 4' accumulation 0
same '"compression": "fp16"' fp16 0
same '"compression": "powersgd:2"' powersgd 0
same '"checkpoint": ["1"], "accumulation": 4, "loader_workers": 1' accumulation 1

# refused STATUS WORDS: and no step was made
refused()
{
	local status=0

	losses=planned "$TACHO" apply -n 2 plan.json -- "$python" job.py "${@:2}" >out 2>said || status=$?
	[ $status != 0 ] || { echo "not refused: $1"; exit 1; }
	[ ! -e planned.0 ] || { echo "$1: the job made steps"; exit 1; }
	grep -q "$1" said || { echo "no '$1' in:"; cat said; exit 1; }
}
write_plan '"checkpoint": ["0", "layer9"]'
refused "it has a module 'layer9', and this one does not"
write_plan '"compression": "fp16"'
refused "the job has a communication hook of its own" fp16
gradients='[4, "float32"]' write_plan '"checkpoint": ["0"]'
refused "gradients differ in number, size or type"
if ! "$python" - 2>/dev/null <<'END'; then
import torch
import torch.distributed as dist

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dist.all_reduce(torch.ones(1, dtype=torch.bfloat16))
END
	gradients='' write_plan '"compression": "bf16"'
	refused "cannot carry it out: compression: PyTorch"
fi

# nothing in the job to change: it runs, and that is said
write_plan '"loader_workers": 2'
"$TACHO" apply plan.json -- "$python" -c 'import torch; print("ran")' >out 2>said
[ "$(cat out)" = ran ]
grep -q "nothing in rank 0 of the job was made that has to do with 'loader_workers'" said
