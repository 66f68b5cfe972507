#!/usr/bin/env bash
# --max-size and --keep-free: the oldest records go, the newest stay, and what went is counted.
set -u
work=$(mktemp -d)
failed=0
trap 'umount -l "$work/mount" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
${CC:-cc} -O1 -D_GNU_SOURCE "$TACHO_SOURCE_DIR/tests/job/guest_job.c" -o guest_job -lpthread || exit 1

# check RUN: of 1,000,000 slices, 32 bytes each, some at the end are there, and the others are counted
check() {
	babeltrace2 "$1"/*/ | grep -o ' fill:.* id = [0-9]*' | grep -o '[0-9]*$' >ids
	"$TACHO" info "$1" --json >info.json || failed=1
	python3 - <<-END || failed=1
		import json
		ids = [int(line) for line in open("ids")]
		lost = json.load(open("info.json"))["dropped_events"]
		assert ids, "nothing is left"
		assert min(ids) > 100000, f"the oldest is still there: {min(ids)}"
		assert max(ids) > 990000, f"the newest is gone: {max(ids)}"
		assert abs(len(ids) + lost - 1000000) < 20, f"{len(ids)} there, {lost} lost"
	END
}

"$TACHO" record -q --probes none --max-size 16M -o size.tacho -- ./guest_job fill 1000000 >out 2>err
[ $? = 3 ] || { echo "exit code is not 3: $(cat err)"; failed=1; }
check size.tacho
kb=$(du -sk size.tacho | cut -f1)
[ "$kb" -le 16384 ] || { echo "the run takes $kb kB"; failed=1; }

# A step of which a thread has lost something is incomplete, whichever thread marked it.
"$TACHO" record -q --probes none --max-size 16M -o steps.tacho -- ./guest_job steps 1000000 >out 2>err
whole="(SELECT min(ts) FROM slice WHERE name = 'fill')"
"$TACHO" query steps.tacho --format csv "SELECT sum(is_complete AND ts < $whole) = 0 AS none_is_wrong,
	sum(NOT is_complete AND ts < $whole) > 3 AS some_are_partial,
	sum(is_complete) > 3 AS some_are_whole FROM step" >steps.csv
[ "$(tail -n 1 steps.csv)" = 1,1,1 ] || { echo "steps: $(cat steps.csv err)"; failed=1; }

if mkdir mount && mount -t tmpfs -o size=64m tmpfs mount 2>/dev/null; then
	"$TACHO" record -q --probes none --keep-free 44M -o mount/free.tacho -- ./guest_job fill 1000000 >out 2>err
	check mount/free.tacho
	free=$(df -k --output=avail mount | tail -1)
	[ "$free" -ge $((44 * 1024)) ] || { echo "only $free kB are free"; failed=1; }
else
	echo "a disk cannot be mounted here: --keep-free is left out"
fi
for size in 0 M 12X -1 1.5G 99999999999T; do
	"$TACHO" record --max-size=$size -- true 2>/dev/null && { echo "--max-size $size was taken"; failed=1; }
done
exit $failed
