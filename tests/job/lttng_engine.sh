#!/usr/bin/env bash
# tacho record --engine lttng: the same jobs by both engines have the same slices, marks and steps; LTTng's own readers follow a job
# through a relay daemon while it runs; what is killed (the job, tacho record, the session daemon) leaves what it had written; what
# LTTng has no room for is counted; and what is missing is named. The session daemon is this test's own: as root in a mount
# namespace, since root's is the machine's.
set -u
skip() {
	echo "skipped: $*"
	exit 77
}
for program in lttng lttng-sessiond lttng-relayd babeltrace2; do
	command -v $program >/dev/null || skip "there is no $program"
done
[ -e "$TACHO_BUILD_DIR/lib/tacho/libtacho_lttng.so" ] || skip "tacho was built without LTTng-UST"
if [ -z "${LTTNG_TEST_INSIDE:-}" ] && [ "$(id -u)" = 0 ]; then
	unshare -m sh -c 'mount -t tmpfs none /run && mount -t tmpfs none /dev/shm' 2>/dev/null || skip "no mount namespace can be made"
	exec unshare -m env LTTNG_TEST_INSIDE=1 bash "$0"
fi
[ "$(id -u)" != 0 ] || { mount -t tmpfs none /run && mount -t tmpfs none /dev/shm; } || exit 1

work=$(mktemp -d)
daemons=()
stop_daemons() {
	[ ${#daemons[@]} = 0 ] || kill "${daemons[@]}" 2>/dev/null
	daemons=()
}
trap 'stop_daemons; sleep 0.2; rm -rf "$work"' EXIT
cd "$work" || exit 1
export LTTNG_HOME=$work HOME=$work LTTNG_UST_REGISTER_TIMEOUT=20000
ulimit -c 0
${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I"$TACHO_SOURCE_DIR/include" -pthread "$TACHO_SOURCE_DIR/tests/job/marks_job.c" -o job || exit 1
cat >endless.c <<'EOF'
#include <stdint.h>
#include <stdlib.h>
#include <tacho/mark.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argc;
	for (uint64_t i = 0;; i++) {
		tacho_mark_range outer = TACHO_MARK_BEGIN_NUMBER("outer", i);
		tacho_mark_range middle = TACHO_MARK_BEGIN_NUMBER("middle", i);
		tacho_mark_range inner = TACHO_MARK_BEGIN_NUMBER("inner", i);

		usleep((useconds_t)atoi(argv[1]));
		tacho_mark_end(inner);
		tacho_mark_end(middle);
		tacho_mark_end(outer);
	}
}
EOF
${CC:-cc} -O1 -D_GNU_SOURCE -I"$TACHO_SOURCE_DIR/include" endless.c -o endless -lpthread || exit 1

fail() {
	echo "failed: $*"
	[ ! -s record.err ] || { echo "tacho record said:"; cat record.err; }
	exit 1
}

# until_true SECONDS COMMAND...: the command succeeds within that time
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

start_daemon() {
	lttng-sessiond --no-kernel >sessiond.log 2>&1 &
	sessiond=$!
	daemons+=($sessiond)
	until_true 30 lttng --no-sessiond list || fail "no session daemon: $(cat sessiond.log)"
}

rows() {
	"$TACHO" query "$1" --format csv "$2" | tail -n +2
}

info() {
	"$TACHO" info "$1" --json | /usr/bin/python3 -c "import json, sys; i = json.load(sys.stdin); print($2)"
}

# same RUN1 RUN2 CATEGORIES: the same slices by name, nested alike; the same marks, flows, samples and steps; nothing lost
same() {
	local sql what
	for what in "select category, name, depth, count(*) from slice where category in ($3) group by 1, 2, 3 order by 1, 2, 3" \
		"select name, text, count(*) from mark where name in ('moment', 'rank', 'process_group', 'ddp_bucket') group by 1, 2 order by 1, 2" \
		"select category, count(*) from flow where category = 'flow' group by 1" \
		"select t.name, count(*), sum(value) from counter c join counter_track t on t.id = c.track_id group by 1 order by 1"; do
		sql=$what
		rows "$1" "$sql" | sed 's/tids=[0-9,]*//' >first.csv
		rows "$2" "$sql" | sed 's/tids=[0-9,]*//' >second.csv
		diff first.csv second.csv || fail "$1 and $2 differ: $sql"
		[ -s first.csv ] || case $sql in *"from slice"*) fail "there is nothing to compare: $sql" ;; esac
	done
	for what in 'i["steps"]' 'i["ranks"]' 'len(i["processes"])' 'sorted((p["rank"], p["exit"], p["end"]) for p in i["processes"])' 'i["dropped_events"]' \
		'len(i["open_slices"])'; do
		[ "$(info "$1" "$what")" = "$(info "$2" "$what")" ] || fail "$what: $(info "$1" "$what") in $1, $(info "$2" "$what") in $2"
	done
}

# --- what is missing is named --------------------------------------------------------------------

mkdir empty
PATH=$work/empty "$TACHO" record -q --engine lttng -o none.tacho -- ./job 1 2>record.err
[ $? = 2 ] || fail "without lttng the exit status is not 2"
grep -q 'no program lttng; install lttng-tools' record.err || fail "lttng is not named"
[ ! -e none.tacho ] || fail "a run was left behind"
for wrong in "--engine lttgn" "--lttng-url net://localhost" "--engine lttng --start-later" "--engine lttng --max-size 1G"; do
	# shellcheck disable=SC2086
	"$TACHO" record -q $wrong -o none.tacho -- ./job 1 2>record.err && fail "'$wrong' is taken"
done
mkdir bin
printf '#!/bin/sh\necho "Error: There is no such daemon" >&2\nexit 1\n' >bin/lttng
chmod +x bin/lttng
PATH=$work/bin:$PATH "$TACHO" record -q --engine lttng -o none.tacho -- ./job 1 2>record.err && fail "a failing lttng is taken"
grep -q 'lttng create: There is no such daemon' record.err || fail "why lttng failed is not told"

# --- the same by both engines --------------------------------------------------------------------

start_daemon
echo "session=mine" >.lttngrc
./job 5000 >plain.out 2>plain.err || exit 1
"$TACHO" record -q --probes alloc -o own.tacho -- ./job 5000 >job.out 2>record.err || fail "own engine"
"$TACHO" record -q --probes alloc --engine lttng -o ust.tacho -- ./job 5000 >job.out 2>record.err || fail "LTTng as the engine"
cmp plain.out job.out && cmp plain.err record.err || fail "the job's output differs"
same own.tacho ust.tacho "'annotation', 'span'"
[ "$(info ust.tacho 'i["dropped_events"]')" = 0 ] || fail "records were lost"
[ "$(rows ust.tacho "select count(*) from slice where name = 'again'")" = 5000 ] || fail "5000 slices 'again'"
"$TACHO" report ust.tacho >report.txt || fail "no report"
"$TACHO" export ust.tacho --to chrome -o ust.json || fail "no export"
babeltrace2 ust.tacho/lttng >ust.txt 2>bt.err || fail "babeltrace2: $(cat bt.err)"
[ "$(grep -c 'tacho_record:annotation: .* name = "again"' ust.txt)" = 5000 ] || fail "LTTng's trace has not 5000 events of 'again'"
lttng --no-sessiond list | grep -q tacho- && fail "a session is left behind"
[ "$(cat .lttngrc)" = "session=mine" ] || fail "the user's current session is another"
"$TACHO" record -q --probes alloc --engine lttng --force -o ust.tacho -- ./job 1 >/dev/null 2>record.err || fail "--force"

# the trace by itself, as a relay daemon leaves it, is read as a run
cp -r ust.tacho/lttng alone
[ "$(rows alone "select count(*) from slice")" = "$(rows ust.tacho "select count(*) from slice")" ] || fail "the trace by itself"

if /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null; then
	for engine in tacho lttng; do
		OMP_NUM_THREADS=1 "$TACHO" record -q -n 2 --engine $engine -o ddp-$engine.tacho -- /usr/bin/python3 \
			"$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 12 --batch 4 >ddp-$engine.out 2>record.err || fail "DDP by $engine"
		sort -o ddp-$engine.out ddp-$engine.out
	done
	cmp ddp-tacho.out ddp-lttng.out || fail "the job's output differs"
	same ddp-tacho.tacho ddp-lttng.tacho "'op', 'annotation', 'module', 'collective', 'kernel'"
	[ "$(info ddp-lttng.tacho 'i["steps"] > 5')" = True ] || fail "steps of the DDP job"
fi

# --- through a relay daemon, live ----------------------------------------------------------------

port=$((20000 + RANDOM % 10000))
mkdir relay
lttng-relayd --output="$work/relay" -C tcp://127.0.0.1:$port -D tcp://127.0.0.1:$((port + 1)) -L tcp://127.0.0.1:$((port + 2)) >relayd.log 2>&1 &
relayd=$!
daemons+=($relayd)
until_true 30 grep -q ":$(printf %04X $((port + 2)))" /proc/net/tcp || fail "no relay daemon: $(cat relayd.log)"
"$TACHO" record -q --probes alloc --engine lttng --lttng-url net://127.0.0.1:$port:$((port + 1)) -o far.tacho -- ./endless 1000 2>record.err &
recorder=$!
until_true 30 grep -q lttng_session far.tacho/run.ini || fail "no session"
session=$(sed -n 's/^lttng_session=//p' far.tacho/run.ini)
timeout 60 babeltrace2 --input-format=lttng-live "net://127.0.0.1:$((port + 2))/host/$(hostname)/$session" >live.txt 2>live.err &
viewer=$!
until_true 50 grep -q 'tacho_record:end: .* name = "inner"' live.txt || fail "nothing was read live: $(cat live.err)"
kill -0 $recorder || fail "it was read when it was over"
# the job is killed: what it had written is there
pkill -9 -P $recorder -x endless
wait $recorder 2>/dev/null
wait $viewer 2>/dev/null
"$TACHO" info far.tacho >far.txt 2>&1 && fail "what is elsewhere is read"
grep -q "LTTng sent what it recorded to net://127.0.0.1" far.txt || fail "where it is, is not told: $(cat far.txt)"
relay=$(echo relay/*/"$session"*)
[ "$(rows "$relay" "select count(*) > 100 from slice where name = 'inner'")" = 1 ] || fail "what the relay daemon wrote is not read"
[ "$(info "$relay" 'len(i["open_slices"])')" -ge 1 ] || fail "no slice is open at the kill"

# --- killed --------------------------------------------------------------------------------------

# the relay daemon is killed: the job goes on to its end, and what had come to the daemon is there
"$TACHO" record -q --probes alloc --engine lttng --lttng-url net://127.0.0.1:$port:$((port + 1)) -o cut.tacho -- \
	sh -c './endless 1000 & sleep 12; kill $!; wait; echo over' >job.out 2>record.err &
recorder=$!
until_true 30 grep -q lttng_session cut.tacho/run.ini || fail "no session"
session=$(sed -n 's/^lttng_session=//p' cut.tacho/run.ini)
has_come() {
	relay=$(echo relay/*/"$session"*)
	[ "$(rows "$relay" "select count(*) > 100 from slice where name = 'inner'")" = 1 ]
}
until_true 30 has_come || fail "nothing has come to the relay daemon"
kill -9 $relayd
wait $recorder
[ "$(cat job.out)" = over ] || fail "the job did not go on without the relay daemon"
has_come || fail "what had come to the relay daemon is not read"

# tacho record is killed: the job goes on, the session too
"$TACHO" record -q --probes alloc --engine lttng -o orphan.tacho -- ./endless 1000 2>record.err &
recorder=$!
until_true 30 sh -c "'$TACHO' info orphan.tacho --json | grep -q '\"annotation\"'" || fail "a run cannot be read while it is recorded"
job=$(pgrep -P $recorder -x endless)
kill -9 $recorder
wait $recorder 2>/dev/null
before=$(rows orphan.tacho "select count(*) from slice")
sleep 2.5
kill -0 "$job" || fail "the job did not go on"
after=$(rows orphan.tacho "select count(*) from slice")
[ "$after" -gt "$before" ] || fail "the session did not go on: $before, $after"
kill -9 "$job"
lttng destroy "$(sed -n 's/^lttng_session=//p' orphan.tacho/run.ini)" >/dev/null || fail "the session is gone"
[ "$(info orphan.tacho 'i["processes"][0]["end"]')" != running ] || fail "the job seems to run"

# LTTng has no room: what writes its buffers out stands still
"$TACHO" record -q --probes alloc --engine lttng -o full.tacho -- ./endless 10 2>record.err &
recorder=$!
until_true 30 sh -c "'$TACHO' info full.tacho --json | grep -q '\"annotation\"'" || fail "nothing is recorded"
consumers=$(pgrep -P "$sessiond" lttng-consumerd)
# however slowly a busy machine lets the job fill them
for stands_s in 4 8 16 32; do
	# shellcheck disable=SC2086
	kill -STOP $consumers
	sleep $stands_s
	# shellcheck disable=SC2086
	kill -CONT $consumers
	sleep 1
	[ "$(info full.tacho 'i["dropped_events"] > 0')" = True ] && break
done
pkill -9 -P $recorder -x endless
wait $recorder 2>/dev/null
[ "$(info full.tacho 'i["dropped_events"] > 0')" = True ] || fail "no event was lost, or none was counted"
[ "$(info full.tacho '"lost_records" in {p["kind"] for p in i["trust"]["problems"]}')" = True ] || fail "what was lost is no problem"

# the session daemon is killed: the job goes on to its end, what had been written is there
"$TACHO" record -q --probes alloc --engine lttng -o lone.tacho -- sh -c './endless 1000 & sleep 12; kill $!; wait; echo over' >job.out 2>record.err &
recorder=$!
until_true 30 sh -c "'$TACHO' info lone.tacho --json | grep -q '\"annotation\"'" || fail "nothing is recorded"
kill -9 "$sessiond"
wait $recorder
[ "$(cat job.out)" = over ] || fail "the job did not go on"
grep -q 'session of LTTng could not be ended' record.err || fail "that the daemon is gone is not told"
[ "$(rows lone.tacho "select count(*) > 100 from slice where name = 'inner'")" = 1 ] || fail "what had been written is not there"
[ "$(info lone.tacho 'len(i["trust"]["problems"]) > 0')" = True ] || fail "that records are missing is no problem"

# none runs: one is started
"$TACHO" record -q --probes alloc --engine lttng -o again.tacho -- ./job 10 >/dev/null 2>record.err || fail "no daemon was started"
[ "$(rows again.tacho "select count(*) from slice where name = 'again'")" = 10 ] || fail "what the new daemon recorded"
for pid in $(pgrep lttng-sessiond); do
	tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "LTTNG_HOME=$work" && daemons+=("$pid")
done
exit 0
