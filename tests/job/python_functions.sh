#!/usr/bin/env bash
# tacho record --python=module:NAME: each call of that module's functions has a slice, whichever way it ends; others have none.
set -u
. "$TACHO_SOURCE_DIR/tests/support/pythons.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
[ -n "$(pythons)" ] || { echo "no Python from 3.9 to 3.13: skipped"; exit 77; }
cat >exact.py <<'PYTHON'
import threading


def plain(n):
    return inner(n) + 1


def inner(n):
    return n * 2


def fails():
    inner(1)
    raise ValueError


def generates():
    for i in range(5):
        yield inner(i)


def recurses(n):
    return recurses(n - 1) if n else 0


def run():
    for i in range(100):
        plain(i)
    for _ in range(10):
        try:
            fails()
        except ValueError:
            pass
    list(generates())
    recurses(20)


def everything():
    run()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
PYTHON
printf 'import exact, json\n\n\ndef other():\n    return json.dumps([1])\n\n\nother()\nexact.everything()\nother()\n' >job.py
cat >check.py <<'PYTHON'
import collections, csv, re, sys

rows = list(csv.DictReader(open("slices.csv")))
by_id = {row["id"]: row for row in rows}
counts = collections.Counter()
for row in rows:
    found = re.search(r"exact\.py\(\d+\): (\w+)$", row["name"])
    counts[found[1] if found else "other"] += 1
    # what is called lies in what called it
    if found and found[1] == "plain":
        assert by_id[row["parent_id"]]["name"].endswith(": run"), row
expected = {"everything": 1, "run": 2, "plain": 200, "inner": 230, "fails": 20, "generates": 12, "recurses": 42}
wrong = {name: (counts[name], n) for name, n in expected.items() if counts[name] != n}
if wrong or counts["other"] > 1:  # the body of the module, `<module>`, is a call, too
    print(wrong, counts)
    sys.exit(1)
PYTHON
for python in $(pythons); do
	version=$("$python" -V)
	rm -rf run
	"$TACHO" record -q -o run --probes python --python=module:exact -- "$python" job.py >out 2>&1 || { echo "$version: exit code: $(cat out)"; failed=1; }
	[ -s out ] && { echo "$version says: $(cat out)"; failed=1; }
	"$TACHO" query run "SELECT slice.id, slice.name, slice.parent_id FROM slice JOIN track ON track.id = slice.track_id
		WHERE track.type = 'thread_track' AND slice.category = 'function'" --format csv >slices.csv || failed=1
	/usr/bin/env python3 check.py >answer || { echo "$version: $(cat answer)"; failed=1; }
done
exit $failed
