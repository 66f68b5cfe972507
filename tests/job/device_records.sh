#!/usr/bin/env bash
# What devices did, counters, flows and late slices, told by several threads: the run holds what the job says that it told, in every
# table and export, babeltrace2 reads it; and the same at the moment of a SIGKILL. TACHO_KILLS sets how often (5).
set -u
kills=${TACHO_KILLS:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ulimit -c 0
lib=$TACHO_BUILD_DIR/lib/tacho
${CC:-cc} -O1 -Wall -D_GNU_SOURCE -I"$TACHO_SOURCE_DIR/src" -I"$TACHO_SOURCE_DIR/probes" \
	"$TACHO_SOURCE_DIR/tests/job/device_records_job.c" -o job -lpthread "$lib/libtacho.so" -Wl,-rpath,"$lib" || exit 1

cat >check.py <<'END'
"""check.py RUN COUNTS TRACE_TEXT IS_KILLED: what the run tells is what the job told."""
import json, os, re, struct, subprocess, sys
run, counts, text, is_killed = sys.argv[1:4] + [sys.argv[4] == "1"]
words = struct.unpack("=14Q", open(counts, "rb").read(8 * 14))
told = dict(zip(("calls", "kernels", "copies", "waits", "functions"), zip(words[0:10:2], words[1:10:2])))
told["samples"], told["ticks"], hz = words[10], words[11:13], words[13]

def query(sql):
    out = subprocess.run([os.environ["TACHO"], "query", run, "--format", "json", sql], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)

def count(sql):
    return query("select count(*) n from " + sql)[0]["n"]

def check(what, found, expected, more=1):
    """A kill may come between the record and the count of it."""
    assert expected <= found <= expected + (more if is_killed else 0), (what, found, expected)

queues = "slice s join gpu_track t on t.id = s.track_id"
for device in (0, 1):
    check("kernels", count(f"{queues} where t.device = {device} and s.category = 'kernel'"), told["kernels"][device])
    check("copies", count(f"{queues} where t.device = {device} and s.category = 'memcpy'"), told["copies"][device])
    check("waits", count(f"{queues} where t.device = {device} and s.category = 'sync'"), told["waits"][device])
    busy = query(f"select sum(dur) ns from {queues} where t.device = {device} and s.category in ('kernel', 'memcpy')")
    n = told["kernels"][device] + told["copies"][device]
    ns = told["ticks"][device] * 10**9 / hz
    assert abs((busy[0]["ns"] or 0) - ns) <= n + (2000 if is_killed else 0), (busy, ns)
check("calls", count("slice where category = 'runtime'"), sum(told["calls"]), 2)
check("functions", count("slice where category = 'function'"), sum(told["functions"]), 2)
check("samples", count("counter"), told["samples"])
# each piece of work has its call and is not before it; each queue does one thing at a time
assert count(f"{queues} where s.launch_id is null") == 0
assert count(f"{queues} join slice c on c.id = s.launch_id where s.ts < c.ts") == 0
assert count("args where key = 'args.bytes' and int_value = 4096") >= sum(told["copies"])
names = sorted(row["name"] for row in query("select name from gpu_track where device = 1"))
assert names == ["side", "stream 7"], names
# what is told late lies around the calls that were told before it
outside = count("slice c where c.category = 'runtime' and c.parent_id is null")
assert outside <= 2 * 50 + 2, outside
flows = count("flow where category = 'control'")
check("flows", flows, -(-told["calls"][0] // 64) + -(-told["calls"][1] // 64) if not is_killed else
      sum(told["waits"]) - 2, 4)
assert count("device where name = 'Device X' and architecture = 'sm_99' and multiprocessors = 80") == 2
memory = query("select sum(bytes) total, count(*) n from memory")
assert memory == [{"total": 0, "n": 4}], memory
# babeltrace2 has them, too
seen = {}
for line in open(text):
    name = re.match(r"\[[^]]*\] \([^)]*\) \S+ (.*?): \{", line)[1]
    seen[name] = seen.get(name, 0) + 1
check("gemm", seen.get("gemm", 0), sum(told["kernels"]))
check("Memcpy", seen.get("Memcpy HtoD (Pinned -> Device)", 0), sum(told["copies"]))
print(sum(told["kernels"]), "kernels,", sum(told["calls"]), "calls")
END

"$TACHO" record -q --probes alloc -o run.tacho -- ./job counts 4000 || exit 1
babeltrace2 run.tacho/*/ >trace.txt 2>bt.err || { cat bt.err; exit 1; }
[ ! -s bt.err ] || { cat bt.err; exit 1; }
/usr/bin/python3 check.py run.tacho counts trace.txt 0 || exit 1
"$TACHO" info run.tacho --json >info.json
/usr/bin/python3 - <<'END' || exit 1
import json
info = json.load(open("info.json"))
assert info["trust"]["score"] == 100 and info["dropped_events"] == 0, info["trust"]
END

# what devices did is in a replay, as of other tools' traces
"$TACHO" replay run.tacho --json >replay.json || exit 1
/usr/bin/python3 - <<'END' || exit 1
import json
replay = json.load(open("replay.json"))
assert replay["measured_step_ms"] > 0 and abs(replay["error_pct"]) < 5, replay["error_pct"]
streams = [row for row in replay["utilisation"] if "stream" in json.dumps(row)]
assert len(streams) == 4 and all(row["busy_ms"] > 0 for row in streams), replay["utilisation"]
END

for target in ctf chrome perfetto; do
	"$TACHO" export run.tacho --to $target -o exported.$target >/dev/null || { echo "no export to $target"; exit 1; }
	for view in step kernel launch memory counters device idle queue bandwidth critical; do
		"$TACHO" report run.tacho --view $view --json >want.json
		"$TACHO" report exported.$target --view $view --json >have.json
		cmp want.json have.json || { echo "$view of the export to $target differs"; exit 1; }
	done
	rm -rf exported.$target
done

RANDOM=${TACHO_SEED:-$$}
for ((i = 0; i < kills; i++)); do
	rm -rf killed.tacho counts
	truncate -s 4096 counts
	"$TACHO" record -q --probes alloc -o killed.tacho -- ./job counts 2>record.err &
	recorder=$!
	while [ "$(od -An -t u8 -j 16 -N 16 counts | tr -d ' 0\n')" = "" ] && kill -0 $recorder 2>/dev/null; do
		sleep 0.005
	done
	sleep "0.$(printf %03d $((RANDOM % 200)))"
	for child in $(cat /proc/$recorder/task/$recorder/children); do
		kill -9 "$child"
	done
	wait $recorder 2>/dev/null
	babeltrace2 killed.tacho/*/ >trace.txt 2>bt.err || { echo "kill $i: babeltrace2"; cat bt.err; exit 1; }
	/usr/bin/python3 check.py killed.tacho counts trace.txt 1 || { echo "kill $i"; exit 1; }
done
