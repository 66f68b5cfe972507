#!/usr/bin/env bash
# tacho attach in training: attached to and stopped again and again, a job computes the same losses to the last bit, and is left with
# the descriptors, threads and mappings that it had; what is recorded is what a recording from the start has, in the steps
# asked for, in all ranks, in a container, and after record --start-later.
# TACHO_ATTACH_CYCLES sets how often (6; `make attach-trials`: 50).
set -u
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
cycles=${TACHO_ATTACH_CYCLES:-6}
work=$(mktemp -d)
pids=() ranks=() pid=self
trap 'for p in "${pids[@]}"; do kill -9 $p 2>/dev/null; done; rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_NUM_THREADS=1
train=$TACHO_SOURCE_DIR/tests/job/attach_train.py
fail() { echo "$*"; exit 1; }

# await FILE LINES : until it has so many
await() {
	for ((i = 0; i < 4000; i++)); do
		[ -f "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ] && return
		sleep 0.05
	done
	cat ./*.err
	fail "$1 does not come to $2 lines"
}
threads() { # what those that are left wait for
	for task in $(printf '/proc/%s/task/*\n' $pid "${ranks[@]}"); do
		echo "$task: $(cat $task/comm) $(grep State $task/status) in $(cat $task/wchan), call $(cat $task/syscall)"
	done 2>/dev/null
}
attach() {
	timeout 200 "$TACHO" attach "$@" 2>attach.err && return
	echo "tacho attach $*: exit code $?"
	cat attach.err
	threads
	exit 1
}

# --- again and again ---
"$python" "$train" - >losses 2>train.err &
pid=$!
pids+=($pid)
await losses 20
state() { # what may not grow: mappings by name, descriptors, threads
	awk 'NF > 5 { print $6 }' /proc/$pid/maps | sort | uniq -c
	ls -l /proc/$pid/fd | sed 's/.* -> //; 1d' | sort
	ls /proc/$pid/task | wc -l
}
anonymous() { # mappings without a name, of which Python's allocator makes some now and then
	awk 'NF < 6' /proc/$pid/maps | wc -l
}
for ((cycle = 1; cycle <= cycles; cycle++)); do
	attach -q --force -o run.tacho --steps 2:4 $pid
	[ $cycle = 2 ] && state >before && unnamed=$(anonymous)
done
sleep 0.5
state >after
diff before after || fail "something is left behind in the process (< after 2, > after $cycles cycles)"
[ $(($(anonymous) - unnamed)) -lt $((cycles - 2)) ] || fail "memory is left behind: $unnamed mappings after 2 cycles, $(anonymous) after $cycles"
[ -z "$(ls -A /proc/$pid/task/*/ | grep -x tacho)" ] || fail "a thread is left behind"
await losses $(($(wc -l <losses) + 10))
kill -TERM $pid
wait $pid || { cat train.err; fail "the job ended badly"; }
[ -s train.err ] && { cat train.err; fail "the job's stderr is not empty"; }
"$python" "$train" "$(wc -l <losses)" >expected
cmp losses expected || fail "the losses differ from those of a job that nobody attached to"

# --- what is recorded ---
"$TACHO" info run.tacho --json >info.json || fail "tacho info has failed"
"$TACHO" report run.tacho --view step --json >steps.json || fail "tacho report has failed"
"$TACHO" record -q --steps 2:4 -o whole.tacho -- "$python" "$train" 20 >/dev/null || fail "tacho record has failed"
"$TACHO" info whole.tacho --json >whole.json
"$python" - <<'EOF' || exit 1
import json
info, whole = json.load(open("info.json")), json.load(open("whole.json"))
assert info["processes"][0]["end"] == "stopped", info["processes"]
assert info["steps"] == whole["steps"] == 3, (info["steps"], whole["steps"])
for kind in ("op", "module", "kernel", "annotation", "memory"):
    assert info["kinds"].get(kind) == whole["kinds"].get(kind), (kind, info["kinds"], whole["kinds"])
assert info["dropped_events"] == 0
EOF

# --- record --start-later, and a second run of the same process ---
"$TACHO" record -q --start-later -o later.tacho -- "$python" "$train" - >later.out 2>later.err &
recorder=$!
pids+=($recorder)
await later.out 20
pid=$(cat /proc/$recorder/task/$recorder/children)
pid=${pid% }
"$TACHO" info later.tacho --json >info.json 2>/dev/null && grep -q '"op"' info.json && fail "recorded before it was asked for"
attach -q --steps 2:4 $pid
attach -q --steps 1:2 -o again.tacho $pid
"$TACHO" stop $pid 2>/dev/null && fail "what is not recorded was stopped"
kill -TERM $pid
wait $recorder || { cat later.err; fail "the job ended badly"; }
for run in later:3 again:2; do
	"$TACHO" info ${run%:*}.tacho --json >info.json || fail "tacho info has failed"
	grep -q "\"steps\":${run#*:}," info.json || { cat info.json; fail "${run%:*}.tacho has not ${run#*:} steps"; }
done

# --- all ranks of a job, left and stopped ---
"$TACHO" record -q --probes none -n 2 -o none.tacho -- "$python" "$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 100000 \
	>ddp.out 2>ddp.err &
recorder=$!
pids+=($recorder)
for ((i = 0; i < 1200; i++)); do
	ranks=($(cat /proc/$recorder/task/$recorder/children 2>/dev/null))
	[ ${#ranks[@]} = 2 ] && [ "$(grep -c libtorch_cpu.so /proc/${ranks[1]}/maps)" -gt 0 ] && break
	sleep 0.1
done
"$TACHO" stop --job -q $recorder 2>stop.err || { cat stop.err; threads; fail "tacho stop --job has failed"; } # what they have of tacho by their start
sleep 5
attach -q --leave --job -o ddp.tacho $recorder
for ((i = 0; i < 600; i++)); do
	sleep 0.2
	"$TACHO" info ddp.tacho --json >info.json 2>/dev/null || continue
	"$python" -c 'import json; i = json.load(open("info.json")); exit(not (i["ranks"] == 2 and i["steps"] > 3 and i["kinds"].get("collective", 0) > 3))' && break
done
"$TACHO" stop --job ${ranks[0]} 2>stop.err || { cat stop.err; fail "tacho stop --job has failed"; }
kill -9 "${ranks[@]}"
wait $recorder 2>/dev/null
"$TACHO" info ddp.tacho --json >info.json || fail "tacho info has failed"
"$python" - <<'EOF' || { cat info.json; exit 1; }
import json
info = json.load(open("info.json"))
assert info["ranks"] == 2 and info["steps"] > 3, info
assert info["kinds"]["collective"] > 3 and info["kinds"]["message"] > 3, info["kinds"]
assert [p["end"] for p in info["processes"]] == ["stopped", "stopped"], info["processes"]
EOF
"$TACHO" report ddp.tacho --view comm >/dev/null || fail "tacho report has failed"

# --- a container ---
if [ "$(id -u)" = 0 ] && unshare -m -p -f true 2>/dev/null; then
	# the job's script may lie in what the container does not see
	unshare -m -p -f --mount-proc sh -c 'mount -t tmpfs none /tmp && exec "$@"' sh "$python" /dev/fd/3 - 3<"$train" >inside.out 2>inside.err &
	outer=$!
	pids+=($outer)
	await inside.out 20
	pid=$(cat /proc/$outer/task/$outer/children)
	attach -q --steps 2:4 -o inside.tacho ${pid% }
	[ -z "$(ls -A "/proc/${pid% }/root/tmp")" ] || fail "a folder is left behind in the container"
	kill -TERM ${pid% }
	wait $outer || { cat inside.err; fail "the job in the container ended badly"; }
	"$TACHO" info inside.tacho --json >info.json || fail "tacho info has failed"
	grep -q '"steps":3,' info.json || { cat info.json; fail "inside.tacho has not 3 steps"; }
fi
echo "$cycles cycles"
