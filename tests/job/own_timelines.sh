#!/usr/bin/env bash
# Horovod and BytePS are told to write their own timelines, which lie in the run behind the job, each in its rank; what the user has set
# stays. The packages are stand-ins that write as these do (horovod/common/timeline.cc of 0.28, byteps/common/global.cc); the real
# Horovod is a row of `make check-frameworks`.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }

mkdir -p packages/horovod/common packages/byteps/common
touch packages/horovod/__init__.py packages/byteps/__init__.py
cat >packages/horovod/common/__init__.py <<'END'
END
cat >packages/horovod/common/basics.py <<'END'
import atexit, json, os, time

class HorovodBasics:
    """The coordinator alone writes; times count from the start of the timeline."""

    def init(self):
        path = os.environ.get("HOROVOD_TIMELINE")
        self.file = open(path, "w") if path and os.environ["RANK"] == "0" else None
        self.start = time.time()
        self.write({"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": int(self.start * 1e6)}}, "[\n")
        self.write({"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "DistributedOptimizer.Push_12"}})
        atexit.register(self.shutdown)

    def write(self, event, before=",\n"):
        if self.file:
            self.file.write(before + json.dumps(event))

    def allreduce(self):
        for ph, name in (("B", "NEGOTIATE_ALLREDUCE"), ("E", ""), ("B", "ALLREDUCE"), ("B", "GLOO_ALLREDUCE"), ("E", ""), ("E", "")):
            self.write({"ph": ph, "name": name, "ts": int((time.time() - self.start) * 1e6), "pid": 1})
            time.sleep(0.002)

    def shutdown(self):
        if self.file:
            self.file.write("\n]")
            self.file.close()
END
cat >packages/byteps/common/__init__.py <<'END'
import json, os, time

def trace():
    if os.environ.get("BYTEPS_TRACE_ON") != "1":
        return
    folder = os.path.join(os.environ["BYTEPS_TRACE_DIR"], os.environ["LOCAL_RANK"])
    os.makedirs(folder)
    now = int(time.time() * 1e6)
    events = [{"ph": "X", "ts": now, "dur": 900, "pid": "Comm.byteps.gradient_0", "tid": "total", "name": "Comm.byteps.gradient_0", "args": {"name": "Comm.byteps.gradient_0"}}]
    with open(os.path.join(folder, "comm.json"), "w") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)
END
cat >busy.py <<'END'
"""A run has a clock by its own records: here, by samples of stacks."""
import time

end = time.monotonic() + 0.3
while time.monotonic() < end:
    pass
END
cat >horovod_job.py <<'END'
import busy, os, sys
from horovod.common import basics

own = basics.HorovodBasics()
own.init()
for _ in range(5):
    own.allreduce()
print(sorted(name for name in sys.modules if name.startswith("tacho")) and "", os.environ["RANK"])
END
cat >byteps_job.py <<'END'
import busy, byteps.common

byteps.common.trace()
END
export PYTHONPATH=$work/packages:$work
python=${PYTHON:-/usr/bin/python3}

"$TACHO" record -q -n 2 -o run -- "$python" horovod_job.py >out 2>err || wrong "the job failed: $(cat err)"
[ "$(cat run/traces/*-horovod/timeline.json | grep -c GLOO_ALLREDUCE)" = 5 ] || wrong "no timeline in the run: $(ls -aR run/traces)"
[ "$(ls -A run/traces | wc -l)" = 1 ] || wrong "folders of ranks that wrote nothing: $(ls -A run/traces)"
[ "$("$TACHO" query --format csv run "select count(*), count(distinct track.rank) from slice join track on track.id = track_id where slice.name = 'GLOO_ALLREDUCE'" | tail -1)" = 5,1 ] ||
	wrong "the timeline is not in its rank"
"$TACHO" info run --json | python3 -c '
import json, sys
info = json.load(sys.stdin)
assert info["ranks"] == 2, info["ranks"]' || wrong "other ranks"

# what the user has set stays
HOROVOD_TIMELINE=$work/mine.json "$TACHO" record -q -n 2 -o own -- "$python" horovod_job.py >out 2>err
[ -s mine.json ] && [ ! -e own/traces ] || wrong "the user's timeline was taken"

"$TACHO" record -q -n 2 -o byteps -- "$python" byteps_job.py >out 2>err || wrong "the job failed: $(cat err)"
[ "$(ls byteps/traces | wc -l)" = 2 ] || wrong "BytePS: $(ls -aR byteps)"
[ "$("$TACHO" query --format csv byteps "select count(*) from collective" | tail -1)" -ge 1 ] ||
	wrong "BytePS has no collectives: $("$TACHO" info byteps)"
BYTEPS_TRACE_ON=0 BYTEPS_TRACE_DIR=$work "$TACHO" record -q -n 2 -o own2 -- "$python" byteps_job.py >out 2>err
[ ! -e own2/traces ] || wrong "BytePS: what the user has set was changed"
exit $failed
