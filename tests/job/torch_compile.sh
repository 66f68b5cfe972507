#!/usr/bin/env bash
# torch.compile under tacho: losses, warnings and TorchDynamo's own counts are as without, also where recording is switched on and off;
# Inductor's kernels have names, compilations are regions and graph breaks marks. TACHO_WHEEL_PYTHON names a Python with a PyTorch 2.
set -eu
python=${TACHO_WHEEL_PYTHON:-/usr/bin/python3}
"$python" -c 'import torch; torch.compile; torch._dynamo.callback' 2>/dev/null || { echo "no PyTorch that compiles: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 TORCHINDUCTOR_CACHE_DIR=$work/cache
cat >job.py <<'END'
import torch
import torch._dynamo.utils as utils

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(64, 64)
        self.b = torch.nn.Linear(64, 4)

    def forward(self, x):
        x = torch.relu(self.a(x)) * 2
        torch._dynamo.graph_break()
        return torch.sigmoid(self.b(x)) + 1

torch.manual_seed(0)
net = Net()
compiled = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(16):
    loss = compiled(torch.randn(2, 64)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
print(sorted(utils.counters["stats"].items()), sorted(utils.counters["frames"].items()), sorted(utils.counters["graph_break"].items()))
END
failed=0
wrong() { echo "$*"; failed=1; }

"$python" job.py >plain.out 2>plain.err
"$TACHO" record -q -o run -- "$python" job.py >out 2>err
diff plain.out out || wrong "the job printed something else"
diff plain.err err || wrong "the job said something else"
"$TACHO" record -q --control 2 -o switched -- "$python" job.py >out 2>err
diff plain.out out || wrong "switched: the job printed something else"
diff plain.err err || wrong "switched: the job said something else"

rows() { "$TACHO" query --format csv run "$1" | tail -n +2; }
# every step has each kernel of its two forward graphs and their backward graphs
[ "$(rows "select count(*) from (select name, count(*) n from slice where category = 'kernel' and name like 'cpp_fused%' group by 1) where n % 16 = 0")" -ge 4 ] ||
	wrong "kernels: $(rows "select name, count(*) from slice where category = 'kernel' group by 1")"
[ "$(rows "select count(*) from slice where name like 'cpp_fused%' and parent_id is null")" = 0 ] || wrong "a kernel is in no compiled graph"
[ "$(rows "select count(*) from slice where name like 'torch.compile%' and dur > 0")" -ge 2 ] || wrong "no compilations"
[ "$("$TACHO" report run --view goodput --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)
rows = rows["rows"] if isinstance(rows, dict) else rows
print([row["graph_breaks"] for row in rows if row["use"] == "compilation"])')" = "[1]" ] || wrong "graph breaks: $("$TACHO" report run --view goodput)"
exit $failed
