#!/usr/bin/env bash
# The Python probe's samples tell where a program was, as the program itself measured it: for each Python that is there.
set -u
. "$TACHO_SOURCE_DIR/tests/support/pythons.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
[ -n "$(pythons)" ] || { echo "no Python from 3.9 to 3.13: skipped"; exit 77; }
cp "$TACHO_SOURCE_DIR/tests/probe/python/sampled.py" .

cat >check.py <<'PYTHON'
import csv, json, re, sys

took = json.load(open("took.json"))
everything = list(csv.DictReader(open("slices.csv")))
main = everything[0]["pid"]  # the first to begin
rows = [row for row in everything if row["pid"] == main]
failures = []


def expect(is_right, what):
    if not is_right:
        failures.append(what)


def seconds(pattern, kind="function"):
    return sum(int(row["dur"]) for row in everything if row["category"] == kind and re.search(pattern, row["name"])) / 1e9


line_of = {}
for number, line in enumerate(open("sampled.py"), 1):
    found = re.match(r"def (\w+)", line)
    if found:
        line_of[found[1]] = number

children = {row["id"]: row for row in rows}
for name, expected in took.items():
    function, _, waiting = name.partition(":")
    if function == "deep":  # in itself
        sampled = sum(int(row["dur"]) for row in rows if re.search(r"\): deep$", row["name"]) and not re.search(
            r"\): deep$", children.get(row["parent_id"], {"name": ""})["name"])) / 1e9
    else:
        sampled = sum(int(row["dur"]) for row in rows if re.search(r"^sampled\.py\(\d+\): %s$" % function, row["name"])) / 1e9
    expect(abs(sampled - expected) < 0.25 + 0.1 * expected, "%s: %.2f s sampled, %.2f s by its clock" % (name, sampled, expected))
    for row in rows:
        found = re.match(r"sampled\.py\((\d+)\): %s$" % function, row["name"])
        expect(not found or line_of[function] <= int(found[1]) < line_of[function] + 12, "line of " + row["name"])

# Waiting is inside of the function that waits, and is no part of what spins.
waits = [row for row in rows if row["category"] == "wait"]
above = lambda row: children.get(row["parent_id"], {"name": ""})["name"]
waited = lambda pattern: sum(int(row["dur"]) for row in waits if re.search(pattern, above(row))) / 1e9
expect(waited(r"\): nap$") > 0.6 * took["nap:waiting"], "nap waited %.2f s" % waited(r"\): nap$"))
expect(waited(r"\): spin$") < 0.5 * seconds(r"\): spin$"), "spin waited %.2f s" % waited(r"\): spin$"))
expect(seconds(r"\): in_thread$") > 0.3, "the thread")
expect(seconds(r"\): in_fork$") > 0.2, "the forked child")
expect(seconds(r"<string>\(\d+\): in_child$") > 0.2, "the program that was executed")
expect(seconds(r"<string>\(\d+\): in_interpreter$") > 0.2, "the other interpreter")
if "--very-deep" in sys.argv:
    expect(seconds(r"^\[calls left out\]$") > 0.1, "the deep recursion")
print("\n".join(failures))
sys.exit(bool(failures))
PYTHON

for python in $(pythons); do
	version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	deep=
	[ "$version" = 3.11 ] && deep=--very-deep
	rm -rf run
	"$TACHO" record -q -o run --probes python -- "$python" -S sampled.py $deep >took.json 2>err ||
		{ echo "$version: exit code"; failed=1; }
	# From 3.12 on Python warns of os.fork() in a process with threads: README.md of the probe says so.
	sed -i '/DeprecationWarning: This process .* multi-threaded/,+1d' err
	[ -s err ] && { echo "$version says: $(cat err)"; failed=1; }
	"$TACHO" query run "SELECT slice.id, slice.name, slice.category, slice.dur, slice.parent_id, process.pid FROM slice
		JOIN track ON track.id = slice.track_id JOIN process ON process.upid = track.upid
		WHERE track.type = 'sampled_track' ORDER BY slice.ts" --format csv >slices.csv ||
		{ echo "$version: no query"; failed=1; continue; }
	/usr/bin/env python3 check.py $deep >answer || { echo "$version: $(cat answer)"; failed=1; }
	"$TACHO" query run "SELECT text, first, second FROM mark WHERE name = 'stack_sampling' ORDER BY ts DESC LIMIT 1" --format csv | tail -1
	if command -v babeltrace2 >/dev/null; then
		babeltrace2 run >/dev/null 2>bt.err || { echo "$version: babeltrace2: $(head -3 bt.err)"; failed=1; }
	fi
done

# off, and a version that nobody knows, leave nothing behind
"$TACHO" record -q -o off --probes python --python=off -- "$(pythons | head -1)" -c 'import time; time.sleep(0.3)' >out 2>&1 || failed=1
[ "$(find off -name metadata | wc -l)" = 0 ] || { echo "--python=off left a trace"; failed=1; }

# killed at any moment, what was sampled is there, and the open functions say where it was
"$TACHO" record -q -o killed --probes python -- "$(pythons | head -1)" -S -c 'import os, time
def before_the_end():
    time.sleep(1.5)
    os.kill(os.getpid(), 9)
before_the_end()' >out 2>&1
"$TACHO" query killed "SELECT count(*) FROM slice WHERE name LIKE '%before_the_end%'" --format csv | tail -1 | grep -qx '[1-9][0-9]*' ||
	{ echo "nothing of the killed process"; failed=1; }
exit $failed
