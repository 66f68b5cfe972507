# A replay that is not what was measured says so before it predicts. Steps that overlap: what is in two of them was measured
# twice, and is played once.
cat >write.py <<'PYTHON'
import json, os
def write(job, overlaps, late=None):
    """Five steps of 1000 us a rank, which go on for so long into the next one; a rank that is late only in its last two."""
    os.makedirs(job, exist_ok=True)
    for rank, overlap in enumerate(overlaps):
        rows = []
        for step in range(5):
            begin, more = 1000 * step, overlap if late is None or step >= late else 0
            for category, name, at, length in (("user_annotation", f"ProfilerStep#{step}", begin, 1000 + more),
                                               ("cpu_op", "aten::mm", begin + 150, 700)):
                rows.append(dict(ph="X", cat=category, name=name, ts=at, dur=length, pid=4000 + rank, tid=4000 + rank, args={}))
        json.dump(dict(schemaVersion=1, baseTimeNanoseconds=1750000000000000000, traceEvents=rows,
                       distributedInfo=dict(backend="nccl", rank=rank, world_size=len(overlaps))),
                  open(f"{job}/rank{rank}.pt.trace.json", "w"))
write("both", [50, 100])
write("one", [0, 100])
write("little", [15, 15])
write("none", [0, 0])
PYTHON
python3 write.py
for job in both one little; do
	echo "== $job"
	"$TACHO" replay "$job" --what-if scale:op~mm=0.5 --width 0 | sed -n '1,/^nine/p'
done
"$TACHO" replay both --width 70 | sed -n '1,/^$/p'
# a step by itself
"$TACHO" replay both --step 2 | sed -n '1,/^nine\|^one step/p'
# of several recordings, those that are off
"$TACHO" replay none,both,little --width 0 | sed -n '1,/^$/p'
"$TACHO" replay none,little --width 0 | sed -n '1,/^$/p'
for job in both one none; do
	"$TACHO" replay "$job" --json >"$job.json"
done
python3 - <<'PYTHON'
import json
for job in "both", "one", "none":
    answer = json.load(open(f"{job}.json"))
    error = answer.get("baseline_error")
    print(job, next(iter(answer)), error and (error["error_pct"] == answer["error_pct"], error["warning"], error["advice"]))
    for row in error["off"] if error else ():
        print(*row.values())
PYTHON
