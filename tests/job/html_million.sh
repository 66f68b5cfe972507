#!/usr/bin/env bash
# The page of a run of a million slices opens, draws all of it, and zooms down to one slice. How long that takes
# decides nothing here: bench/html_page.py tells.
set -eu
"$TACHO" --version | grep -q 'with:.*html export' || exit 77
command -v python3 >/dev/null && command -v chromium >/dev/null || exit 77
export PYTHONPATH=$TACHO_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1
python3 -c 'import browser, sys; sys.exit(not browser.can_start())' || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
${CC:-cc} -O1 -Wall -D_GNU_SOURCE "$TACHO_SOURCE_DIR/tests/job/guest_job.c" -o guest_job -lpthread
"$TACHO" record -q --probes alloc -o run.tacho -- ./guest_job fill 1000000 >/dev/null || [ $? = 3 ]
"$TACHO" info run.tacho --json >info.json
"$TACHO" export run.tacho --to html -o run.html 2>/dev/null
python3 - <<'PYTHON'
import json
import os
from browser import Browser

# Columns of the canvas in which something of that row is drawn.
COLUMNS = """(() => { const view = tacho.views.timeline; view.paint();
    const y = Math.round(view.yOf(view.selected) + 14), width = Math.floor(view.width);
    const data = view.canvas.getContext("2d").getImageData(0, y, width, view.height - 3 - y).data;
    const back = data.slice(-4).join();
    let drawn = 0;
    for (let x = 0; x < width; x++) drawn += data.slice(4 * x, 4 * x + 4).join() !== back;
    return [drawn, width]; })()"""

with open("info.json") as file:
    info = json.load(file)
with Browser() as browser:
    page = browser.open(f"file://{os.getcwd()}/run.html")
    slices = page.evaluate("Array.from({length: tacho.model.n}, (_, i) => i).filter(i => !tacho.model.isMoment(i)).length")
    assert slices == info["kinds"]["annotation"], (slices, info["kinds"])
    page.evaluate("tacho.show('timeline')")
    page.frame()
    page.evaluate("(view => { view.selected = Math.floor(tacho.model.n / 2); view.showAll(); })(tacho.views.timeline)")
    drawn, width = page.evaluate(COLUMNS)
    assert drawn > width / 2, (drawn, width)  # the job did nothing else
    page.evaluate("tacho.views.timeline.zoomToSelected()")
    x, y, slice = page.evaluate("""(view => { view.paint(); const box = view.canvas.getBoundingClientRect();
        return [box.left + view.width / 2, box.top + view.yOf(view.selected) + 8, view.selected]; })(tacho.views.timeline)""")
    page.evaluate("tacho.views.timeline.select(-1)")
    page.click(x, y)
    assert page.evaluate("tacho.views.timeline.selected") == slice
    assert page.complaints == [], page.complaints
    print(slices, "slices in one page")
PYTHON
