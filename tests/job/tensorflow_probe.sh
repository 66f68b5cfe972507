#!/usr/bin/env bash
# The TensorFlow probe. On a stand-in, whose functions have the names and arguments of TensorFlow's: who waits at a rendezvous, both ends of requests, threads,
# keys that are none, answers that never come or come twice, events of TensorFlow's profiler. With a real TensorFlow, where TACHO_TF_PYTHON names a Python that has it: two devices of one
# process, workers and parameter servers, whose losses are as without tacho.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
job=$TACHO_BUILD_DIR/tests/standins/tensorflow_job
[ -x "$job" ] || { echo "not built: the probe is for x86-64"; exit 77; }
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
record() {
	timeout 60 "$TACHO" record -q --force --probes tensorflow -o run -- "$job" "$library" "$@" >out 2>err || wrong "$*: ended with $?: $(cat out err)"
	[ ! -s err ] || wrong "$*: said: $(cat err)"
	"$TACHO" info --json run | grep -q '"score":100' || wrong "$*: trust: $("$TACHO" info run)"
}
# what the stand-in sleeps before the second comes
is_wait() { [ "$(ask "select count(*) from slice where name = '$1' and dur between 3000000 and 60000000")" = "$2" ] || wrong "$1: $(ask "select name, dur from slice")"; }

for age in old new; do
library=$TACHO_BUILD_DIR/tests/standins/tensorflow/$age/libtensorflow_framework.so.2
record rendezvous 6
is_wait 'rendezvous: edge_1_late_consumer' 3
is_wait 'rendezvous: edge_2_late_producer' 3
[ "$(ask "select name, count(*), min(a.int_value), max(a.int_value) from slice s left join args a on a.arg_set_id = s.arg_set_id and a.key = 'id'
	where name like 'rendezvous%' group by 1 order by 1")" = $'"rendezvous: edge_1_late_consumer",3,1024,1024\n"rendezvous: edge_2_late_producer",3,,' ] ||
	[ "$(ask "select count(*) from slice s join args a on a.arg_set_id = s.arg_set_id and a.key = 'id' where a.int_value = 1024")" = 3 ] || wrong "bytes of tensors"
"$TACHO" report run --view latency --json | grep -q '"kind":"rendezvous"' || wrong "the latency view has no rendezvous"

record requests 5
[ "$(ask "select s.name, a.string_value, count(*) from slice s join args a on a.arg_set_id = s.arg_set_id and a.key = 'side' group by 1, 2 order by 1, 2" | tr -d '"' | paste -sd' ')" = \
	"RecvBuf,client,5 RecvBuf,server,5 RecvTensor: edge_3_weights,client,5 RecvTensor: edge_3_weights,server,5" ] || wrong "requests: $(ask "select name from slice")"
[ "$(ask "select count(*), count(distinct slice_out), count(distinct slice_in) from flow where category = 'request'")" = 10,10,10 ] || wrong "requests are no pairs"
# a server has 2 ms of the client's 3
[ "$(ask "select count(*) from flow f join slice c on c.id = f.slice_out join slice s on s.id = f.slice_in where c.name like 'RecvTensor%' and c.dur - s.dur between 1000000 and 60000000
	and s.dur between 2000000 and 60000000 and s.ts - c.ts between 500000 and 60000000")" = 5 ] || wrong "times of requests"
[ "$(ask "select a.key, a.int_value, count(*) from slice s join args a on a.arg_set_id = s.arg_set_id and a.key in ('sent_bytes', 'received_bytes') and a.int_value > 0
	where s.name like 'Recv%' group by 1, 2 order by 1, 2" | tr -d '"' | paste -sd' ')" = "received_bytes,65536,5 sent_bytes,4096,5 sent_bytes,65536,5" ] || wrong "bytes of requests"
[ "$(ask "select count(*), min(a.int_value) from slice s join args a on a.arg_set_id = s.arg_set_id and a.key = 'id' where s.name = 'EncodeTensorToByteBuffer'")" = 5,4096 ] ||
	wrong "what was encoded"
"$TACHO" report run --view latency --json >latency.json
for kind in client server network request; do grep -q "\"kind\":\"$kind\"" latency.json || wrong "the latency view has no $kind"; done

# four rendezvous at once, each with the same keys
record threads 50
[ "$(ask "select count(*) from slice where name like 'rendezvous: edge%' and dur between 3000000 and 90000000")" = 200 ] || wrong "threads: $(ask "select count(*), min(dur), max(dur) from slice where name like 'rendezvous%'")"

# both at once: each wait ends, whoever was first
record race 4000
n=$(ask "select count(*) from slice where name = 'rendezvous: edge_6_race'")
[ "$n" -ge 4000 ] && [ "$n" -le 4400 ] || wrong "race: $n waits of 4000"
[ "$(ask "select count(*) from slice s join args a on a.arg_set_id = s.arg_set_id and a.key = 'open'")" = 0 ] || wrong "race: a wait did not end"

# names are kept, to an end
record names 3000
[ "$(ask "select count(*), count(distinct name) from slice where name like 'rendezvous: edge_%'")" = 6000,3000 ] || wrong "names: $(ask "select count(*), count(distinct name) from slice")"
record names 5000 # one more is what the probe measured its cost with
[ "$(ask "select count(*), count(distinct name) from slice where name like 'rendezvous%'")" = 10000,4096 ] || wrong "too many names: $(ask "select count(*), count(distinct name) from slice")"

# TensorFlow's own profiler has whole events: the stand-in says what it has not
timeout 60 "$TACHO" record -q --force --probes tensorflow -o run -- "$job" "$library" profile 200 >out 2>err || wrong "profile: ended with $?: $(cat out err)"
timeout 60 "$job" "$library" profile 200 >out 2>err && wrong "without the probe TensorFlow's profiler has whole events as well: is it needed?"

# what is not over is left open, and what is no key is left out
timeout 60 "$TACHO" record -q --force --probes tensorflow -o run -- "$job" "$library" strange 4 >out 2>err || wrong "strange: ended with $?: $(cat out err)"
[ ! -s err ] || wrong "strange: said: $(cat err)"
[ "$(ask "select count(*) from slice where name like 'RecvTensor%'")" = 16 ] || wrong "strange: $(ask "select name, count(*) from slice group by 1")"
[ "$(ask "select count(*) from slice s join args a on a.arg_set_id = s.arg_set_id and a.key = 'open' where s.name like 'RecvTensor%'")" = 8 ] || wrong "strange: none is open"
[ "$(ask "select count(*) from slice where name like 'rendezvous%'")" = 1 ] || wrong "strange: keys"

# without the probe, and while nothing is recorded, the job is the same
for steps in "" "--steps 100:101"; do
	timeout 60 "$TACHO" record -q --force --probes tensorflow $steps -o run -- "$job" "$library" requests 3 >out 2>err || wrong "requests $steps: ended with $?"
done
[ "$(ask "select count(*) from slice where name like 'Recv%'")" = 0 ] || wrong "--steps records requests"

# all in one program, which the sanitizers see where they are built in
rm -rf whole
mkdir whole
TACHO_RUN_DIR=$PWD/whole ASAN_OPTIONS=detect_leaks=0 timeout 60 "${job}_whole" "$library" profile 200 >out 2>err || wrong "whole, profile: ended with $?: $(head -20 err)"
for way in rendezvous requests threads race strange; do
	rm -rf whole
	mkdir whole
	TACHO_RUN_DIR=$PWD/whole ASAN_OPTIONS=detect_leaks=0 timeout 60 "${job}_whole" "$library" $way 4 >out 2>err || wrong "whole, $way: ended with $?: $(head -20 err)"
	"$TACHO" query --format csv whole "select count(*) > 0 from slice where name like 'rendezvous: %' or name like 'RecvTensor%'" | grep -qx 1 || wrong "whole, $way: nothing was recorded"
done
done

python=${TACHO_TF_PYTHON:-}
if [ -n "$python" ]; then
	jobs=$TACHO_SOURCE_DIR/tests/job/tensorflow_jobs.py
	for kind in devices workers servers; do
		"$python" "$jobs" "$kind" 30 2>plain.err | grep '^loss' | sort >plain.txt
		"$TACHO" record -q --force -o run -- "$python" "$jobs" "$kind" 30 2>recorded.err | grep '^loss' | sort >recorded.txt
		[ -s plain.txt ] && cmp plain.txt recorded.txt || { wrong "$kind: other results"; tail -20 recorded.err; }
		echo "$kind: $(ask "select case when name like 'rendezvous%' then 'rendezvous' when name like 'RecvTensor%' then 'RecvTensor' else name end as what, count(*), count(distinct name)
			from slice where name like 'rendezvous%' or name like 'RecvTensor%' or name = 'RecvBuf' or name = 'EncodeTensorToByteBuffer' group by 1" | paste -sd' ')"
		n_requests=$(ask "select count(*) from slice s join args a on a.arg_set_id = s.arg_set_id and a.key = 'side' and a.string_value = 'client'")
		n_pairs=$(ask "select count(*) from flow join slice s on s.id = slice_out where flow.category = 'request' and s.name like 'Recv%'")
		case $kind in
		devices) [ "$(ask "select count(*) from slice where name like 'rendezvous: %'")" -ge 30 ] || wrong "devices: no rendezvous" ;;
		*) [ "$n_requests" -ge 30 ] && [ "$n_pairs" -ge $((n_requests * 9 / 10)) ] || wrong "$kind: $n_requests requests, $n_pairs pairs" ;;
		esac
	done
fi
exit $failed
