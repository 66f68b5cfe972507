# The workbook, read as the zipped XML that it is: every sheet says what tacho report says, cell by cell.
"$TACHO" --version | grep -q 'with:.*xlsx' || exit 77
command -v python3 >/dev/null || exit 77
export RUN=$TACHO_SOURCE_DIR/tests/data/two_ranks
mkdir temporary
"$TACHO" export "$RUN" --to xlsx
TMPDIR=$PWD/temporary "$TACHO" export "$RUN" --to xlsx -o - >again.xlsx
ls -A temporary
cmp two_ranks.xlsx again.xlsx
"$TACHO" export "$RUN" --to xlsx --rank 1 --steps 1:2 -o part.xlsx
cat >hostile.json <<'JSON'
{"traceEvents": [
{"ph":"X","cat":"cpu_op","name":"=1+1","pid":1,"tid":1,"ts":10,"dur":5},
{"ph":"X","cat":"cpu_op","name":"<b>&\"'\u0001\u202e","pid":1,"tid":1,"ts":20,"dur":4}]}
JSON
"$TACHO" export hostile.json --to xlsx -o hostile.xlsx
cat >compare.py <<'PYTHON'
import json, math, os, subprocess, zipfile
from xml.etree import ElementTree

NAMES = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}


def ask(run, *arguments):
    told = subprocess.check_output([os.environ["TACHO"], "report", run, "--json", "--all", *arguments], text=True)
    return json.loads(told.replace(run + " --", "RUN --"))  # commands of advices name the run, which a book cannot


def column(reference):
    number = 0
    for letter in reference.rstrip("0123456789"):
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def cell(element):
    if element.get("t") == "inlineStr":
        return "".join(element.find("x:is", NAMES).itertext())
    value = element.find("x:v", NAMES)
    return None if value is None else bool(int(value.text)) if element.get("t") == "b" else float(value.text)


class Sheet:
    def __init__(self, archive, index):
        root = ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{index}.xml"))
        self.rows = [{column(c.get("r")): cell(c) for c in row} for row in root.iter(f"{{{NAMES['x']}}}row")]
        self.is_frozen = root.find(".//x:pane", NAMES) is not None
        self.has_filter = root.find("x:autoFilter", NAMES) is not None
        self.formulas = len(root.findall(".//x:f", NAMES))


def sheets(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        return {s.get("name"): Sheet(archive, i + 1) for i, s in enumerate(book.find("x:sheets", NAMES))}


def is_same(mine, theirs):
    if theirs is None or theirs == "":
        return mine is None
    if isinstance(theirs, str) or isinstance(theirs, bool):
        return mine == theirs
    return isinstance(mine, float) and math.isclose(mine, theirs, rel_tol=1e-15, abs_tol=1e-300)


def different(sheet, rows):
    if len(sheet.rows) != len(rows) + 1:
        return f"{len(sheet.rows) - 1} rows, not {len(rows)}"
    for have, want in zip(sheet.rows[1:], rows):
        for index, (key, value) in enumerate(want.items()):
            if not is_same(have.get(index), value):
                return f"{key}: {have.get(index)!r}, not {value!r}"
    return "same"


run, book = os.environ["RUN"], sheets("two_ranks.xlsx")
helps = subprocess.check_output([os.environ["TACHO"], "report", "--help"], text=True)
views = [line.split()[0] for line in helps.split("Views:\n")[1].split("\n\n")[0].splitlines()]
print("every view:", all(view in book for view in views))
for view in views:
    result = different(book[view], ask(run, "--view", view))
    if result != "same":
        print(view, result)
print("frozen:", all(sheet.is_frozen for sheet in book.values()),
      "filters:", all(book[view].has_filter == (len(book[view].rows) > 1) for view in views))
print([book["step"].rows[0][i] for i in range(13)])
print([book["comm"].rows[0][i] for i in range(12)])
facts = {row[0]: row.get(1) for row in book["info"].rows}
info = ask(run, "--view", "step", "--view", "op")["info"]
print("facts:", facts["ranks"], facts["steps"], facts["command"],
      all(math.isclose(facts[fact], info[key], rel_tol=1e-15) for fact, key in (
          ("events", "events"), ("duration (ms)", "duration_ms"), ("median step (ms)", "step_median_ms"),
          ("cost of recording (%)", "record_cost_pct"))), facts["trust score (0 to 100)"] == info["trust"]["score"])
notes = [row[1] for row in book["notes"].rows if row[0] == "critical"]
print("notes:", notes == ask(run, "--view", "step", "--view", "critical")["notes"]["critical"])
part = sheets("part.xlsx")
for view in ("step", "op", "kernel", "comm"):
    print("part:", view, different(part[view], ask(run, "--view", view, "--rank", "1", "--steps", "1:2")))
hostile = sheets("hostile.xlsx")
print([row[0] for row in hostile["op"].rows], sum(sheet.formulas for sheet in hostile.values()))
PYTHON
python3 compare.py
