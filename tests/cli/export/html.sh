# The page in a browser: it says what tacho report says, moves, finds, asks the network for nothing, and takes no
# name of a trace for markup.
"$TACHO" --version | grep -q 'with:.*html export' || exit 77
export RUN=$TACHO_SOURCE_DIR/tests/data/two_ranks DEVICES=$TACHO_SOURCE_DIR/tests/data/kineto
export PYTHONPATH=$TACHO_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null && command -v chromium >/dev/null || exit 77
python3 -c 'import browser, sys; sys.exit(not browser.can_start())' || exit 77
"$TACHO" export "$RUN" --to html
"$TACHO" export "$RUN" --to html -o - >again.html
cmp two_ranks.html again.html
"$TACHO" export "$RUN" --to html --rank 1 --steps 1:2 -o part.html
"$TACHO" export "$DEVICES" --to html -o devices.html
cat >hostile.json <<'JSON'
{"traceEvents": [
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"</script><script>window.bad = 1</script>"}},
{"ph":"M","pid":1,"tid":7,"name":"thread_name","args":{"name":"<img src=http://localhost:1/x onerror='window.bad = 2'>"}},
{"ph":"X","cat":"cpu_op","name":"</script><script>window.bad = 3</script>","pid":1,"tid":7,"ts":10,"dur":5},
{"ph":"X","cat":"cpu_op","name":"<img src=x onerror='window.bad = 4'>","pid":1,"tid":7,"ts":20,"dur":4},
{"ph":"X","cat":"cpu_op","name":"__proto__","pid":1,"tid":7,"ts":30,"dur":3},
{"ph":"X","cat":"cpu_op","name":"a\u0007b\u202ec<!--","pid":1,"tid":7,"ts":40,"dur":2},
{"ph":"X","cat":"cpu_op","name":"javascript:window.bad=5","pid":1,"tid":7,"ts":50,"dur":1}]}
JSON
"$TACHO" export hostile.json --to html -o hostile.html
cat >look.py <<'PYTHON'
import collections, json, os, re, subprocess
from browser import Browser

RUN, DEVICES = os.environ["RUN"], os.environ["DEVICES"]


def ask(*arguments):
    told = subprocess.check_output([os.environ["TACHO"], *arguments, "--json"], text=True)
    return json.loads(told.replace(RUN + " --", "RUN --"))  # commands of advices name the run, which a page cannot


def open_page(browser, name, **how):
    return browser.open(f"file://{os.getcwd()}/{name}", **how)


def said(page, what):
    """What went wrong in the page, and what it asked for but itself."""
    print(f"{what}: complaints {page.complaints}, requests", [url for url in page.requests if not url.endswith(".html")])


def shows(column, text, value):
    """Whether a cell's text is that value, rounded as its column is."""
    if value is None or value == "":
        return text == ""
    if isinstance(value, bool):
        return text == ("yes" if value else "no")
    if isinstance(value, str):
        return text == value
    decimals = len(text.partition(".")[2])
    return abs(float(text.replace(",", "")) - value) <= 0.5 * 10**-decimals * (1 + 1e-9) and (
        decimals == column["decimals"] or column["type"] == "integer" or "is_any_size" in column)


# Every row and column of a table as it is shown, by key.
ROWS = """(view => { tacho.showTable(view); const table = document.querySelector("#tables .card");
    const all = table.querySelector("input[type=checkbox]"); if (all && !all.checked) all.click();
    for (let more; (more = table.querySelector(".more button")); ) more.click();
    return [...table.querySelectorAll("tbody tr")].filter(row => !row.querySelector(".empty")).map(row =>
        Object.fromEntries([...row.querySelectorAll("td")].map(cell => [cell.dataset.key, cell.textContent]))); })"""


def compare_view(page, view, rows, *, prints=False):
    columns = {one["key"]: one for one in page.evaluate(f"tacho.head.views[{view!r}].columns")}
    shown = page.evaluate(f"{ROWS}({view!r})")
    wrong = [(key, row.get(key), want[key]) for row, want in zip(shown, rows) for key in want
             if not shows(columns[key], row.get(key, ""), want[key])]
    if prints or wrong or len(shown) != len(rows):
        print(f"{view}: {'' if prints else f'{len(shown)} of {len(rows)} rows, '}wrong: {wrong[:3]}")
    return len(shown)


def compare_views(page):
    views = page.evaluate("Object.keys(tacho.head.views)")
    n = sum(compare_view(page, view, ask("report", RUN, "--all", "--view", view)) for view in views if view != "step_summary")
    print("views:", len(views), "with rows:", n > 300)


def compare_facts(page):
    info, shown = ask("info", RUN), page.evaluate("""Object.fromEntries([...document.querySelectorAll("[data-fact]")].map(
        fact => [fact.dataset.fact, fact.querySelector("dd").firstChild.textContent]))""")
    print("facts:", shown["steps"] == str(info["steps"]), shown["ranks"] == str(info["ranks"]),
          shown["events"] == f"{info['events']:,}", shown["trust_score"] == f"{info['trust']['score']} of 100",
          shown["step_median_ms"] == f"{info['step_median_ms']:,.2f} ms", shown["duration_ms"] == f"{info['duration_ms'] / 1000:,.3f} s")


def compare_slices(page):
    mine = page.evaluate("""Array.from({length: tacho.model.n}, (_, i) => i).filter(i => !tacho.model.isMoment(i)).map(i =>
        [tacho.model.strings[tacho.model.name[i]], tacho.model.start[i], tacho.model.duration[i], tacho.model.strings[tacho.model.kind[i]]])""")
    theirs = [[row["name"], row["ts"], row["dur"], row["category"]] for row in ask("query", RUN, "SELECT name, ts, dur, category FROM slice")]
    steps = [one for one in mine if one[3] == "step"]
    print("slices:", sorted(one for one in mine if one[3] != "step") == sorted(theirs), "steps:", len(steps))
    row = ask("query", RUN, "SELECT slice.id, slice.name, ts, display_value FROM args JOIN slice USING (arg_set_id) "
              "WHERE key = 'inputs' ORDER BY slice.id LIMIT 1")[0]
    args = page.evaluate(f"""(() => {{ const i = tacho.model.start.findIndex((start, i) => start === {row["ts"]} &&
        tacho.model.strings[tacho.model.name[i]] === {json.dumps(row["name"])}); return tacho.model.args(i).map(String); }})()""")
    print("args:", f"inputs,{row['display_value']}" in args)


def compare_matrix(page):
    matrix = page.evaluate("tacho.head.comm_matrix")
    total = ask("query", RUN, "SELECT sum(bytes) AS bytes FROM collective")[0]["bytes"]
    print("matrix:", matrix["source"], matrix["bytes"] == [[0, total], [total, 0]])


def span(page):
    return page.evaluate("tacho.views.timeline.t1 - tacho.views.timeline.t0")


def use_timeline(page):
    page.evaluate("tacho.show('timeline')")
    page.frame()
    page.evaluate("tacho.views.timeline.showAll()")
    x, y, width = page.evaluate("(box => [box.left, box.top, box.width])(tacho.views.timeline.canvas.getBoundingClientRect())")
    whole = span(page)
    page.wheel(x + width / 2, y + 100, -240)
    page.frame()
    wheel = span(page)
    page.evaluate("tacho.views.timeline.canvas.focus()")
    page.key("w")
    key = span(page)
    before = page.evaluate("tacho.views.timeline.t0")
    page.key("ArrowRight")
    right = page.evaluate("tacho.views.timeline.t0")
    page.drag(x + 300, y + 60, x + 400, y + 60)
    page.frame()
    print("zoom:", wheel < whole * 0.5, key < wheel, "move:", right > before, page.evaluate("tacho.views.timeline.t0") < right)
    page.key("0")
    print("all:", span(page) == whole, "frames:", page.evaluate("tacho.views.timeline.frames") > 2)
    page.key("/")
    for letter in "addmm":
        page.key(letter)
    page.key("Enter")
    page.frame()
    wanted = ask("query", RUN, "SELECT count(*) AS n FROM slice WHERE name LIKE '%addmm%'")[0]["n"]
    print("search:", page.evaluate("document.querySelector('.found').textContent") == f"1 of {wanted}",
          page.evaluate("document.querySelector('.selection h3').textContent"))
    facts = page.evaluate("""Object.fromEntries([...document.querySelectorAll(".selection dt")].map(one => [one.textContent, one.nextSibling.textContent]))""")
    start = page.evaluate("tacho.model.start[tacho.views.timeline.selected]")
    print("selection:", facts["kind"], facts["start"] == f"{start / 1e6:,.6f} ms", sorted(facts))
    # A click where the selected slice is drawn selects it again.
    at = page.evaluate("""(() => { const view = tacho.views.timeline, slice = view.selected; view.select(-1);
        return [(view.model.start[slice] + view.model.duration[slice] / 2 - view.t0) / (view.t1 - view.t0) * view.width, view.yOf(slice) + 8, slice]; })()""")
    page.click(x + at[0], y + at[1])
    print("click:", page.evaluate("tacho.views.timeline.selected") == at[2])
    n_bands = page.evaluate("tacho.views.timeline.bands.length")
    page.evaluate("document.querySelector('.process-name').click()")
    print("fold:", page.evaluate("tacho.views.timeline.bands.length") < n_bands,
          page.evaluate("document.querySelector('.process-name').getAttribute('aria-expanded')"))


def use_tables(page):
    names = """(() => [...document.querySelectorAll("#tables tbody td[data-key=name]")].map(one => one.textContent))()"""
    page.evaluate("tacho.showTable('op'); document.querySelector('#tables th button').click()")
    shown = page.evaluate(names)
    page.evaluate("document.querySelector('#tables th button').click()")
    print("sorted:", page.evaluate("document.querySelector('#tables th').getAttribute('aria-sort')"), shown == page.evaluate(names)[::-1])
    page.evaluate("""(input => { input.value = "addmm"; input.dispatchEvent(new Event("input")); })(document.querySelector("#tables input[type=search]"))""")
    print("filtered:", sorted(set(page.evaluate(names))))


def compare_curves(page, view, texts, value, number):
    """Each curve of the page has the rows of the view that are its own, in their order."""
    rows = collections.defaultdict(list)
    for row in ask("report", DEVICES, "--all", "--view", view):
        rows[", ".join([*(row[text] for text in texts), f"rank {row['rank']}"])].append([row["at_ms"] * 1e6, row[value]])
    shown = page.evaluate(f"""Object.fromEntries(tacho.views.device.curves[{number}].tracks.map(track =>
        [track.title, track.times.map((time, i) => [time, track.values[i]])]))""")
    print(f"{view}:", len(shown), shown == rows)
    return len(rows)


def unnamed(page):
    """Controls that a screen reader could not name."""
    page.send("Accessibility.enable")
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    roles = ("button", "textbox", "searchbox", "checkbox", "radio", "tab", "image", "Canvas", "application", "link")
    return [node["role"]["value"] for node in nodes if not node.get("ignored") and node["role"]["value"] in roles
            and not node.get("name", {}).get("value")]


with Browser() as browser:
    page = open_page(browser, "two_ranks.html")
    print(page.evaluate("document.title"))
    compare_facts(page)
    print("unnamed controls:", unnamed(page))
    for tab in ("communication", "memory"):
        page.evaluate(f"tacho.show('{tab}')")
        page.frame()
        print(tab, "canvases:", page.evaluate("document.querySelectorAll('.panel:not([hidden]) canvas').length"), "unnamed:", unnamed(page))
    use_timeline(page)
    compare_slices(page)
    compare_matrix(page)
    compare_views(page)
    use_tables(page)
    dark = page.evaluate("(document.querySelector('.scheme').click(), getComputedStyle(document.body.parentNode).backgroundColor)")
    print("dark:", dark)
    said(page, "page")

    print("device tab without devices:", page.evaluate("document.querySelectorAll('#tab-device').length"))
    page = open_page(browser, "devices.html", width=390, height=844)
    page.evaluate("tacho.show('device')")
    page.frame()
    n = compare_curves(page, "queue_curve", ["device", "stream"], "depth", 0)
    n += compare_curves(page, "bandwidth_curve", ["device", "kind"], "gb_per_s", 1)
    print("device canvases:", page.evaluate("document.querySelectorAll('#device canvas').length") == n, "unnamed:", unnamed(page),
          page.evaluate("document.querySelector('#device .curve .explain').textContent"), page.evaluate("document.documentElement.scrollWidth <= 390"))
    said(page, "devices")

    page = open_page(browser, "part.html", width=390, height=844, is_touch=True)
    print("part:", page.evaluate("document.querySelector('.scope').textContent"),
          page.evaluate("[...new Set(tacho.model.tracks.map(track => track.rank))]"))
    compare_view(page, "op", ask("report", RUN, "--all", "--view", "op", "--rank", "1", "--steps", "1:2"), prints=True)
    for tab in ("overview", "timeline", "communication", "memory", "tables"):
        page.evaluate(f"tacho.show('{tab}')")
        page.frame()
        if page.evaluate("document.documentElement.scrollWidth") > 390:
            print("too wide for a phone:", tab)
    said(page, "part")

    page = open_page(browser, "hostile.html", is_dark=True)
    for tab in ("overview", "timeline", "communication", "memory", "tables"):
        page.evaluate(f"tacho.show('{tab}')")
        page.frame()
    for i in range(page.evaluate("tacho.model.n")):
        page.evaluate(f"tacho.views.timeline.select({i})")
    print("hostile:", page.evaluate("[typeof window.bad, document.querySelectorAll('img').length, document.scripts.length]"))
    print(sorted(page.evaluate("[...document.querySelectorAll('#tables td[data-key=name]')].map(one => one.textContent)")))
    print([one for one in page.evaluate("[...document.querySelectorAll('.track-name')].map(one => one.textContent)") if "bad" in one])
    said(page, "hostile")
    # Nothing but this page's own script runs, and nothing is fetched, whoever asks.
    print("policy:", page.evaluate("""(async () => { const script = document.createElement("script"); script.textContent = "window.bad = 6";
        document.body.append(script); const fetched = await fetch("data:,x").then(() => "fetched", () => "refused");
        return [typeof window.bad, fetched]; })()"""))
PYTHON
python3 look.py
