#!/usr/bin/env bash
# The OpenCL probe on PoCL: kernels and copies against the program's own times of them; programs that do not profile, with two threads,
# with enqueues that fail, with events and callbacks of their own; devices whose clock is another one; a kill.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset OPENCL_LAYERS
calls=$TACHO_BUILD_DIR/tests/opencl_calls
shift_layer=$TACHO_BUILD_DIR/tests/libshift_layer.so
[ -x "$calls" ] || { echo "not built: no OpenCL"; exit 77; }
"$calls" profiled >/dev/null || { echo "no OpenCL device"; exit 77; }
failed=0
wrong() { echo "$*"; failed=1; }
record() { "$TACHO" record -q --force -o run -- "$calls" "$1" >out 2>err; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
queues="slice s join gpu_track t on t.id = s.track_id"

# times_are_right: as many kernels and copies as there were, as long as the program says, within 1 %; each behind its call, ended
# within what was waited for
times_are_right() {
	read -r kernels_ns copies_ns <out
	ask "select s.category, count(*), sum(s.dur) from $queues group by 1 order by 1" >sums
	awk -F, -v k="$kernels_ns" -v c="$copies_ns" 'function near(a, b) { return a >= b * 0.99 && a <= b * 1.01 }
		$1 == "kernel" { n += $2 == 100 && near($3, k) } $1 == "memcpy" { n += $2 == 100 && near($3, c) }
		END { exit n != 2 }' sums || wrong "$1: other sums: $(cat out sums)"
	ask "select count(*) from $queues join slice l on l.id = s.launch_id where s.ts >= l.ts and l.name like 'clEnqueue%'" | grep -qx 200 ||
		wrong "$1: kernels before their launches"
	ask "select count(*) from $queues, slice f where f.name = 'clFinish' and s.ts + s.dur > f.ts + f.dur" | grep -qx 0 ||
		wrong "$1: kernels behind the finish"
	ask "select min(c.value) < 100000 and min(c.value) > 0 from counter c join track t on t.id = c.track_id where t.name = 'OpenCL clock error ns'" |
		grep -qx 1 || wrong "$1: the clock's error is not told, or large"
	"$TACHO" info --json run | grep -q '"score":100' || wrong "$1: trust: $("$TACHO" info run)"
}

record profiled || wrong "profiled: $(cat out err)"
[ ! -s err ] || wrong "profiled said: $(cat err)"
times_are_right profiled
ask "select name from gpu_track" | grep -qx 'queue 1' || wrong "other tracks"
ask "select count(*) from args where key = 'args.block[0]' and int_value = 64" | grep -qx 100 || wrong "no shapes"
ask "select count(*) from args where key = 'args.bytes' and int_value = 262144" | grep -qx 100 || wrong "no bytes"
ask "select count(*) > 0 from device where name != '' and multiprocessors > 0 and memory_bytes > 0" | grep -qx 1 || wrong "no device"
ask "select count(*) from slice where name = 'clBuildProgram' and dur > 1000" | grep -qx 1 || wrong "no build"
"$TACHO" report --view queue --json run | grep -Eq '"(work|count)": *200' || wrong "no queue's depth"
[ "$("$TACHO" info --json run | grep -o '"record_cost_pct":[0-9.e-]*' | head -1)" != '"record_cost_pct":0' ] || wrong "it is said to cost nothing"

# clocks that are days away, that drift, that are told; one that drifts more than any should
export OPENCL_LAYERS=$shift_layer
for clock in SHIFT_NS=1000000000000000 'SHIFT_NS=-5000000 SHIFT_PPM=30' 'SHIFT_NS=77000000000 SHIFT_PPM=-30 SHIFT_TIMER=1'; do
	# shellcheck disable=SC2086
	env $clock "$TACHO" record -q --force -o run -- "$calls" profiled >out 2>err || wrong "$clock: $(cat out err)"
	times_are_right "$clock"
done
# a driver that makes no queue with profiling
SHIFT_DENY=1 "$TACHO" record --force -o run -- "$calls" unprofiled >out 2>err || wrong "denied: $(cat out err)"
grep -q 'is not recorded: its driver makes none with profiling' err || wrong "nobody says that nothing is seen: $(cat err)"
ask "select count(*) > 50 from slice where category = 'runtime'" | grep -qx 1 || wrong "no calls"
unset OPENCL_LAYERS

record unprofiled || wrong "unprofiled: $(cat out err)"
ask "select s.name, count(*) from $queues group by 1 order by 1" | tr '\n' ' ' | grep -qx 'ReadBuffer DtoH,1 scale,51 ' || wrong "unprofiled: other commands"

record threads || wrong "threads: $(cat out err)"
ask "select t.name, count(*) from $queues where s.name = 'scale' group by 1" | grep -c '^queue [1-6],200$' | grep -qx 6 || wrong "threads: other counts"
ask "select count(*) from slice a join slice b on a.track_id = b.track_id and a.id < b.id and b.ts < a.ts + a.dur join gpu_track t on t.id = a.track_id where b.ts >= a.ts" |
	grep -qx 0 || wrong "threads: kernels overlap in a queue"

"$calls" failing >expected
record failing || wrong "failing: $(cat out err)"
diff expected out || wrong "failing: other errors"
ask "select count(*) from $queues" | grep -qx 1 || wrong "failing: other commands"
if command -v babeltrace2 >/dev/null; then
	babeltrace2 ./run 2>&1 | grep -c 'OpenCL failed: clEnqueue' | grep -qx 8 || wrong "failing: failures are not marked"
fi

record user_events || wrong "user_events: $(cat out err)"
ask "select count(*), count(distinct s.track_id) from $queues where s.name = 'scale'" | grep -qx 16,16 || wrong "user_events: other kernels"

record commands || wrong "commands: $(cat out err)"
ask "select s.category, s.name, count(*) from $queues group by 1, 2 order by 1, 2" >slices
diff - slices <<-END || wrong "commands: other commands"
	kernel,add,1
	memcpy,CopyBuffer DtoD,1
	memcpy,MapBuffer DtoH,1
	memcpy,UnmapMemObject HtoD,1
	memcpy,WriteBufferRect HtoD,1
	memset,FillBuffer,1
	sync,BarrierWithWaitList,1
	sync,Marker,1
END

# other layers stay, and stay first; without the agent nothing is recorded, and the program runs
OPENCL_LAYERS=$shift_layer "$TACHO" record -q --force -o run -- sh -c 'echo "$OPENCL_LAYERS"' >out
grep -qx "$shift_layer:.*/libtacho_opencl.so" out || wrong "another layer's place: $(cat out)"
"$TACHO" record -q --force -o run --probes torch -- sh -c 'echo "-$OPENCL_LAYERS"' | grep -qx -- - || wrong "a probe that is not wanted is there"
OPENCL_LAYERS=$TACHO_BUILD_DIR/lib/tacho/libtacho_opencl.so TACHO_RUN_DIR=$work/none "$calls" unprofiled >out 2>err || wrong "without the agent: $(cat out err)"
[ ! -s err ] && [ ! -e none ] || wrong "without the agent: $(cat err)"
# some steps alone: a program without steps has none but the first
"$TACHO" record -q --force -o run --steps 5:6 -- "$calls" profiled >out 2>err || wrong "steps: $(cat out err)"
ask "select count(*) from slice where category = 'runtime'" | grep -qx 0 || wrong "what was not wanted is recorded"

"$TACHO" record -q --force -o run -- "$calls" endless 2>/dev/null &
recorder=$!
sleep 2
for child in $(cat /proc/$recorder/task/$recorder/children); do kill -9 "$child"; done
wait $recorder 2>/dev/null
ask "select count(*) > 10 from $queues where s.name = 'scale'" | grep -qx 1 || wrong "killed: no kernels"
if command -v babeltrace2 >/dev/null; then
	babeltrace2 ./run >events 2>&1 || wrong "babeltrace2: $(tail -1 events)"
fi
exit $failed
