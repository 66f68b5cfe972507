#!/usr/bin/env bash
# A rank is killed with SIGKILL at a random moment, again and again: the run opens, says who was killed,
# when, and inside of what; it holds everything recorded before; babeltrace2 reads it without an error.
# TACHO_KILLS sets how often (20), TACHO_TORCH_KILLS how often a PyTorch job is (1).
set -u
unset TACHO_START_KB # as users have it
kills=${TACHO_KILLS:-20}
torch_kills=${TACHO_TORCH_KILLS:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
${CC:-cc} -O1 -Wall -D_GNU_SOURCE "$TACHO_SOURCE_DIR/tests/job/kill9_job.c" -o kill9_job -lpthread || exit 1
ulimit -c 0

cat >check.py <<'EOF'
"""check.py INFO_JSON TRACE_TEXT COUNTS: what a killed kill9_job left behind."""
import json, re, struct, sys
info = json.load(open(sys.argv[1]))
(process,) = info["processes"]
assert process["end"] == "killed" and process["exit"] == -9, process
assert process["end_ms"] > 0 and info["ranks"] == 1
assert any(p["kind"] == "killed_process" for p in info["trust"]["problems"]), info["trust"]
slices = {}  # name -> {id: is open}
pattern = re.compile(r" (outer0|outer1|middle|inner): .*\{ duration = (\d+), id = (\d+) \}$")
n_open = 0
for line in open(sys.argv[2]):
    match = pattern.search(line)
    if match:
        is_open = int(match[2]) == 2**64 - 1
        n_open += is_open
        slices.setdefault(match[1], {})[int(match[3])] = is_open
counts = struct.unpack("=QQ", open(sys.argv[3], "rb").read(16))
for name, count in zip(("outer0", "outer1"), counts):
    seen = slices.get(name, {})
    for number in range(count):
        assert seen.get(number) is False, (name, number, count, seen.get(number, "missing"))
    assert len(seen) - count in (0, 1), (name, count, len(seen))
assert n_open == len(info["open_slices"]), (n_open, info["open_slices"])
for open_slice in info["open_slices"]:
    assert open_slice["rank"] == 0, open_slice
print(sum(counts), n_open, info["dropped_events"])
EOF

# kill_child_of PID NAME : SIGKILL to that child of the process
kill_child_of() {
	local child
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		[ "$(cat "/proc/$child/comm" 2>/dev/null)" = "$2" ] && kill -9 "$child"
	done
}

n_open=0 n_slices=0 n_dropped=0 RANDOM=${TACHO_SEED:-$$}
for ((i = 0; i < kills; i++)); do
	rm -rf run.tacho counts
	truncate -s 4096 counts
	"$TACHO" record -q --probes alloc -o run.tacho -- ./kill9_job counts 2>record.err &
	recorder=$!
	# Not before it has begun: a run without a record is another test.
	while [ "$(od -An -t u8 -N 16 counts | tr -d ' 0\n')" = "" ] && kill -0 $recorder 2>/dev/null; do
		sleep 0.005
	done
	sleep "0.$(printf %03d $((RANDOM % 200)))"
	kill_child_of $recorder kill9_job
	wait $recorder 2>/dev/null
	status=$?
	[ $status = 137 ] || { echo "kill $i: exit code $status, not 137"; cat record.err; exit 1; }
	"$TACHO" info run.tacho --json >info.json || { echo "kill $i: tacho info failed"; exit 1; }
	babeltrace2 run.tacho/*/ >trace.txt 2>bt.err || { echo "kill $i: babeltrace2"; cat bt.err; exit 1; }
	result=$(python3 check.py info.json trace.txt counts) || { echo "kill $i"; cat info.json; exit 1; }
	read -r slices open dropped <<<"$result"
	n_slices=$((n_slices + slices)) n_open=$((n_open + open)) n_dropped=$((n_dropped + dropped))
done
[ $n_open -gt 0 ] || [ "$kills" -lt 5 ] || { echo "no kill found a slice open"; exit 1; }
echo "$kills kills: $n_slices slices recorded, $n_open open at the kill, $n_dropped dropped and tried again"

/usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { echo "PyTorch is not installed: left out"; exit 0; }

# Both ranks train: what the run holds by now, by the same reader as afterwards.
has_begun() {
	"$TACHO" info torch.tacho --json >info.json 2>/dev/null && python3 - <<'EOF'
import json
info = json.load(open("info.json"))
exit(not (info["ranks"] == 2 and info["steps"] > 2 and info["kinds"]["op"] > 1000
          and info["kinds"].get("collective", 0) > 2))
EOF
}

for ((i = 0; i < torch_kills; i++)); do
	rm -rf torch.tacho
	"$TACHO" record -q -n 2 -o torch.tacho -- /usr/bin/python3 "$TACHO_SOURCE_DIR/examples/ddp_train.py" \
		--steps 100000 >job.out 2>record.err &
	recorder=$!
	give_up_s=$((SECONDS + 300))
	until has_begun || [ $SECONDS -gt $give_up_s ] || ! kill -0 $recorder 2>/dev/null; do
		sleep 0.1
	done
	sleep "0.$(printf %03d $((RANDOM % 1000)))"
	victim=$(cut -d' ' -f1 "/proc/$recorder/task/$recorder/children")
	kill -9 "$victim"
	wait $recorder 2>/dev/null
	[ $? != 0 ] || { echo "torch kill $i: exit code 0"; exit 1; }
	"$TACHO" info torch.tacho --json >info.json || { echo "torch kill $i: tacho info failed"; exit 1; }
	babeltrace2 torch.tacho/*/ >trace.txt 2>bt.err || { echo "torch kill $i: babeltrace2"; cat bt.err; exit 1; }
	python3 - "$victim" <<'EOF' || { echo "torch kill $i"; cat info.json; exit 1; }
import json, sys
info = json.load(open("info.json"))
(victim,) = [p for p in info["processes"] if p["pid"] == int(sys.argv[1])]
assert victim["end"] == "killed" and victim["exit"] == -9 and victim["rank"] in (0, 1), victim
assert info["kinds"].get("op", 0) > 1000 and info["kinds"].get("collective", 0) > 2, info["kinds"]
assert info["ranks"] == 2, info["ranks"]
for name in ("rank", "name"):
    assert all(name in s for s in info["open_slices"]), info["open_slices"]
open_names = [s["name"] for s in info["open_slices"] if s["rank"] == victim["rank"]]
print("rank", victim["rank"], "killed at", victim["end_ms"], "ms inside of", ", ".join(open_names[:6]) or "nothing")
EOF
done
