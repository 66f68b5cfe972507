#!/usr/bin/env bash
# A plan carried out in a real job of two ranks: from the third step on the buckets are exactly those of the plan, in any order of
# gradients, and the losses are those of the job without it, to the last bit. A plan for another job ends it before its first
# step; gradients in another order leave the job as it is.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 PYTHONPATH="$TACHO_SOURCE_DIR/tests/support"
cd "$work"

# Losses in full, and buckets as DDP itself tells them after some steps.
cat >job.py <<'END'
import gc
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(1)
width = int(sys.argv[1]) if len(sys.argv) > 1 else 64
layers = [torch.nn.Linear(width, width) for _ in range(4)]
model = torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))
ddp = DistributedDataParallel(model)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
torch.manual_seed(10 + dist.get_rank())
for step in range(6):
    optimizer.zero_grad()
    loss = ddp(torch.randn(8, width)).square().mean()
    loss.backward()
    optimizer.step()
    with open("%s.%d" % (os.environ["losses"], dist.get_rank()), "a") as file:
        file.write("step %d loss %s\n" % (step, loss.item().hex()))
if "buckets" in os.environ:
    logged = ddp._get_ddp_logging_data()
    with open("%s.%d" % (os.environ["buckets"], dist.get_rank()), "w") as file:
        file.write(str(logged.get("rebuilt_bucket_sizes")))
    # A bucket that Python knows of can block the end of the job: a thread of the process group may be the last to let go of it.
    own = [loss] + [p.grad for p in ddp.parameters()]
    own += [tensor for state in optimizer.state.values() for tensor in state.values()]
    others = [t.numel() for t in gc.get_objects() if type(t) is torch.Tensor and not any(t is o for o in own)]
    assert not others, "Python knows of buckets of %s elements" % others
END

losses=plain "$TACHO" record -q -n 2 -o base -- "$python" job.py
[ "$(cat plain.0 plain.1 | wc -l)" = 12 ]
# planned WHAT: the losses are those of the job without a plan
planned()
{
	cmp plain.0 planned.0 && cmp plain.1 planned.1 || { echo "$1: other losses"; exit 1; }
	rm planned.?
}
export losses=planned

# what the recording knows of the gradients, in the order in which they came; and two plans: in order, and out of it
cat >plans.py <<'END'
import json

gradients = []
for width in [1] + [64] * 4:  # backwards: of each layer, the bias comes first
    gradients += [(width * 4, "float32"), (width * 64 * 4, "float32")]
def write(name, buckets, ranks=2, gradients=gradients):
    with open(name, "w") as file:
        json.dump({"tacho_plan": 1, "job": {"ranks": ranks, "gradients": gradients}, "changes": {"buckets": buckets}}, file)
    with open(name + ".sizes", "w") as file:
        file.write(", ".join(str(sum(gradients[i][0] for i in b)) for b in buckets))
write("ordered.json", [[0, 1, 2], [3], [4, 5, 6, 7, 8], [9]])
write("mixed.json", [[3, 0], [1, 9, 4], [2, 5, 8, 7, 6]])
write("one.json", [list(range(10))])
write("ranks.json", [list(range(10))])
write("fewer.json", [list(range(8))], ranks=1, gradients=gradients[:8])
write("other.json", [list(range(10))], ranks=1, gradients=gradients[:9] + [(4, "float32")])
write("types.json", [list(range(10))], ranks=1, gradients=[(n, "float64") for n, _ in gradients])
write("order.json", [[0, 1, 2], list(range(3, 10))], gradients=gradients[1::2] + gradients[0::2])
END
"$python" plans.py

# carried_out PLAN: DDP has its buckets, and the job its losses
carried_out()
{
	planned $1
	for rank in 0 1; do
		[ "$(cat found.$rank)" = "$(cat $1.json.sizes)" ] ||
			{ echo "$1: rank $rank has $(cat found.$rank) and not $(cat $1.json.sizes)"; exit 1; }
	done
}
for plan in ordered one; do
	buckets=found "$TACHO" apply -n 2 $plan.json -- "$python" job.py 2>said
	carried_out $plan
	grep -q "the job ran with the buckets of" said
done

# recorded, too; the marks of the recording say the same
buckets=found "$TACHO" apply -q mixed.json -- "$TACHO" record -q -n 2 -o planned.tacho -- "$python" job.py
carried_out mixed
cat >check.py <<'END'
import sys
from records import named, read

wanted = [int(size) for size in open("mixed.json.sizes").read().split(",")]
for tid in {r.tid for r in named(read(sys.argv[1]), "ddp_bucket")}:
    marks = [r for r in named(read(sys.argv[1]), "ddp_bucket") if r.tid == tid]
    told = {m["first"]: m["second"] for m in marks if "state=rebuilt" in m["text"]}
    assert [told[i] for i in sorted(told)] == wanted, (told, wanted)
END
"$python" check.py planned.tacho

# the plan that tacho makes of the recording is one for the job
"$TACHO" optimize base --tries 1000 --json >found.json
"$python" - <<'END'
import json

found = json.load(open("found.json"))
assert found["gradients"] == 10 and found["recorded_buckets"] == 1, found
plan = found["plan"]
if plan is not None and "buckets" in plan["changes"]:
    assert [tuple(g) for g in plan["job"]["gradients"]][:2] == [(4, "float32"), (256, "float32")]
END

# refused when DDP is made, before a step, by a job of one rank: the error says why
refused()
{
	local status=0

	"$TACHO" apply -n 1 "$1.json" -- "$python" job.py 2>said || status=$?
	[ $status != 0 ] || { echo "$1 was not refused"; exit 1; }
	[ ! -e planned.0 ] || { echo "$1: the job made steps"; exit 1; }
	grep -q "$2" said || { echo "$1: no '$2' in:"; cat said; exit 1; }
}
refused ranks "is for 2 ranks, and the job has 1"
refused fewer "a model with 8 gradients, and this one has 10"
refused other "is for another model"
refused types "is for another model"

# seen after the first pass: the job goes on, and says so once
"$TACHO" apply -n 2 order.json -- "$python" job.py 2>said
planned order
[ "$(grep -c "the gradients come in another order" said)" = 1 ]
! grep -q "the job ran with" said || exit 1
