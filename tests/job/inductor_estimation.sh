#!/usr/bin/env bash
# PyTorch Inductor's own estimator reads what tacho export --to inductor writes of a recorded job, and says of a collective and of a
# matrix product what the recording says.
set -eu
python=${TACHO_TORCH_2_13:-$TACHO_SOURCE_DIR/build/frameworks/torch-2.13/bin/python3}
"$python" -c 'import torch._inductor.fx_passes.profile_guided_estimation' 2>/dev/null ||
	{ echo "no PyTorch with profile-guided estimation: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1
"$TACHO" record -q -n 2 -o base.tacho -- "$python" "$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 6 >/dev/null
"$TACHO" export base.tacho --to inductor -o pge.json 2>/dev/null
cat >check.py <<'END'
import json

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch._inductor.fx_passes.profile_guided_estimation import ProfileGuidedEstimator
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore

events = json.load(open("pge.json"))["traceEvents"]
product = next(e for e in events if e["name"] == "aten::mm" and e["cat"] == "cpu_op")
reduced = [e for e in events if e["args"].get("Collective name") == "allreduce"]
assert reduced, "no all-reduce"
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
estimator = ProfileGuidedEstimator("pge.json")


def step(x, w, gradients):
    return torch.mm(x, w), functional.wait_tensor(functional.all_reduce(gradients, "sum", dist.group.WORLD))


with FakeTensorMode():
    (x, w), (xs, ws) = product["args"]["Input Dims"], product["args"]["Input Strides"]
    graph = make_fx(step)(torch.empty_strided(x, xs), torch.empty_strided(w, ws),
                          torch.empty(reduced[0]["args"]["Out msg nelems"]))
said = {str(n.target): estimator(n) for n in graph.graph.nodes if n.op == "call_function"}
for target, us in ("aten.mm.default", product["dur"]), ("_c10d_functional.all_reduce.default", reduced[0]["dur"]):
    assert abs(said[target] * 1000 - us) < 1e-3, (target, said[target], us)
END
"$python" check.py
