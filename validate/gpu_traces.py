#!/usr/bin/env python3
"""Hold replays of traces of devices, recorded by others, against what the traces say.

    gpu_traces.py                   all of it, written to docs/validation-gpu.md
    gpu_traces.py --output FILE     to another file

The traces are looked for in $TACHO_SHARED/data, or in ../shared/data beside the source; where they are not, nothing
is done (exit 77). Nothing is measured, so the page is the same each time.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import kernel_contention

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXIT_SKIPPED = 77
MEGATRON = "kineto/megatron_tp8"
FOLDERS = [MEGATRON]  # whose files are the ranks of one run; all other files are runs of their own
ENDINGS = (".json", ".json.gz", ".json.zst", ".xplane.pb", ".sqlite", ".nsys-rep", ".db", ".pftrace")


class Tacho:
    def __init__(self, program):
        self.program = program

    def run(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None

    def json(self, *words):
        text = self.run(*words)
        return json.loads(text) if text else None


def find_data():
    """The folder of the traces, or None."""
    shared = os.environ.get("TACHO_SHARED", os.path.join(SOURCE_DIR, "..", "shared"))
    data = os.path.realpath(os.path.join(shared, "data"))
    return data if os.path.isdir(os.path.join(data, MEGATRON)) else None


def find_runs(data):
    """Every file that may be a trace, and the folders that are one run; by path."""
    runs = []
    for folder, _, files in os.walk(data):
        name = os.path.relpath(folder, data)
        if name in FOLDERS:
            runs.append(name)
            continue
        runs += [os.path.join(name, file) for file in files if file.endswith(ENDINGS)]
    return sorted(runs)


# --- waits at collectives ------------------------------------------------------------------------


def collectives_of(events, is_replayed):
    """rank -> (begin, end) of each part in an all-reduce in microseconds, in order. A replay's export has each rank
    twice; the one that is replayed is called a worker of it."""
    names = {event["pid"]: event["args"]["name"] for event in events
             if event.get("name") == "process_name"}
    parts = {}
    for event in events:
        if event.get("ph") == "X" and "AllReduce" in event["name"] and ("worker" in names[event["pid"]]) == is_replayed:
            rank = int(names[event["pid"]].split("rank ")[1].split()[0].rstrip(","))
            parts.setdefault(rank, []).append((event["ts"], event["ts"] + event["dur"]))
    return {rank: sorted(rows) for rank, rows in parts.items()}


def waits_and_ends(parts):
    """(rank, number) -> how long it waited for the last to come, and when it ended, in microseconds."""
    figures = {}
    for number, row in enumerate(zip(*(parts[rank] for rank in sorted(parts)))):
        last = max(begin for begin, _ in row)
        for rank, (begin, end) in zip(sorted(parts), row):
            figures[rank, number] = (min(last, end) - begin, end)
    return figures


def replay_collectives(tacho, run, what_ifs):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "replay.json")
        words = [word for what_if in what_ifs for word in ("--what-if", what_if)]
        if tacho.run("replay", run, *words, "--export", path) is None:
            sys.exit(f"gpu_traces.py: cannot replay {run}")
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    return collectives_of(events, False), collectives_of(events, True)


def median_rate(tacho, run):
    """Bits a second that a rank sends in the median all-reduce, a ring: 2 (n - 1) / n of its bytes."""
    rows = tacho.json("query", run, "SELECT bytes, ranks, transfer_dur FROM collective "
                      "WHERE name LIKE '%AllReduce%' AND transfer_dur > 0", "--format", "json")
    return statistics.median(8e9 * row["bytes"] * 2 * (row["ranks"] - 1) / row["ranks"] / row["transfer_dur"]
                             for row in rows)


def megatron_rows(tacho, run):
    rate = median_rate(tacho, run)
    cases = [("its own", []), ("one for all", [f"bandwidth={rate / 1e9:.3f}gbit"])]
    rows = []
    for name, what_ifs in cases:
        measured, replayed = replay_collectives(tacho, run, what_ifs)
        truth, answer = waits_and_ends(measured), waits_and_ends(replayed)
        span = max(end for _, end in truth.values()) - min(end - wait for wait, end in truth.values())
        for rank in sorted(measured):
            keys = [key for key in truth if key[0] == rank]
            waits = [abs(answer[key][0] - truth[key][0]) for key in keys]
            ends = [abs(answer[key][1] - truth[key][1]) for key in keys]
            waited = sum(truth[key][0] for key in keys), sum(answer[key][0] for key in keys)
            rows.append([name, rank, len(keys), waited[0] / 1e3, waited[1] / 1e3, statistics.mean(waits),
                         max(waits), statistics.mean(ends), max(ends), 100 * max(ends) / span])
    return rate, rows


# --- steps from steps ----------------------------------------------------------------------------


def steps_of(tacho, run):
    """Numbers of the steps that every rank completed."""
    rows = tacho.json("query", run, "SELECT step, count(DISTINCT rank) AS n FROM step WHERE is_complete "
                      "GROUP BY step", "--format", "json")
    ranks = tacho.json("query", run, "SELECT count(DISTINCT rank) AS n FROM step", "--format", "json")
    if not rows or not ranks:
        return []
    return [row["step"] for row in rows if row["n"] == ranks[0]["n"]]


def event_counts(tacho, run):
    """step -> events of the first rank that begin in it: steps that do the same work have about as many."""
    rows = tacho.json("query", run, "SELECT st.step AS step, count(*) AS n FROM step st JOIN slice s ON s.ts >= st.ts AND "
                      "s.ts < st.ts + st.dur JOIN track t ON t.id = s.track_id AND t.upid = st.upid WHERE st.rank = "
                      "(SELECT min(rank) FROM step) GROUP BY st.step", "--format", "json")
    return {row["step"]: row["n"] for row in rows or []}


def are_alike(counts, steps):
    """The steps but the first have as many events, by a tenth."""
    counts = [counts.get(step, 0) for step in sorted(steps)[1 if len(steps) > 2 else 0:]]
    return min(counts) >= 0.9 * max(counts)


# What a host does by what its calls are named; the first that matches. A call that launches work takes long where the
# driver has taken as much as it takes.
HOST_WORK = [
    ("loads or compiles code", r"[Cc]ompil|ModuleLoad|LoadModule|ModuleGetFunction"),
    ("allocates", r"Malloc|Free|Alloc|HostRegister"),
    ("waits for the device", r"Synchronize|Memcpy|Memset|Launch|EventQuery|block|Execute"),
    ("waits for the backward pass", r"run_backward"),
    ("waits for input", r"DataLoader|data_loader|__next__|enumerate\("),
    ("waits for a thread", r"[Ww]ait|acquire|futex"),
]


def what_host_does(name):
    if not name:
        return "between operations"
    shown = (name if len(name) <= 48 else name[:45] + "...").replace("|", "/")
    kinds = [kind for kind, names in HOST_WORK if re.search(names, name)]
    return f"{kinds[0] if kinds else 'computes'} ({shown})"


def host_times(tacho, path, window):
    """name -> how long the process's first thread did it alone in the step, or else the one that did most, in ns; "" between
    all that was recorded."""
    begin, end = window["ts"], window["ts"] + window["dur"]
    rows = tacho.json("query", path, f"SELECT s.id, s.parent_id, s.track_id, s.name, s.category, max(s.ts, {begin}) AS ts, "
                      f"min(s.ts + s.dur, {end}) AS end, is_main_thread FROM slice s JOIN thread_track t ON t.id = s.track_id "
                      f"LEFT JOIN thread ON thread.utid = t.utid WHERE t.upid = {window['upid']} AND s.ts < {end} AND "
                      f"s.ts + s.dur > {begin}", "--format", "json")
    if rows is None:
        sys.exit(f"gpu_traces.py: cannot query {path}")
    alone = {}
    known = {row["id"] for row in rows}
    for row in rows:
        lasts = row["end"] - row["ts"]
        alone[row["id"]] = alone.get(row["id"], 0) + lasts
        if row["parent_id"] in known:
            alone[row["parent_id"]] = alone.get(row["parent_id"], 0) - lasts
    spans = {}
    for row in rows:
        if row["category"] not in ("annotation", "event"):
            key = (row["is_main_thread"] or 0, row["track_id"])
            spans[key] = spans.get(key, 0) + alone[row["id"]]
    times = {}
    chosen = max(spans, key=lambda key: (key[0], spans[key]), default=(0, None))[1]
    for row in rows:
        if row["track_id"] == chosen and row["category"] not in ("annotation", "event"):
            times[row["name"]] = times.get(row["name"], 0) + alone[row["id"]]
    times[""] = window["dur"] - sum(times.values())
    return times


def what_differs(tacho, path, answers):
    """Of the step farthest from the median one, by ratio: by how much it is longer, and what its host, on the first rank, has
    most more or less of."""
    rows = tacho.json("query", path, "SELECT step, ts, dur, upid FROM step WHERE is_complete AND rank = (SELECT min(rank) "
                      "FROM step) ORDER BY dur, step", "--format", "json")
    rows = [row for row in rows if row["step"] in answers and row["dur"] > 0]
    if len(rows) < 2:
        return None
    usual = rows[(len(rows) - 1) // 2]
    other = max(rows[0], rows[-1], key=lambda row: max(row["dur"] / usual["dur"], usual["dur"] / row["dur"]))
    sign = 1 if other["dur"] >= usual["dur"] else -1
    before, after = host_times(tacho, path, usual), host_times(tacho, path, other)
    growth = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after}}
    name = max(sorted(growth), key=lambda name: sign * growth[name])
    only = ", which the other does not" if name not in (before if sign > 0 else after) else ""
    return (f"{other['step']}: {(other['dur'] - usual['dur']) / 1e6:+.3f} ms; {what_host_does(name)}: "
            f"{growth[name] / 1e6:+.3f} ms{only}")


def step_row(tacho, run, path):
    """Errors of the prediction of each step from each other, in percent; None: not several steps, or without times."""
    answers = {}
    for step in steps_of(tacho, path):
        answer = tacho.json("replay", path, "--step", str(step), "--json")
        if answer and answer["measured_step_ms"] > 0:
            answers[step] = (answer["measured_step_ms"], answer["predicted_step_ms"])
    if len(answers) < 2 or len({measured for measured, _ in answers.values()}) == 1:
        return None
    same = [abs(100 * (predicted / measured - 1)) for measured, predicted in answers.values()]
    pairs = [(i, j, abs(100 * (answers[i][1] / answers[j][0] - 1))) for i in answers for j in answers if i != j]
    warm = [error for i, j, error in pairs if min(answers) not in (i, j)]
    return [run, len(answers), "yes" if are_alike(event_counts(tacho, path), answers) else "no", max(same),
            statistics.median(ms for ms, _ in answers.values()), len(pairs),
            statistics.median(error for *_, error in pairs), max(error for *_, error in pairs),
            statistics.median(warm) if warm else None, max(warm) if warm else None, what_differs(tacho, path, answers)]


def step_rows(tacho, data):
    rows = [step_row(tacho, run, os.path.join(data, run)) for run in find_runs(data)]
    return [row for row in rows if row]


def step_summary(rows):
    alike = [row for row in rows if row[2] == "yes"]
    errors = [row[8] if row[8] is not None else row[6] for row in alike]
    return (f"{len(rows)} traces, {sum(row[5] for row in rows)} pairs. Where steps do the same work ({len(alike)} traces; "
            f"without the first step, where there are more than two), the median trace's median error is "
            f"{statistics.median(errors):.1f} %, the mean of these medians {statistics.mean(errors):.1f} %.")


# --- page ----------------------------------------------------------------------------------------


def table(heads, rows, formats):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = ["" if value is None else format(value, how) for value, how in zip(row, formats)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_page(rate, waits, steps, out):
    out.write("""# How near replays of devices come

*Written by `validate/gpu_traces.py` from traces that others recorded; not by hand. `make validate-gpu` writes it again.*
Unlike [validation.md](validation.md), whose truth is measured without tacho, this page can only hold a replay against the
trace it was made of, or against other steps of it.

## Who waits how long at a collective

A job of Megatron with tensor parallelism over 8 devices (traces published with ASTRA-sim), one step. Each rank comes to
each of the all-reduces at another time, and its kernel lasts until the last has come and the bytes have moved; so the kernels'
times hold mostly waiting. The replay does not have them. It has how long everything else took, on hosts and devices, what
waited for what, and the *pure transfer*: from when the last rank came to when the first was done; waits and ends come out.
In the first rows each all-reduce has its own pure transfer, in the others all have one rate, the median's
(""" + f"{rate / 1e9:.0f}" + """ Gbit/s that each rank sends). Errors are of each rank's waits and ends, at each all-reduce: means
and worst.

""")
    out.write(table(["pure transfer", "rank", "all-reduces", "waited ms", "predicted ms", "wait: mean error us", "worst us",
                     "end: mean error us", "worst us", "worst, % of the step"], waits,
                    ["", "", "", ".1f", ".1f", ".1f", ".1f", ".1f", ".1f", ".3f"]))
    out.write("""
With their own pure transfers the errors are those of rounding: waits and ends follow from the rest alone. With one rate
for all, the errors are those of the transfers, and of what they add up to along the step.

## Step j from step i

Each trace that holds several complete steps and times of its own, of all formats, none left out; paths are those in
the folder of samples, whose README names the origin of each. *Same*: the replay of a
step against that step, the worst. Then each step is predicted by the replay of each other one: the median and the worst
error; and without the first step, where there are more than two. Such an error is how far the steps of a recording
differ: in the work that they do (*alike*: the steps but the first have as many events, by a tenth; benchmarks that
build models between steps, or servers whose requests differ, have not), in their input, in what the profiler does. No
prediction from a single step can be better. The last column says what is different, by rule from the
trace: the step farthest from the median one, by how much it is longer, and what its host, on its main thread, does most
longer (or shorter) itself. A host that launches work waits for the device where the driver has taken as much as it takes: steps
in which it is not yet full are shorter, and those that come after are the device's.

""")
    out.write(table(["trace", "steps", "alike", "same: worst %", "median step ms", "pairs", "median error %", "worst %",
                     "without the first: median %", "worst %", "farthest from the median step"], steps,
                    ["", "", "", ".3f", ".3f", "", ".1f", ".1f", ".1f", ".1f", ""]))
    out.write(f"\n{step_summary(steps)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n", 2)[2])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--output", default=os.path.join(SOURCE_DIR, "docs", "validation-gpu.md"))
    arguments = parser.parse_args()
    data = find_data()
    tacho = Tacho(os.path.join(arguments.build, "bin", "tacho"))
    if not data:
        print("gpu_traces.py: the traces are not there", file=sys.stderr)
        return EXIT_SKIPPED
    rate, waits = megatron_rows(tacho, os.path.join(data, MEGATRON))
    steps = step_rows(tacho, data)
    beside = kernel_contention.look_at(tacho, data, find_runs(data))
    with open(arguments.output, "w", encoding="utf-8") as out:
        write_page(rate, waits, steps, out)
        kernel_contention.write_section(table, beside, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
