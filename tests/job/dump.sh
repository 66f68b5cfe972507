#!/usr/bin/env bash
# The flight recorder: record --keep-last keeps the newest part only, dump and watch --dump keep that part while the job goes on,
# and what was kept is a whole run: no record is damaged, and the run it was taken from goes on as if nothing had been.
set -eu
work=$(mktemp -d)
record=
trap '[ -z "$record" ] || kill $record 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
export XDG_RUNTIME_DIR=$work
${CC:-cc} -O2 -D_GNU_SOURCE -I"$TACHO_SOURCE_DIR/include" -x c - -o job -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <tacho/mark.h>

/* Two threads mark steps of a millisecond with a hundred ranges each, until a file is there. */
static void *work(void *name)
{
	uint32_t known = 0;

	for (long step = 0; access("end", F_OK) != 0; step++) {
		tacho_mark_range range;

		if (strcmp(name, "first") == 0)
			TACHO_MARK_STEP(step);
		range = tacho_mark_begin_kept(&known, name, (uint64_t)step);
		for (int i = 0; i < 100; i++)
			tacho_mark_end(TACHO_MARK_BEGIN("part"));
		usleep(1000);
		tacho_mark_end(range);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, "second");
	work("first");
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
END
value() { "$TACHO" query --format csv "$1" "$2" | tail -1; }
whole() { # a run that is read without a complaint but that it is a part
	"$TACHO" info --json "$1" >info.json || { cat info.json; return 1; }
	/usr/bin/python3 - "$1" <<'END'
import json, sys
info = json.load(open("info.json"))
kinds = {problem["kind"] for problem in info["trust"]["problems"]}
assert not kinds & {"damaged", "unreadable"}, kinds
END
	if command -v babeltrace2 >/dev/null; then
		babeltrace2 "$1" >events 2>problems || { head -5 problems; return 1; }
	fi
}

"$TACHO" record -q --probes none --keep-last 2s -o job.tacho -- ./job >out 2>err &
record=$!
for ((i = 0; i < 300 && $(ls job.tacho/*/0-*.1* 2>/dev/null | wc -l) == 0; i++)); do sleep 0.1; done
sleep 8
"$TACHO" dump job.tacho -o kept.tacho 2>said
grep -q 'tacho report kept.tacho' said
[ "$(stat -c %a kept.tacho)" = 700 ]
kill -0 $record
"$TACHO" dump -q job.tacho
[ "$(ls -d job-2*.tacho | wc -l)" = 1 ]
touch end
wait $record
record=
[ "$(cat out)" = done ] || { cat out err; exit 1; }
for run in kept.tacho job-2*.tacho job.tacho; do
	whole "$run" || { echo "$run is not whole"; exit 1; }
done
# the newest two seconds are there, and not much more; both threads
for run in kept.tacho job.tacho; do
	seconds=$(value $run "select (max(ts) - min(ts)) / 1e9 from slice where name = 'part' and track_id = (select track_id from slice where name = 'first' limit 1)")
	awk -v s="$seconds" 'BEGIN { exit !(s > 1.5 && s < 7.5) }' || { echo "$run has $seconds s"; exit 1; }
	[ "$(value $run "select count(distinct name) from slice where name in ('first', 'second')")" = 2 ]
done
# steps follow each other without a hole
value kept.tacho "select count(*) - 1 - (max(a.int_value) - min(a.int_value)) from slice s join args a on a.arg_set_id = s.arg_set_id and a.key = 'id'
	where s.name = 'first'" | grep -qx 0 || { echo "kept.tacho has holes"; exit 1; }
grep -q 'keep-last' job.tacho/losses || { cat job.tacho/losses; exit 1; }

# what cannot be
! "$TACHO" dump 2>said && grep -q 'name one run' said || exit 1
! "$TACHO" dump nowhere.tacho 2>said && grep -q 'is no run' said || exit 1
! "$TACHO" dump job.tacho -o kept.tacho 2>said && grep -q exists said || exit 1
mkdir empty
! "$TACHO" dump empty -o other 2>said && grep -q 'is no run' said || exit 1
[ ! -e other ] && [ -z "$(ls -d .other* 2>/dev/null)" ]
! "$TACHO" record --keep-last soon -- true 2>said && grep -q 'is a time' said || exit 1
if [ -w /dev/full ] && ! "$TACHO" dump job.tacho -o /proc/nothing 2>said; then grep -q nothing said; fi

# a rank that fails is found, and what led to it is kept
rm -f end
mkdir kept
"$TACHO" record -q --probes none -n 2 -o failing.tacho -- bash -c '[ $RANK = 0 ] && exec ./job; timeout -s KILL 4 ./job; exit 3' >out 2>err &
record=$!
sleep 2
status=0
timeout 60 "$TACHO" watch failing.tacho --first --dump kept --seconds 30 >found 2>said || status=$?
if [ $status = 1 ]; then
	whole kept/failing-*.tacho || { cat said; exit 1; }
	[ "$(value kept/failing-*.tacho "select count(*) > 1000 from slice where name = 'part'")" = 1 ]
else
	echo "nothing was found: status $status"; cat found said
	exit 1
fi
touch end
wait $record || true
record=
