# Several recordings of one job in one prediction, however they are named; and what is not one job.
cat >write.py <<'PYTHON'
import json, os, sys
def write(path, rank, a_us, n_ops=2):
    """Steps of a, b ... after each other; the first step is warm-up."""
    events, at = [], 0
    def add(category, name, begin, duration):
        events.append(dict(ph="X", cat=category, name=name, pid=100 + rank, tid=100 + rank, ts=begin, dur=duration))
    for step in range(5):
        begin = at
        for op in range(n_ops):
            duration = a_us + 2 * step if op == 0 else 100
            add("cpu_op", "abcd"[op], at, duration)
            at += duration + 10
        add("user_annotation", f"ProfilerStep#{step}", begin, at - begin)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        json.dump(dict(schemaVersion=1, distributedInfo=dict(backend="gloo", rank=rank, world_size=2), traceEvents=events), file)
for name, a_us in ("one", 300), ("two", 500), ("three", 320):
    for rank in 0, 1:
        write(f"{name}/r{rank}.json", rank, a_us)
write("other/r0.json", 0, 300)
for rank in 0, 1:
    write(f"more/r{rank}.json", rank, 300, 4)
write("single.json", 0, 310)
write("with,comma.json", 0, 300)
PYTHON
python3 write.py
"$TACHO" replay one --also two --also three --what-if scale:op~^a=0.5
"$TACHO" replay one,two,three --what-if scale:op~^a=0.5 --json >first.json
"$TACHO" replay one --also two,three --what-if scale:op~^a=0.5 --json >second.json
cmp first.json second.json
# each rank's own runs
"$TACHO" replay one/r0.json,two/r0.json,three/r0.json one/r1.json,two/r1.json,three/r1.json \
	--what-if scale:op~^a=0.5 --json >third.json
python3 - <<'END_PYTHON'
import json
first, third = json.load(open("first.json")), json.load(open("third.json"))
print(*first)
for row in first["recordings"]:
    print(*row.values())
print([row["recording"] for row in third["recordings"]])
print(first["predicted_step_ms"], first["recordings_interval_ms"], first["recordings_median_pct"], first["recordings_next_pct"])
print(all(first[key] == third[key] for key in first if key != "recordings"))
END_PYTHON
# all else works with it
"$TACHO" replay one,two,three --sensitivity | sed -n '/^What each/,$p'
"$TACHO" replay one,two --samples 20 | sed -n '3,/^Recordings/p'
"$TACHO" replay one,two --what-if jobs=three | sed -n '/^Jobs beside/,/^Critical/p'
"$TACHO" replay one,two,three --export replay.json --json >all.json && grep -o '"name":"ProfilerStep#[0-9]"' replay.json | sort | uniq -c
cp -r "$TACHO_SOURCE_DIR/tests/data/two_ranks" first && cp -r first second
"$TACHO" replay first,second --what-if ranks=4 --unfolded | sed -n '3,/^Recordings/p'
"$TACHO" replay with,comma.json --json | grep -c recordings
# what is not one job, or no list of recordings
"$TACHO" replay one --also two --also other || echo "exit $?"
"$TACHO" replay one --also more || echo "exit $?"
"$TACHO" replay one --also nowhere || echo "exit $?"
"$TACHO" replay one,two --what-if drop:op~nobody || echo "exit $?"
"$TACHO" replay one,two --step 9 || echo "exit $?"
"$TACHO" replay one,./one || echo "exit $?"
"$TACHO" replay one,,two || echo "exit $?"
"$TACHO" replay one --also '' || echo "exit $?"
"$TACHO" replay one/r0.json,two/r0.json one/r1.json || echo "exit $?"
"$TACHO" replay single.json,with,comma.json || echo "exit $?"
