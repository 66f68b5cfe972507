#!/usr/bin/env bash
# The kernel's part in a job, by eBPF: who took a thread's core and for how long, held against what the program measured itself; sleeps with
# who woke it; a file written past the page cache; TCP segments that a full queue between two hosts lost. Then what remains without
# privileges. Skipped without root, BTF or a build with libbpf.
set -u
work=$(mktemp -d)
namespaces=()
hog=
cleanup() {
	[ -z "$hog" ] || kill "$hog" 2>/dev/null
	for name in "${namespaces[@]}"; do
		ip netns del "$name" 2>/dev/null
	done
	rm -rf "$work"
}
trap cleanup EXIT

fail() {
	echo "failed: $*"
	exit 1
}

kernel=$(dirname "$TACHO")/../lib/tacho/tacho-kernel
[ "$("$kernel" --check)" = events ] || { echo "skipped: $("$kernel" --check)"; exit 77; }
python=/usr/bin/python3
${CC:-cc} -O2 -Wall -D_GNU_SOURCE -I"$TACHO_SOURCE_DIR/include" "$TACHO_SOURCE_DIR/tests/job/kernel_job.c" -o "$work/job" || exit 1
cp "$work/job" "$work/core_hog"

# system RUN: the view's rows as JSON in $work/system.json
system() {
	"$TACHO" report "$1" --view system --steps all --json >"$work/system.json" || fail "no view of $1"
}

# trust RUN: nothing lost, nothing impossible
trust() {
	"$TACHO" info "$1" --json | $python -c '
import json, sys
info = json.load(sys.stdin)
assert info["dropped_events"] == 0, info["dropped_events"]
assert info["trust"]["score"] == 100, info["trust"]' || fail "$1 is not trusted"
}

# --- another program on the job's core ---------------------------------------------------------------
core=$(taskset -pc $$ | sed 's/.*[:,-] *//')
# Both in real time, in turns: nobody else comes between them.
realtime="chrt --rr 10"
$realtime true 2>/dev/null || { echo "skipped: no real time"; exit 77; }
$realtime "$work/core_hog" hog "$core" 600 &
hog=$!
hog_pid=$hog
$realtime "$TACHO" record -q --probes kernel -o "$work/hogged" -- "$work/job" gaps "$core" 2 >"$work/away" || fail "record"
kill $hog
wait $hog 2>/dev/null
hog=
system "$work/hogged"
trust "$work/hogged"
# lost NAME: the ms without a core of the program's one thread, in its steps, by events of such names
lost() {
	"$TACHO" query "$work/hogged" --format csv "select sum(min(s.ts + s.dur, e.ends) - max(s.ts, e.begins)) / 1e6
		from slice s join track t on t.id = s.track_id join process p using (upid),
			(select min(ts) begins, max(ts + dur) ends from slice where name = 'step' and category = 'annotation') e
		where t.name = 'kernel, thread ' || p.pid and s.ts < e.ends and s.ts + s.dur > e.begins and ($1)" | tail -1
}
by_all=$(lost "s.name like 'preempted%' or s.name like 'run queue%'")
by_hog=$(lost "s.name in ('preempted by core_hog', 'run queue, behind core_hog')")
# The program counts absences of 0.2 ms and more, and interrupts; the kernel counts all that another thread had.
$python - "$(cat "$work/away")" "$by_all" "$by_hog" <<'PYTHON' || fail "the hog"
import sys

away_ms, by_all_ms, by_hog_ms = map(float, sys.argv[1:])
print("away %.1f ms by the program, %.1f ms without a core, of which core_hog %.1f ms" % (away_ms, by_all_ms, by_hog_ms))
assert away_ms > 200, "the hog took nothing"
assert abs(by_all_ms - away_ms) < 0.05 * away_ms + 5 and by_hog_ms > 0.5 * away_ms
PYTHON
"$TACHO" report "$work/hogged" --view step --json >"$work/steps.json" || fail "steps"
$python -c '
import json, sys
rows = json.load(open(sys.argv[1]))
assert len(rows) == 5, rows
told = [r["system"] for r in rows if r["system"] and "idle: preempted by core_hog " in r["system"]]
assert len(told) >= 3, rows' "$work/steps.json" || fail "the steps do not tell of the hog"
"$TACHO" report "$work/hogged" --view advise --steps all --json >"$work/advice.json"
$python -c '
import json, sys
rows = json.load(open(sys.argv[1]))
assert [r for r in rows if r["checker"] == "preemption" and "core_hog" in r["where"]], rows' "$work/advice.json" || fail "no advice about the hog"
# The trace itself is CTF, and who took the core is in it by number, too.
args=$("$TACHO" query "$work/hogged" --format csv "select count(*) from slice s join args a on s.arg_set_id = a.arg_set_id
	where s.name = 'preempted by core_hog' and a.key = 'args.other_pid' and a.int_value = $hog_pid" | tail -1)
[ "$args" -gt 0 ] || fail "no number of the preemptor"

# --- waiting on its own account ------------------------------------------------------------------------
"$TACHO" record -q --probes kernel -o "$work/asleep" -- sh -c '"$1" sleep 20; true' sh "$work/job" || fail "record"
system "$work/asleep"
$python -c '
import json, sys
rows = json.load(open(sys.argv[1]))
slept = [r for r in rows if r["kind"] == "blocked" and r["detail"] and "nanosleep" in r["detail"]]
assert sum(r["count"] for r in slept) == 5 and 99 < sum(r["total_ms"] for r in slept), rows' "$work/system.json" || fail "sleeps"

# The shell is the job's, too, but the agent has recorded nothing of it: it is no process of the run.
[ "$("$TACHO" query "$work/asleep" --format csv "select count(*) from process" | tail -1)" = 1 ] || fail "processes"

# What holds the recorder on is not in the job: a killed `tacho record` leaves a whole trace while the job goes on.
[ "$("$TACHO" record -q --probes kernel -o "$work/descriptors" -- sh -c 'ls /proc/self/fd | wc -l')" = \
	"$("$TACHO" record -q --probes none -o "$work/without" -- sh -c 'ls /proc/self/fd | wc -l')" ] || fail "the job has descriptors of tacho's"
"$TACHO" record -q --probes kernel -o "$work/killed" -- "$work/job" sleep 2000 &
recorder=$!
until [ -d "$work/killed/traces" ]; do sleep 0.05; done
sleep 1 # until there are events
kill -9 $recorder
wait $recorder 2>/dev/null
for _ in $(seq 100); do
	[ -d "$work/killed/traces/kernel" ] && break
	sleep 0.05
done
[ -d "$work/killed/traces/kernel" ] || fail "the recorder outlives who started it"

# --- a file --------------------------------------------------------------------------------------------
# written RUN: the bytes that the run's threads had block devices write
written() {
	"$TACHO" query "$1" --format csv "select coalesce(sum(a.int_value), 0) from slice s join args a on s.arg_set_id = a.arg_set_id
		where s.name like 'block write %' and a.key = 'args.bytes'" | tail -1
}

if "$work/job" write "$work/file" 8 >/dev/null && df --output=source "$work" | tail -1 | grep -q ^/dev/; then
	# Up to three times: some sandboxes let no such programs run in threads of their own, nor in interrupts that come there.
	for _ in 1 2 3; do
		rm -rf "$work/written"
		"$TACHO" record -q --probes kernel -o "$work/written" -- "$work/job" write "$work/other" 16 >/dev/null || fail "record"
		system "$work/written"
		bytes=$(written "$work/written")
		[ "$bytes" -ge $((16 << 20)) ] && break
	done
	[ "$bytes" -ge $((16 << 20)) ] || fail "$bytes bytes were written"
	$python -c '
import json, sys
rows = json.load(open(sys.argv[1]))
written = [r for r in rows if r["kind"] == "block I/O" and r["detail"].startswith("write ")]
assert sum(r["count"] for r in written) >= 16, rows' "$work/system.json" || fail "the file's blocks"

	# Another program keeps the device busy, with the blocks on both sides of the job's: the job's thread issues requests of that program, and
	# both are merged into one. Only what the job asked for is the job's; most of it is seen.
	"$work/job" flood "$work/file" 600 &
	hog=$!
	"$TACHO" record -q --probes kernel -o "$work/between" -- "$work/job" between "$work/file" 1000 || fail "record"
	kill $hog
	wait $hog 2>/dev/null
	hog=
	bytes=$(written "$work/between")
	[ "$bytes" -le $((1000 * 4096)) ] && [ "$bytes" -ge $((950 * 4096)) ] || fail "$bytes bytes were written between others'"
else
	echo "no block device below $work: not tried"
fi

# --- a link that loses packets ---------------------------------------------------------------------------
if ip netns add "tacho-$$-a" 2>/dev/null; then
	namespaces=("tacho-$$-a")
	ip netns add "tacho-$$-b" && namespaces+=("tacho-$$-b")
	ip -n "tacho-$$-a" link add link0 type veth peer name link0 netns "tacho-$$-b" || fail "no veth"
	for side in a:1 b:2; do
		ip -n "tacho-$$-${side%:*}" addr add "10.78.0.${side#*:}/24" dev link0
		ip -n "tacho-$$-${side%:*}" link set link0 up
		ip -n "tacho-$$-${side%:*}" link set lo up
	done
	# a queue of a few packets: what is sent faster is dropped
	tc -n "tacho-$$-a" qdisc add dev link0 root tbf rate 40mbit burst 20kb limit 30kb || fail "no tbf"
	: >"$work/received"
	ip netns exec "tacho-$$-b" "$work/job" receive 29600 >>"$work/received" &
	receiver=$!
	until grep -q ready "$work/received"; do sleep 0.05; done
	ip netns exec "tacho-$$-a" "$TACHO" record -q --probes kernel,socket -o "$work/lossy" -- "$work/job" send 10.78.0.2 29600 8 || fail "send"
	wait $receiver
	grep -q $((8 << 20)) "$work/received" || fail "not all was received"
	dropped=$(tc -n "tacho-$$-a" -s qdisc show dev link0 | sed -n 's/.*dropped \([0-9]*\).*/\1/p' | head -1)
	system "$work/lossy"
	$python - "$work/system.json" "$dropped" <<'PYTHON' || fail "retransmits"
import json, sys

rows = json.load(open(sys.argv[1]))
again = [r for r in rows if r["kind"] == "retransmit"]
print("%s packets dropped, %d retransmits" % (sys.argv[2], sum(r["count"] for r in again)))
assert int(sys.argv[2]) > 0, "nothing was lost"
assert again and all(r["detail"] == "10.78.0.1 -> 10.78.0.2" for r in again), rows
PYTHON
	trust "$work/lossy"
else
	echo "no network namespaces: not tried"
fi

# --- without privileges ------------------------------------------------------------------------------------
if command -v setpriv >/dev/null; then
	mkdir -m 777 "$work/user"
	chmod 755 "$work"
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$TACHO" record --probes kernel -o "$work/user/run" -- \
		"$work/job" gaps "$core" 1 >/dev/null 2>"$work/said" || { cat "$work/said"; fail "record as another user"; }
	grep -q "only sums by thread" "$work/said" || fail "said: $(cat "$work/said")"
	system "$work/user/run"
	$python -c '
import json, sys
rows = json.load(open(sys.argv[1]))
sums = {r["kind"]: r["total_ms"] for r in rows if r["tid"] == r["pid"]}
# it always wants a core; what is before the first look and behind the last one is not known
assert 400 < sums["ms on a core"] + sums.get("ms ready for a core", 0) < 1200, rows' "$work/system.json" || fail "sums"
fi
