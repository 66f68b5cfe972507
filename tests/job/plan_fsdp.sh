#!/usr/bin/env bash
# tacho apply with FSDP2: modules are gathered ahead and kept as planned, losses stay to the last bit, and a plan that is not for the job ends it
# before its first step. Needs a PyTorch that has fully_shard(): TACHO_FSDP_PYTHON, or one of tools/make-frameworks.sh.
set -eu
python=
for candidate in "${TACHO_FSDP_PYTHON:-}" "$TACHO_SOURCE_DIR"/build/frameworks/torch-*/bin/python /usr/bin/python3; do
	if [ -x "$candidate" ] && "$candidate" -c 'from torch.distributed.fsdp import fully_shard' 2>/dev/null; then
		python=$candidate
		break
	fi
done
[ "$python" ] || { echo "no PyTorch with FSDP2: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
cd "$work"
cat >job.py <<'END'
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

torch.manual_seed(1)
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = nn.Sequential(*(nn.Sequential(nn.Linear(32, 32), nn.Tanh()) for _ in range(4)))
for block in model:
    fully_shard(block)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
torch.manual_seed(10 + dist.get_rank())
for step in range(5):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 32)).square().mean()
    loss.backward()
    optimizer.step()
    with open("%s.%d" % (os.environ["losses"], dist.get_rank()), "a") as file:
        file.write("step %d loss %s\n" % (step, loss.item().hex()))
if dist.get_rank() == 0:
    place = {id(block): i for i, block in enumerate(model)}
    for i, block in enumerate(model):
        state = block._get_fsdp_state()
        ahead = [place[id(other._modules[0])] for other in state._states_to_forward_prefetch]
        behind = [place[id(other._modules[0])] for other in state._states_to_backward_prefetch]
        keeps = state._fsdp_param_group.post_forward_mesh_info is None
        print(i, ahead, behind, "keeps" if keeps else "frees", len(block._forward_pre_hooks))
dist.barrier()
dist.destroy_process_group()
END

plan()
{
	printf '{"tacho_plan":1,"job":{"ranks":%s,"gradients":[]},"changes":%s}' "$1" "$2" >"$3"
}
plan 2 '{"fsdp_prefetch":2,"fsdp_keep":["1","2"]}' plan.json
plan 3 '{"fsdp_prefetch":2}' ranks.json
plan 2 '{"fsdp_keep":["9"]}' module.json

ranks()
{
	MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000)) WORLD_SIZE=2
	export MASTER_ADDR MASTER_PORT WORLD_SIZE
	RANK=1 "$@" >said.1 2>&1 &
	local status=0
	RANK=0 "$@" >said.0 2>&1 || status=$?
	wait $! || true
	return $status
}
losses=plain ranks "$python" job.py || { cat said.0; exit 1; }
losses=planned ranks "$TACHO" apply plan.json -- "$python" job.py || { cat said.0; exit 1; }
cmp plain.0 planned.0
cmp plain.1 planned.1
grep -q "the job ran with the fsdp_prefetch, fsdp_keep of" said.0 || { cat said.0; exit 1; }
grep '^[0-9]' said.0 >seen
diff - seen <<'END'
0 [1, 2] [] frees 1
1 [2, 3] [0] keeps 1
2 [3] [1, 0] keeps 1
3 [] [2, 1] frees 1
END
for wrong in ranks:"is for 3 ranks" module:"a sharded module '9'"; do
	! losses=refused ranks "$TACHO" apply "${wrong%%:*}.json" -- "$python" job.py || exit 1
	grep -q "${wrong#*:}" said.0 || { cat said.0; exit 1; }
	[ ! -e refused.0 ]
done
