#!/usr/bin/env python3
"""html_page.py BUILD_DIR RUN...: what the page of `tacho export --to html` costs, run by run: to write, to open, and to
draw, in Chromium without a window, 1280 x 800. A frame is the script's part of it: what it takes to hand the canvas all
that is to be seen; frames are those of zooming in and out again, 24 times each way."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "tests", "support"))
from browser import PROGRAM, Browser  # noqa: E402

ROUNDS = 3
FRAMES = """(() => { const view = tacho.views.timeline, times = []; view.showAll();
    for (const factor of [0.7, 1 / 0.7]) for (let i = 0; i < 24; i++) { view.zoom(factor, 0.4); view.paint(); times.push(view.frameMs); }
    return times; })()"""
SEARCH = """(() => { const began = performance.now(); tacho.views.timeline.find("a"); tacho.views.timeline.paint();
    return performance.now() - began; })()"""


def export(tacho, run, page):
    """Seconds of the quickest export."""
    times = []
    for _ in range(ROUNDS):
        began = time.monotonic()
        subprocess.run([tacho, "export", run, "--to", "html", "-f", "-o", page], check=True, stderr=subprocess.DEVNULL)
        times.append(time.monotonic() - began)
    return min(times)


def look(path):
    with Browser() as browser:
        opened = [browser.open(f"file://{path}").evaluate("tacho.openMs") for _ in range(ROUNDS)]
        page = browser.open(f"file://{path}")
        page.evaluate("tacho.show('timeline')")
        page.frame()
        first = page.evaluate("tacho.views.timeline.frameMs")
        return statistics.median(opened), first, page.evaluate(FRAMES), page.evaluate(SEARCH)


def main():
    if len(sys.argv) < 3 or not PROGRAM:
        sys.exit(__doc__ if PROGRAM else "chromium is not there")
    tacho = os.path.join(sys.argv[1], "bin", "tacho")
    for run in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "page.html")
            events = json.loads(subprocess.check_output([tacho, "info", run, "--json"]))["events"]
            seconds = export(tacho, run, path)
            opened, first, frames, search = look(path)
            print(f"{os.path.basename(run)}: {events} events; export {seconds:.2f} s, {os.path.getsize(path) / 1e6:.2f} MB; "
                  f"open {opened:.0f} ms; first frame {first:.1f} ms, frames {statistics.median(frames):.1f} ms "
                  f"[{min(frames):.1f}, {max(frames):.1f}]; search of a letter and its frame {search:.0f} ms")


if __name__ == "__main__":
    main()
