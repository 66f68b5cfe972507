#!/usr/bin/env bash
# A recorded job is the job: same standard output, same exit code, its own words on standard error;
# and where something is not recorded, one sentence says so.
set -u
unset TACHO_START_KB # as users have it
work=$(mktemp -d)
failed=0
trap 'umount -l "$work"/mount* 2>/dev/null; chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work" || exit 1
cc=${CC:-cc}
$cc -O1 -Wall -D_GNU_SOURCE "$TACHO_SOURCE_DIR/tests/job/guest_job.c" -o guest_job -lpthread || exit 1
$cc -O1 -Wall -D_GNU_SOURCE -static "$TACHO_SOURCE_DIR/tests/job/guest_job.c" -o static_job -lpthread \
	2>/dev/null

wrong() {
	echo "$name: $*"
	failed=1
}

# runs PLAIN_COMMAND... : what the job does without tacho, into plain.*
runs() {
	{ timeout 300 "$@" <input >plain.out 2>plain.err; } 2>/dev/null
	plain_status=$?
}

# recorded SENTENCES TACHO_ARGUMENTS... : the same under tacho; SENTENCES is a pattern for tacho's only
# line, or "" where it has nothing to say, or "*" where it may.
recorded() {
	local sentence=$1
	shift
	{ timeout 300 "${tacho[@]}" record -q --probes alloc,blas,dnn,socket,python "$@" <input >job.out 2>job.err; } 2>/dev/null
	local status=$?
	[ $status = $plain_status ] || wrong "exit code $status, without tacho $plain_status"
	cmp -s plain.out job.out || wrong "standard output differs: $(diff plain.out job.out | head -3)"
	grep -v '^tacho' job.err | cmp -s - plain.err || wrong "standard error differs: $(cat job.err)"
	[ "$sentence" = "*" ] && return
	if [ -z "$sentence" ]; then
		grep '^tacho' job.err >/dev/null && wrong "said something: $(cat job.err)"
	else
		[ "$(grep -c '^tacho' job.err)" = 1 ] || wrong "not one sentence: $(cat job.err)"
		grep -q -- "$sentence" job.err || wrong "not the sentence '$sentence': $(cat job.err)"
	fi
}

# holds RUN NAME COUNT : babeltrace2 reads the run and finds that many slices of the name
holds() {
	local n
	babeltrace2 "$1"/*/ >trace.txt 2>bt.err || wrong "babeltrace2: $(head -3 bt.err)"
	n=$(grep -c -- "$2" trace.txt)
	[ "$n" = "$3" ] || wrong "$n slices named $2, not $3"
}

tacho=("$TACHO")
: >input

name=ordinary
runs ./guest_job work
recorded "" -o ordinary.tacho -- ./guest_job work
holds ordinary.tacho ' main:' 1000
holds ordinary.tacho ' thread:.*duration' 1000

name=exit
runs ./guest_job exit 7
recorded "" -o exit.tacho -- ./guest_job exit 7
holds exit.tacho ' main:' 1000

name=_exit
runs ./guest_job _exit 9
recorded "" -o _exit.tacho -- ./guest_job _exit 9
holds _exit.tacho ' main:' 1000

ulimit -c 0
for signal in TERM KILL SEGV ABRT; do
	name="signal $signal"
	runs ./guest_job signal "$(kill -l $signal)"
	recorded "" -o signal-$signal.tacho -- ./guest_job signal "$(kill -l $signal)"
	holds signal-$signal.tacho ' main:' 1000
done

name=fork
runs ./guest_job fork
recorded "" -o fork.tacho -- ./guest_job fork
holds fork.tacho ' worker:' 2000
holds fork.tacho ' after fork:' 100

name=exec
runs ./guest_job exec
recorded "" -o exec.tacho -- ./guest_job exec
holds exec.tacho ' main:' 2000

name="exec with an empty environment"
runs ./guest_job exec_clean
recorded "" -o exec_clean.tacho -- ./guest_job exec_clean
holds exec_clean.tacho ' main:' 1000

name="prints 10 MB"
runs ./guest_job print
recorded "" -o print.tacho -- ./guest_job print

name="reads its input"
seq 200000 >input
runs ./guest_job cat
recorded "" -o cat.tacho -- ./guest_job cat
: >input

name="reader of its output goes away"
runs bash -c './guest_job print | head -1; exit ${PIPESTATUS[0]}'
timeout 300 "$TACHO" record -q -o pipe.tacho -- ./guest_job print 2>job.err | head -1 >job.out
status=${PIPESTATUS[0]}
[ "$status" = $plain_status ] || wrong "exit code $status, without tacho $plain_status"

# ignored_signals FILE : the mask in a line "SigIgn: 0000000180000000", without signals 32 and 33. The C library keeps
# these for itself: 33 tells all threads to change their user, and a program that has had a second thread has a handler for
# it, which exec makes the default, so that whoever starts tacho with 33 ignored (some containers do) has a job without.
ignored_signals() {
	printf '%x\n' $((16#$(awk '{ print $2 }' "$1") & ~(1 << 31 | 1 << 32)))
}

name="ignored signals"
for mode in ignored usual; do
	[ $mode = usual ] || trap '' HUP INT PIPE
	grep SigIgn /proc/self/status >plain.out
	"$TACHO" record -q -o $mode.tacho -- grep SigIgn /proc/self/status >job.out
	trap - HUP INT PIPE
	[ "$(ignored_signals plain.out)" = "$(ignored_signals job.out)" ] ||
		wrong "$(cat plain.out) without tacho, with it $(cat job.out)"
done

name="closes all descriptors"
runs ./guest_job close
recorded "" -o close.tacho -- ./guest_job close
holds close.tacho ' more:' 10000

name="closes what it finds"
runs ./guest_job closing own
recorded "" -o closing.tacho -- ./guest_job closing own
holds closing.tacho ' closing:' 100000
"$TACHO" info --json closing.tacho | grep -q '"score":100' || wrong "trust: $("$TACHO" info closing.tacho)"

name="no descriptor left" # whether a file must be opened after that is a matter of time
soft_limit=$(ulimit -S -n)
ulimit -S -n 64
runs ./guest_job files
recorded "*" -o files.tacho -- ./guest_job files
ulimit -S -n "$soft_limit"

name=daemon
touch plain.daemon job.daemon
runs ./guest_job daemon plain.daemon
exec 9>lock
flock 9 # the daemon inherits it: it is free when the daemon is gone
recorded "" -o daemon.tacho -- ./guest_job daemon job.daemon
exec 9>&-
flock -w 300 lock true || wrong "the daemon does not end"
[ -e job.daemon.done ] || wrong "the daemon did not get through"
holds daemon.tacho ' daemon:' 1000

name="a shell with pipes and a background child"
runs bash -c 'echo a | tr a b; sleep 0.1 & wait; exit 5'
recorded "" -o shell.tacho -- bash -c 'echo a | tr a b; sleep 0.1 & wait; exit 5'

name="no such command"
timeout 300 "$TACHO" record -q -o none.tacho -- ./not_there >job.out 2>job.err
[ $? = 127 ] || wrong "exit code is not 127"
[ -s job.out ] && wrong "printed something"
[ "$(wc -l <job.err)" = 1 ] || wrong "not one sentence: $(cat job.err)"

name="not executable"
timeout 300 "$TACHO" record -q -o none.tacho -- ./input >job.out 2>job.err
[ $? = 126 ] || wrong "exit code is not 126"

if [ -x static_job ]; then
	name="statically linked"
	runs ./static_job exit 3
	recorded "statically linked" -o static.tacho -- ./static_job exit 3
fi

if [ "$(id -u)" = 0 ]; then
	name="set-uid"
	cp guest_job setuid_job && chown nobody setuid_job && chmod 4755 setuid_job
	runs ./setuid_job exit 3
	recorded "set-uid" -o setuid.tacho -- ./setuid_job exit 3

	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	if "${nobody[@]}" test -x "$TACHO" -a -x guest_job 2>/dev/null; then
		name="folder of another user"
		tacho=("${nobody[@]}" "$TACHO")
		mkdir -m 755 theirs
		runs ./guest_job exit 6
		recorded "nothing is recorded" -o theirs/run.tacho -- ./guest_job exit 6
		tacho=("$TACHO")
	else
		echo "no other user can run $TACHO: that case is left out"
	fi
fi

# full BYTES : the disk is full after that many
full() {
	umount -l mount 2>/dev/null
	mkdir -p mount && mount -t tmpfs -o "size=$1" tmpfs mount 2>/dev/null
}

if full 8m; then
	name="disk full in the middle"
	runs ./guest_job fill 400000
	recorded "No space left" -o mount/full.tacho -- ./guest_job fill 400000
	babeltrace2 mount/full.tacho/*/ >trace.txt 2>bt.err || wrong "babeltrace2: $(head -3 bt.err)"
	[ -s trace.txt ] || wrong "nothing was recorded before the disk was full"
	"$TACHO" info mount/full.tacho --json >info.json || wrong "tacho info cannot read it"
	python3 -c 'import json; assert json.load(open("info.json"))["dropped_events"] > 0' || wrong "no drops told"

	name="disk full from the beginning"
	full 8m
	dd if=/dev/zero of=mount/filler bs=4k 2>/dev/null
	recorded "nothing is recorded.*No space left" -o mount/full.tacho -- ./guest_job fill 400000

	name="read-only disk"
	mount -o remount,ro mount
	runs ./guest_job exit 6
	recorded "nothing is recorded" -o mount/ro.tacho -- ./guest_job exit 6
	umount -l mount
else
	echo "a disk cannot be mounted here: those cases are left out"
fi
[ $failed = 0 ] && echo "all as without tacho"
exit $failed
