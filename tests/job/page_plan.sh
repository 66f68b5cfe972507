#!/usr/bin/env bash
# The page of a run shows the change that gains most, in a browser: a job that waits half of its time for data.
set -eu
export PYTHONPATH=$TACHO_SOURCE_DIR/tests/support
"$TACHO" --version | grep -q 'with:.*html export' || exit 77
python3 -c 'import browser, sys; sys.exit(not browser.can_start())' || { echo "no browser: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 - <<'PYTHON'
import json

events = []
for step in range(4):
    begin = step * 4000
    events += [
        {"ph": "X", "pid": 1, "tid": 1, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": begin, "dur": 4000},
        {"ph": "X", "pid": 1, "tid": 1, "cat": "user_annotation", "ts": begin, "dur": 2000,
         "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"},
        {"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "name": "aten::mul", "ts": begin + 2000, "dur": 2000},
    ]
json.dump(events, open("job.json", "w"))
PYTHON
"$TACHO" report job.json --json >report.json
"$TACHO" export job.json --to html -o page.html 2>/dev/null
python3 - <<'PYTHON'
import json
import os
from browser import Browser

plan = json.load(open("report.json"))["plan"]
rows = plan["rows"] if isinstance(plan, dict) else plan
assert len(rows) == 1 and rows[0]["change"] == "data is loaded by 1 worker" and rows[0]["gain_pct"] > 40, rows
with Browser() as browser:
    page = browser.open(f"file://{os.getcwd()}/page.html")
    text = page.evaluate("[...document.querySelectorAll('section.card')].find(c => c.innerText.includes('shortens the step'))?.innerText ?? ''")
    assert "data is loaded by 1 worker" in text and "tacho apply" in text, text
    assert page.complaints == [], page.complaints
PYTHON
