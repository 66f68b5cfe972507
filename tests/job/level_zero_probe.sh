#!/usr/bin/env bash
# The Level Zero probe: the real loader with its tracing layer, and a driver of our own behind it. Each piece of work of the device is as long and where the driver had
# it, and belongs to its call; lists executed again, events used again, and what goes wrong end in right times or in lost records. There is no device in it.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
standins=$TACHO_BUILD_DIR/tests/standins
job=$standins/level_zero_job
[ -x "$job" ] || { echo "built without Level Zero's headers and loader"; exit 77; }
export ZE_ENABLE_ALT_DRIVERS=$standins/level_zero/libstandin_level_zero.so
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
score() { "$TACHO" info run --json | grep -o '"score":[0-9]*' | head -1 | cut -d: -f2; }
lost() { "$TACHO" info run --json | grep -o '"dropped_events":[0-9]*' | head -1 | cut -d: -f2; }
kernels() { ask "select count(*) from slice s join gpu_track t on t.id = s.track_id where s.category = 'kernel'"; }
# record FAULTS SCENARIO [N]
record() {
	local faults=$1
	shift
	rm -f truth
	STANDIN_FAULTS=$faults STANDIN_TRUTH=$work/truth timeout 60 "$TACHO" record -q --probes all,level_zero --force -o run -- "$job" "$@" >out 2>err
	[ "$(cat out)" = done ] || wrong "'$faults' $*: $(cat out err)"
}
quiet() { [ ! -s err ] || wrong "$1: $(cat err)"; }

cat >compare.py <<'END_PYTHON'
"""compare.py LOST: what the device did is in the run, as the driver had it, but LOST pieces of work."""
import bisect, csv, os, statistics, subprocess, sys
out = subprocess.run([os.environ["TACHO"], "query", "run", "--format", "csv", "select s.ts, s.dur, s.name, s.category, c.ts as call_ts from slice s "
                      "join gpu_track t on t.id = s.track_id left join slice c on c.id = s.launch_id order by s.ts"], check=True, capture_output=True, text=True).stdout
found = list(csv.DictReader(out.splitlines()))
words = {"kernel": "kernel", "copy": "memcpy", "fill": "memset", "barrier": "sync"}
told = sorted((int(start), int(end) - int(start), words[kind]) for kind, start, end in (line.split() for line in open("truth")))
lost = int(sys.argv[1])
if len(found) + lost != len(told):
    sys.exit(f"{len(found)} pieces of work are told, {lost} lost, {len(told)} were")
# the run's times begin with its first record; its ticks have 52 ns
shift = None
if found and not lost:
    # of one kind and length by time: what threads begin within the clock's error may change places
    def kind_of(row):
        of = [one[1:] for one in told if one[2] == row["category"] and abs(int(row["dur"]) - one[1]) <= 120]
        return (of or sys.exit(f"{row} was not told"))[0]
    found.sort(key=lambda row: (kind_of(row), int(row["ts"])))
    told.sort(key=lambda one: (one[1:], one[0]))
    shift = statistics.median(int(row["ts"]) - one[0] for row, one in zip(found, told))
    for row, one in zip(found, told):
        if row["category"] != one[2] or abs(int(row["dur"]) - one[1]) > 120 or abs(int(row["ts"]) - one[0] - shift) > 20000:
            sys.exit(f"{row} is not {one}, {shift} apart")
else:
    lengths = {}
    for one in told:
        lengths.setdefault(one[2], set()).add(one[1])
    for row in found:
        if not any(abs(int(row["dur"]) - ns) <= 120 for ns in lengths[row["category"]]):
            sys.exit(f"{row} was not told")
for row in found:
    if not row["call_ts"] or int(row["call_ts"]) > int(row["ts"]) + 2000:
        sys.exit(f"{row} has no call, or is before it")
    if row["category"] == "kernel" and abs(int(row["dur"]) - int(row["name"].split("_")[1])) > 120:
        sys.exit(f"{row} has another kernel's time")
END_PYTHON
same() { /usr/bin/python3 compare.py "$(lost)" || wrong "$1: not what the device did"; }

record "" train 10
quiet train
[ "$(score)" = 100 ] || wrong "trust is $(score): $("$TACHO" info run)"
[ "$(lost)" = 0 ] || wrong "$(lost) records are lost"
same train
[ "$(ask "select s.name, count(*) from slice s join gpu_track t on t.id = s.track_id where t.device = 0 group by 1 order by 1" | paste -sd' ')" = \
	"Memcpy,10 Memcpy DtoH,10 Memcpy HtoD,10 Memcpy PtoP,10 Memset,10 add_10000,10 barrier,10 gemm_40000,10" ] ||
	wrong "other work: $(ask "select s.name, count(*) from slice s join gpu_track t on t.id = s.track_id group by 1 order by 1" | paste -sd' ')"
[ "$(ask "select name, multiprocessors from device" | head -1)" = "Stand-in Max 0,64" ] || wrong "device: $(ask "select name, multiprocessors from device")"
[ "$(ask "select count(*), sum(bytes) from memory")" = 80,0 ] || wrong "memory: $(ask "select count(*), sum(bytes) from memory")"
[ "$(ask "select count(*) from slice where category = 'runtime' and name in ('zeCommandQueueExecuteCommandLists', 'zeCommandListAppendLaunchKernel', 'zeModuleCreate', 'zeContextDestroy')")" = 32 ] ||
	wrong "calls: $(ask "select name, count(*) from slice where category = 'runtime' group by 1" | paste -sd' ')"
[ "$(ask "select count(*) from gpu_track where name like 'queue %, ordinal 1' or name like 'queue %, ordinal 0, immediate'")" = 2 ] || wrong "queues: $(ask "select name from gpu_track")"
[ "$(ask "select min(value) >= 0, max(value) < 100000 from counter c join counter_track t on t.id = c.track_id where t.name like 'Level Zero clock error ns%'")" = 1,1 ] ||
	wrong "nobody says how exact the clock is"
[ "$(ask "select distinct string_value from args where key = 'args.grid'" | head -1)$(ask "select count(*) from args where key like '%grid%'")" != 0 ] || wrong "no groups"
[ "$(ask "select count(*) from flow f join slice s on s.id = f.slice_out where s.name = 'zeCommandListAppendLaunchKernel'")" -ge 20 ] ||
	wrong "what was executed is not tied to what was put into the list"

# programs that look functions up by themselves
LOOKED_UP=1 record "" train 5
same "looked up"
[ "$(kernels)" = 10 ] || wrong "looked up: $(kernels) kernels"

record "" twice
same twice
[ "$(kernels),$(lost)" = 5,2 ] || wrong "twice: $(kernels) kernels, $(lost) lost"
record "" reuse 20
quiet reuse
same reuse
[ "$(kernels),$(lost)" = 20,0 ] || wrong "reuse: $(kernels) kernels, $(lost) lost"
record "" overwrite
same overwrite
[ "$(ask "select count(*), min(abs(dur - 10000) <= 120) from slice s join gpu_track t on t.id = s.track_id"),$(lost)" = 2,1,2 ] ||
	wrong "overwrite: $(ask "select s.name, s.dur from slice s join gpu_track t on t.id = s.track_id"), $(lost) lost"
record "" flight 3
same flight
record "" threads 50
quiet threads
same threads
[ "$(kernels)" = 400 ] || wrong "threads: $(kernels) kernels"

# what goes wrong
for fault in late zero never; do
	record $fault train 40
	same $fault
	[ "$(lost)" != 0 ] && "$TACHO" info run | grep -q "lost records" || wrong "$fault: nothing is counted as lost"
	[ "$(score)" -lt 100 ] || wrong "$fault: trust is $(score)"
done
# the clock is read again where a time cannot be, so that the times behind the jump are right
record jump train 40
same jump
record zero,fails train 40
same "zero,fails"
[ "$(ask "select count(*) from slice where name like 'Level Zero failed%'")" != 0 ] || [ "$(ask "select count(*) from instant where name like 'Level Zero failed%'" 2>/dev/null)" != 0 ] ||
	wrong "nobody says that calls fail"
record noclock train 5
grep -q "does not tell its clock" err || wrong "noclock: $(cat err)"
[ "$(kernels)" = 0 ] || wrong "noclock: kernels"
record noevents train 5
grep -q "times of some Level Zero commands are missing" err || wrong "noevents: $(cat err)"

# not unless it is asked for; a user's own switch
"$TACHO" record -q --force -o run -- "$job" train 2 >out 2>err
[ "$(cat out)" = done ] && [ "$(ask "select count(*) from slice where name like 'ze%'")" = 0 ] || wrong "the probe is used though nobody asks for it"
ZE_ENABLE_TRACING_LAYER=0 "$TACHO" record -q --probes level_zero --force -o run -- "$job" train 2 >out 2>err
[ "$(cat out)" = done ] && [ "$(ask "select count(*) from slice where name like 'ze%'")" = 0 ] || wrong "a switch that the user has set is changed"
[ "$(LD_PRELOAD=$TACHO_BUILD_DIR/lib/tacho/libtacho.so:$TACHO_BUILD_DIR/lib/tacho/libtacho_level_zero.so "$job" train 2 2>&1)" = done ] || wrong "the library without a run does something"

# all in one program, which the sanitizers see where they are built in
for fault in "" late zero never jump fails noclock noevents; do
	for scenario in train twice reuse overwrite flight threads; do
		rm -rf whole
		mkdir whole
		STANDIN_FAULTS=$fault ZE_ENABLE_TRACING_LAYER=1 TACHO_RUN_DIR=whole ASAN_OPTIONS=detect_leaks=0 timeout 60 "${job}_whole" $scenario 5 >out 2>err ||
			wrong "whole, '$fault' $scenario: ended with $?"
		[ "$(cat out)" = done ] || wrong "whole, '$fault' $scenario: $(head -20 out err)"
		! grep -q 'ERROR:\|WARNING:\|runtime error' err || wrong "whole, '$fault' $scenario: $(head -30 err)"
		ls whole/*/metadata >/dev/null || wrong "whole, '$fault' $scenario: nothing was recorded"
	done
done
exit $failed
