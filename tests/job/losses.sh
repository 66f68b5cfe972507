#!/usr/bin/env bash
# A job goes on, and its run says what was lost, where next to nothing can be written: a disk of 100 kB, a
# limit on the size of files, files that somebody cuts while they are mapped.
set -u
work=$(mktemp -d)
failed=0
trap 'umount -l "$work/mount" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
${CC:-cc} -O1 -Wall -D_GNU_SOURCE "$TACHO_SOURCE_DIR/tests/job/guest_job.c" -o guest_job -lpthread || exit 1
ulimit -c 0

limit=unlimited

wrong() {
	echo "$name: $*"
	failed=1
}

# as_without RUN COMMAND...: its output and exit code are the same with and without tacho
as_without() {
	local run=$1
	shift
	{ (ulimit -f $limit; exec timeout 300 "$@" 2>&1) | cat >plain.out; } 2>/dev/null
	local plain=${PIPESTATUS[0]}
	{ (ulimit -f $limit
	exec timeout 300 "$TACHO" record --force -q --probes alloc,blas,dnn,socket,python -o "$run" -- "$@" 2>&1) |
		cat >job.all; } 2>/dev/null
	local status=${PIPESTATUS[0]}
	grep -v '^tacho: ' job.all >job.out
	grep '^tacho: ' job.all >job.err
	[ $status = $plain ] || wrong "exit code $status, without tacho $plain: $(cat job.err)"
	cmp -s plain.out job.out || wrong "its output differs"
}

# distrusted RUN: there is a run, and it says that something is missing
distrusted() {
	"$TACHO" info "$1" --json >info.json 2>info.err || { wrong "tacho info: $(cat info.err)"; return; }
	python3 - <<-END || wrong "the run does not say what was lost: $(cat info.json | head -c 600)"
		import json
		info = json.load(open("info.json"))
		kinds = {problem["kind"] for problem in info["trust"]["problems"]}
		assert info["trust"]["score"] < 90, info["trust"]
		assert kinds & {"unrecorded_process", "lost_records", "truncated_file", "bad_packet"}, kinds
	END
}

if mkdir mount && mount -t tmpfs -o size=100k tmpfs mount 2>/dev/null; then
	name="a disk of 100 kB"
	as_without mount/run.tacho ./guest_job fill 1000
	distrusted mount/run.tacho
	umount -l mount
	for size in 8k 12k 16k 24k; do
		name="a disk of $size"
		mount -t tmpfs -o size=$size tmpfs mount
		as_without mount/run.tacho ./guest_job fill 1000
		[ ! -e mount/run.tacho/run.ini ] || distrusted mount/run.tacho
		umount -l mount
	done
else
	echo "a disk cannot be mounted here: those cases are left out"
fi

for limit in 0 1 4 5 16 1000 4000; do # kB
	name="files of at most $limit kB"
	rm -rf run.tacho
	as_without run.tacho ./guest_job fill 1000
	[ ! -e run.tacho/run.ini ] || distrusted run.tacho
done

limit=unlimited
name="a file of the recording is cut"
as_without cut.tacho ./guest_job cut
distrusted cut.tacho
name="a SIGBUS of the job's own"
as_without fault.tacho ./guest_job fault "$work/mapped"
name="a SIGBUS that the job catches"
as_without catch.tacho ./guest_job catch "$work/mapped"
[ $failed = 0 ] && echo "all as without tacho, and what was lost is told"
exit $failed
