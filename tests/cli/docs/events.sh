#!/usr/bin/env bash
# docs/events.md: all 88 events of tensorflow-profiler's catalogue are in its table, once and in order; each probe, kind of record and format that it names is
# there; each test that it names exists and has what is claimed in it; what no probe records has a reason; what is read of old recordings is known to
# the importer; each option among the knobs is one of `tacho record`.
/usr/bin/python3 - "$TACHO_SOURCE_DIR" "$TACHO" <<'PYTHON'
import pathlib, re, subprocess, sys

source, tacho = pathlib.Path(sys.argv[1]), sys.argv[2]
text = (source / "docs/events.md").read_text()
catalogue = (source / "tests/data/predecessors/events.txt").read_text().split()
probes = set(re.findall(r"^PROBE\((\w+)", (source / "cli/probes.def").read_text(), re.M))
kinds = set(re.findall(r"KIND\((\w+), \w+, [01]\)", (source / "src/trace/trace_layout.h").read_text()))
formats = set(re.findall(r"^IMPORT_FORMAT\((\w+)\)", (source / "src/import/formats.def").read_text(), re.M))
importer = "".join(path.read_text() for path in (source / "src/import/ctf").glob("*.c"))
options = set(re.findall(r"--[a-z-]+", subprocess.run([tacho, "record", "--help"], capture_output=True, text=True).stdout))

def wrong(event, what):
    print(f"{event}: {what}")

rows = [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in text.split("\n") if re.match(r"\| `\w+Tracer:", line)]
events = [row[0].strip("`") for row in rows]
if events != catalogue or len(catalogue) != 88:
    print("the table has", len(events), "events, the catalogue", len(catalogue), "; first that differs:",
          next(((a, b) for a, b in zip(events, catalogue) if a != b), None))
n_recorded = n_read = 0
for row in rows:
    event, probe, record, test, read, why = row[0].strip("`"), *row[1:]
    if probe != "-":
        n_recorded += 1
        kind = record.split()[0].rstrip(":")
        if probe not in probes:
            wrong(event, f"there is no probe {probe}")
        if kind.isupper() and kind not in kinds:
            wrong(event, f"there is no kind of record {kind}")
        path = source / test.strip("`")
        if not path.is_file():
            wrong(event, f"there is no test {test}")
        else:
            for name in re.findall(r"`([^`]+)`", record)[:1]:
                if probe == "cuda" and re.split(r"[ (:]", name)[0].lower() not in (path.read_text() + (source / "tests/standins/cuda/standin_runtime.c").read_text()
                                                               + (source / "tests/standins/cuda/standin_driver.c").read_text()).lower():
                    wrong(event, f"{test} has no {name}")
    elif record != "-" or test != "-" or why == "-":
        wrong(event, "is not recorded, and no reason is given")
    n_read += "`ctf`" in read
    for name in re.findall(r"`(\w+)`", read):
        if name not in formats:
            wrong(event, f"there is no format {name}")
    provider, name = event.split(":")
    known = event in importer or re.sub(r"_(u?int|float)\d+$", "_*", event) in importer
    moment = "moment" in why
    if not known and not moment:
        wrong(event, "the importer of old recordings does not know it: say that it is read as a moment")
knobs = text.split("## Its knobs")[1]
for option in set(re.findall(r"`(--[a-z-]+)`", "".join(line.split("|")[2] for line in knobs.split("\n") if line.startswith("| ") and line.count("|") == 3))):
    if option not in options:
        wrong(option, "is no option of tacho record")
print(f"{n_recorded} recorded, {n_read} read from old recordings")
PYTHON
