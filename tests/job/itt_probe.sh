#!/usr/bin/env bash
# The ITT probe: tasks of oneDNN as kernels, all else as regions and marks; programs that misuse the interface, tables that are none,
# another tool that is there first. Where TACHO_WHEEL_PYTHON names a Python with a wheel of PyTorch, the same of the oneDNN in it.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
calls=$TACHO_BUILD_DIR/tests/itt_calls
failed=0
wrong() { echo "$*"; failed=1; }

"$TACHO" record -q -o run -- "$calls" >out 2>err
[ "$(cat out)$(cat err)" = done ] || wrong "the program said: $(cat out err)"
"$TACHO" query --format csv run "select category, name, count(*) from slice where category in ('kernel', 'annotation') group by 1, 2 order by 1, 2" >slices
diff - slices <<-END || wrong "other slices"
	category,name,count(*)
	annotation,event,1
	annotation,ours: across,1
	annotation,ours: child,1
	annotation,ours: deep,64
	annotation,ours: frame,1
	annotation,ours: outer,1
	kernel,matmul,1
END
"$TACHO" query --format csv run "select k.dur >= 2000000 and k.dur < a.dur, a.name from slice k join slice a on k.parent_id = a.id where k.name = 'matmul'" | grep -qx '1,ours: outer' || wrong "the kernel is not in its task"
"$TACHO" query run "select count(*) from slice where dur < 0" | grep -qx ' *0' || wrong "a slice is open"
if command -v babeltrace2 >/dev/null; then
	babeltrace2 ./run >events 2>&1 || wrong "babeltrace2: $(tail -1 events)"
	for mark in 'ours: moment: .*first = 42' 'ours: batches: .*value = 3' 'ours: batches: .*value = 7' 'ITT: loss: .*value = 2.5'; do
		grep -qE -- "$mark" events || wrong "no mark $mark"
	done
fi
"$TACHO" query --format csv run "select t.name, c.value from counter c join track t on c.track_id = t.id order by c.ts" >values
grep -qx 'ours: batches,3' values && grep -qx 'ITT: loss,2.5' values || wrong "other counters: $(cat values)"
[ "$("$TACHO" info --json run | grep -o '"record_cost_pct":[0-9.e-]*' | head -1)" != '"record_cost_pct":0' ] || wrong "it is said to cost nothing"

for odd in magic major; do
	"$TACHO" record -q --force -o run -- "$calls" $odd >out 2>err
	[ "$(cat out)" = "nothing was taken" ] || wrong "$odd: $(cat out err)"
done
INTEL_LIBITTNOTIFY64=/other/tool.so "$TACHO" record --force -o run -- "$calls" >out 2>err
[ "$(cat out)" = "no collector" ] || wrong "another tool's variable was changed"
grep -q 'INTEL_LIBITTNOTIFY64 names /other/tool.so already' err || wrong "nobody says that another tool was there first"
# without the agent nothing is recorded, and the program runs
INTEL_LIBITTNOTIFY64=$TACHO_BUILD_DIR/lib/tacho/libtacho_itt.so TACHO_RUN_DIR=$work/none "$calls" >out 2>err
[ "$(cat out)$(cat err)" = done ] && [ ! -e none ] || wrong "without the agent: $(cat out err)"

python=${TACHO_WHEEL_PYTHON:-}
[ -n "$python" ] || exit $failed
cat >job.py <<'PYTHON'
import sys

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
own = torch.profiler.profile() if "profiler" in sys.argv else None
if own:
    own.start()
for step in range(4):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 8, 64, 64)).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
if own:
    own.stop()
    print(any("convolution" in row.key for row in own.key_averages()))
PYTHON
for how in plain profiler; do
	"$python" job.py $how >expected
	"$TACHO" record -q --force -o run -- "$python" job.py $how >out 2>err
	diff expected out || wrong "$how: the job prints something else"
	"$TACHO" query --format csv run "select o.name like 'aten::%convolution%', sum(k.dur) <= sum(o.dur), count(*) from slice k join slice o on k.parent_id = o.id where k.category = 'kernel' and k.name = 'convolution' group by 1" >inside
	grep -qx '1,1,2[0-9]' inside || wrong "$how: convolutions are not in their operations: $(cat inside)"
done
exit $failed
