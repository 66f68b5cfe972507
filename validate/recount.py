#!/usr/bin/env python3
"""Count again, in plain Python, what tacho read in traces of others.

    recount.py                  every sample, and the table of docs/oracles.md written anew
    recount.py FILE...          these alone, each difference told
    recount.py --print          every sample, nothing written

The traces are looked for in $TACHO_SHARED/data, or in ../shared/data beside the source; where they are not, nothing
is done (exit 77). The readers are in recounts/. Exit 1: a figure differs and nothing explains it.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

from recounts import chrome, ctf, nodes, tables, text, wire

SOURCE_DIR = pathlib.Path(__file__).resolve().parent.parent
EXIT_DIFFERENT, EXIT_SKIPPED = 1, 77

# (family, what is compared, reader, files below the data); what no row has is no trace with figures of its own
FAMILIES = [
    ("PyTorch's profiler (Kineto)", chrome.kineto, ["kineto/**/*.json", "kineto/**/*.json.gz"]),
    ("the same, 8 ranks of one job", chrome.kineto_waits, ["kineto/megatron_tp8"]),
    ("PyTorch execution traces", nodes.pytorch_et,
     ["chakra/megatron_tp8/*.gz", "chakra/param/*.gz", "chakra/chakra/1.0.2*.json", "kineto/hta/execution_trace/*_et.json.gz"]),
    ("Chakra, protocol buffers", wire.chakra, ["chakra/chakra/*.et"]),
    ("Chakra, JSON", nodes.chakra_json, ["chakra/chakra/*chakra.0.json*"]),
    ("XPlane", wire.xplane, ["xplane/**/*.pb"]),
    ("TensorFlow's timelines", chrome.tf_timeline, ["timeline/tf/*.json"]),
    ("TensorFlow's RunMetadata", wire.step_stats, ["tfprof/dorsal/run_meta"]),
    ("tfprof's profiles", wire.tfprof, ["tfprof/resnet_dist/*.gz"]),
    ("Horovod's timelines", chrome.horovod, ["timeline/horovod/*"]),
    ("BytePS, workers", chrome.byteps_comm, ["byteps/docs/comm.json"]),
    ("BytePS, servers", chrome.byteps_server, ["byteps/docs/server_*.json"]),
    ("Nsight Systems", tables.nsys, ["nsys/**/*.sqlite"]),
    ("rocprof's databases", tables.rocprof, ["rocprof/**/*.db", "rocprof/**/*.db.gz"]),
    ("rocprof's JSON", chrome.rocprof, ["rocprof/hip_course/**/result.json*"]),
    ("rocprofv3's JSON", chrome.rocprofv3, ["rocprof/tracelens/*.json.gz"]),
    ("rocprof's CSV", tables.rocprof_csv,
     ["rocprof/hip_course/v3/*_trace.csv", "rocprof/hip_course/v1/result.csv", "rocprof/hip_course/wave2d_sync/*.csv"]),
    ("Perfetto", wire.perfetto, ["perfetto/**/*.pftrace", "perfetto/**/*.proto"]),
    ("CTF", ctf.ctf, ["ctf/**/metadata"]),
    ("OpenCL: the Intercept Layer", chrome.clintercept, ["opencl/intercept/*.json"]),
    ("OpenCL: TAU", chrome.tau, ["opencl/opencl_course/trace.json"]),
    ("oneDNN", text.onednn, ["onednn/*.log"]),
    ("nccl-tests", text.nccl_tests, ["nccl/superbench/*.log"]),
    ("NCCL's profiler", text.nccl_profiler, ["nccl/nccl_profiler/*.jsonl"]),
    ("NCCL's Inspector", text.nccl_inspector, ["nccl/inspector/*"]),
    ("memory snapshots", nodes.memory_snapshot, ["memory/assignment2/*"]),
    ("memory timelines", nodes.memory_timeline, ["memory/hta/*"]),
]
# differences that are no faults, by (file, what): why
EXPLAINED = {
    ("kineto/hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", "steps"):
        "the profiler was stepped once more after the loop, so its last step, of 0.05 ms, holds no work and does not count",
}
FIRST_LINE, LAST_LINE = "<!-- recount: first line -->", "<!-- recount: last line -->"


class Tacho:
    """What tacho says of a trace."""

    def __init__(self, program, path):
        self.program, self.path = program, str(path)
        self.info = self.ask("info", self.path, "--json")

    def ask(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def rows(self, sql):
        answer = self.ask("query", self.path, sql, "--json")
        return answer.get("rows", answer) if isinstance(answer, dict) else answer

    def slices(self):
        found = {}
        for row in self.rows("SELECT category, name, count(*) AS n, sum(dur) AS ns FROM slice GROUP BY 1, 2"):
            for key in (row["name"], (row["category"], row["name"]), (row["category"], None)):
                sums = found.setdefault(key, [0, 0])
                sums[0] += row["n"]
                sums[1] += row["ns"]
        return found

    def memory(self):
        row = self.rows("SELECT count(*) AS n, coalesce(sum(max(bytes, 0)), 0) AS bytes FROM memory")[0]
        return row["n"], row["bytes"]

    def launches(self):
        return self.rows("SELECT count(*) AS n FROM slice WHERE launch_id IS NOT NULL AND category IN "
                         "('kernel', 'collective', 'memcpy', 'memset')")[0]["n"]

    def last_values(self):
        rows = self.rows("SELECT name, value, max(counter.id) FROM counter JOIN track ON track.id = track_id GROUP BY name")
        return {row["name"]: row["value"] for row in rows}

    def waits(self):
        rows = self.rows("SELECT rank, sum(wait_dur) AS ns FROM collective_member GROUP BY rank")
        return {row["rank"]: row["ns"] for row in rows}


def compare(count, tacho):
    """([figures compared], [(what, counted, tacho's)] that differ)."""
    compared, different = 0, []

    def check(what, counted, read, slack=0):
        nonlocal compared
        compared += 1
        if read is None or abs(counted - read) > slack:
            different.append((what, counted, read))

    slices = tacho.slices() if count.slices else {}
    for key, (number, total_ns) in count.slices.items():
        name = " ".join(word for word in key if word) if isinstance(key, tuple) else key
        read = slices.get(key, [0, 0])
        check(f"number of {name}", number, read[0])
        if total_ns is not None:
            check(f"ns of {name}", total_ns, read[1], slack=number * count.rounding_ns)
    if count.events is not None:
        check("events", count.events, tacho.info["events"])
    if count.steps is not None:
        check("steps", count.steps, tacho.info["steps"])
    if count.launches is not None:
        check("launches", count.launches, tacho.launches())
    if count.ranks is not None:
        check("ranks", count.ranks, tacho.info["ranks"])
    if count.memory is not None:
        number, handed_out = count.memory
        read = tacho.memory()
        check("memory events", number, read[0])
        if handed_out is not None:
            check("bytes handed out", handed_out, read[1])
    if count.last_values:
        read = tacho.last_values()
        for name, value in count.last_values.items():
            check(name, value, read.get(name))
    if count.waits:
        read = tacho.waits()
        for rank, wait_ns in count.waits.items():
            check(f"ns that rank {rank} waited", wait_ns, read.get(rank), slack=1000)
    return compared, different


def find_data():
    shared = os.environ.get("TACHO_SHARED") or SOURCE_DIR.parent / "shared"
    return pathlib.Path(shared) / "data"


def samples(data):
    """(family, reader, path) of each sample; a CTF trace is the folder of its metadata."""
    for family, reader, patterns in FAMILIES:
        paths = sorted({path for pattern in patterns for path in data.glob(pattern)})
        for path in paths:
            yield family, reader, path.parent if path.name == "metadata" else path


def recount(data, program, chosen):
    """A row a family: [files, figures, differences explained, differences not explained]."""
    rows, complaints = {}, []
    for family, reader, path in samples(data):
        if chosen and path not in chosen:
            continue
        name = str(path.relative_to(data))
        if reader is chrome.kineto and ("_et.json" in name or not has_events(path)):
            continue
        tacho = Tacho(program, path)
        if tacho.info is None:
            count = reader(path)
            if count.slices or count.events:
                complaints.append(f"{name}: tacho does not read it")
            continue
        count = reader(path)
        compared, different = compare(count, tacho)
        row = rows.setdefault(family, [0, 0, 0, 0])
        row[0] += 1
        row[1] += compared
        for what, counted, read in different:
            is_explained = (name, what) in EXPLAINED
            row[2 if is_explained else 3] += 1
            if not is_explained:
                complaints.append(f"{name}: {what}: {counted} counted, {read} read")
    return rows, complaints


def has_events(path):
    """Some JSON beside traces is no trace: figures that others expect."""
    from recounts import read_json
    try:
        document = read_json(path)
    except ValueError:
        return False
    events = document.get("traceEvents") if isinstance(document, dict) else document
    return isinstance(events, list) and any(isinstance(event, dict) and event.get("ph") for event in events)


def table(rows):
    lines = ["| format | traces | figures compared | differ, explained below | differ |", "|---|---|---|---|---|"]
    for family, (files, figures, explained, unexplained) in rows.items():
        lines.append(f"| {family} | {files} | {figures:,} | {explained} | {unexplained} |")
    totals = [sum(row[i] for row in rows.values()) for i in range(4)]
    lines.append(f"| all | {totals[0]} | {totals[1]:,} | {totals[2]} | {totals[3]} |")
    return lines


def explanations():
    return [f"- `{name}`, {what}: {why}" for (name, what), why in sorted(EXPLAINED.items())]


def write_page(rows):
    page = SOURCE_DIR / "docs" / "oracles.md"
    before, rest = page.read_text().split(FIRST_LINE)
    after = rest.split(LAST_LINE)[1]
    lines = [FIRST_LINE, "", *table(rows), "", *explanations(), *([""] if EXPLAINED else []), LAST_LINE]
    page.write_text(before + "\n".join(lines) + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--print", action="store_true", help="write nothing")
    parser.add_argument("--tacho", default=str(SOURCE_DIR / "build/default/bin/tacho"), help="the program to ask")
    options = parser.parse_args()
    data = find_data().resolve()
    if not data.is_dir():
        print("no traces of others here", file=sys.stderr)
        return EXIT_SKIPPED
    rows, complaints = recount(data, options.tacho, {path.resolve() for path in options.files})
    print("\n".join(table(rows)))
    for complaint in complaints[:200]:
        print(complaint[:300])
    if not options.files and not options.print:
        write_page(rows)
    return EXIT_DIFFERENT if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
