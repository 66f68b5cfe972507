#!/usr/bin/env python3
"""How well receives tell a wire's pace, by each choice of MIN_CALL_BYTES, MIN_CALLS and MIN_RUNS of src/graph/graph_wire.c.

    wire_pace.py              errors of the pace for each choice, on both halves of the kit

A link of the kit carries a rate that was measured (validate/kit/measured.json). From the messages of each recording, the pace
of each rank's wire is computed as src/graph/graph_wire.c does, written anew: runs of receives on a connection without a header
between them, all bytes that came to the receiver or from the sender meanwhile, the median over the runs weighted by bytes. Its
error is against the rate that was measured. The fit is the choice of the least mean error on the tuned half among those that
know the pace of all ranks that the loosest choice knows.

Recordings: those of the kit, unpacked in build/kit or packed in validate/kit.
"""
import argparse
import bisect
import collections
import itertools
import json
import pathlib
import re
import statistics
import subprocess
import sys

from kinds import BASE, read_kinds
from round_trip import SOURCE_DIR
from stated_cost import folder_of

SOURCE = SOURCE_DIR / "src/graph/graph_wire.c"
CHOICES = {"MIN_CALL_BYTES": [512, 1024, 2048, 4096, 8192, 16384], "MIN_CALLS": [2, 3, 4, 6, 8, 12, 16],
           "MIN_RUNS": [1, 2, 4, 8, 16, 32]}
SQL = """SELECT m.rank, m.stream, m.bytes, s.ts + s.dur, m.peer_rank FROM message m JOIN slice s ON s.id = m.slice_id
         WHERE m.direction = 'receive' ORDER BY s.ts"""


def receives(tacho, runs):
    """[(rank, connection, bytes, end ns, sender or "")], by their begin."""
    text = subprocess.run([tacho, "query", "--format=tsv", *runs, SQL], check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    return [(int(row[0]), row[1], int(row[2]), int(row[3]), row[4]) for row in rows]


class Sums:
    """Bytes that had come by a time."""

    def __init__(self):
        self.rows = []

    def sort(self):
        self.rows.sort()
        self.ends = [end for end, _ in self.rows]
        self.sums = [0, *itertools.accumulate(n_bytes for _, n_bytes in self.rows)]

    def between(self, begin, end):
        return self.sums[bisect.bisect_right(self.ends, end)] - self.sums[bisect.bisect_right(self.ends, begin)]


class Recording:
    def __init__(self, kind, rows, ns_per_byte):
        self.kind, self.rows, self.ns_per_byte = kind, rows, ns_per_byte
        self.to, self.of = collections.defaultdict(Sums), collections.defaultdict(Sums)
        for rank, _, n_bytes, end, sender in rows:
            self.to[rank].rows.append((end, n_bytes))
            self.of[sender].rows.append((end, n_bytes))
        for sums in [*self.to.values(), *self.of.values()]:
            sums.sort()

    def paces(self, min_bytes, min_calls):
        """Of each rank, [(pace, bytes)] of its runs."""
        paces, open_runs = collections.defaultdict(list), {}

        def end_run(rank, sender, run):
            n_calls, first, last, n_bytes = run
            if n_calls >= min_calls and last > first:
                all_bytes = max(n_bytes, self.to[rank].between(first, last),
                                self.of[sender].between(first, last) if sender != "" else 0)
                paces[rank].append(((last - first) / all_bytes, n_bytes))

        for rank, connection, n_bytes, end, sender in self.rows:
            key = rank, connection
            if n_bytes < min_bytes:
                if key in open_runs:
                    end_run(rank, sender, open_runs.pop(key))
            elif key in open_runs:
                n_calls, first, _, sum_bytes = open_runs[key]
                open_runs[key] = n_calls + 1, first, end, sum_bytes + n_bytes
            else:
                open_runs[key] = 1, end, end, 0
        senders = {(rank, connection): sender for rank, connection, _, _, sender in self.rows}
        for key, run in open_runs.items():
            end_run(key[0], senders[key], run)
        return paces


def weighted_median(rows):
    half = sum(weight for _, weight in rows) / 2
    for value, weight in sorted(rows):
        half -= weight
        if half <= 0:
            return value
    return 0


def errors(recordings, paces_of, choice):
    """Of each rank whose pace is known, its error in %."""
    found = []
    for recording in recordings:
        paces = paces_of[recording.kind.name, choice["MIN_CALL_BYTES"], choice["MIN_CALLS"]]
        for runs in paces.values():
            if len(runs) >= choice["MIN_RUNS"]:
                found.append(100 * (weighted_median(runs) / recording.ns_per_byte - 1))
    return found


def told(values):
    if not values:
        return f"{'-':>26}"
    return f"{statistics.fmean(map(abs, values)):7.2f} {max(values, key=abs):+8.2f} {len(values):4d} ranks"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tacho", type=pathlib.Path, default=SOURCE_DIR / "build/default/bin/tacho")
    parser.add_argument("--work", type=pathlib.Path, default=SOURCE_DIR / "build/kit", help="where the kit's are unpacked")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    links = json.loads((SOURCE_DIR / "validate/kit/measured.json").read_text())["links"]
    recordings = []
    for kind in read_kinds().values():
        folder = None if kind.beside else folder_of(kind.program, options.work)
        if folder:
            mbit = links[f"{BASE[0]}mbit" + ("-switch" if kind.ranks > 2 else "")]
            rows = receives(options.tacho, [folder / f"r{rank}.tacho" for rank in range(kind.ranks)])
            recordings.append(Recording(kind, rows, 8000 / mbit))
    text = SOURCE.read_text()
    now = {name: int(re.search(rf"#define {name}\s+(\d+)", text).group(1)) for name in CHOICES}
    paces_of = {(recording.kind.name, n_bytes, n_calls): recording.paces(n_bytes, n_calls) for recording in recordings
                for n_bytes in CHOICES["MIN_CALL_BYTES"] for n_calls in CHOICES["MIN_CALLS"]}
    halves = {half: [recording for recording in recordings if recording.kind.half == half] for half in ("tuned", "aside")}
    print(f"{'mean |error| %, worst, of':28} {'tuned':>26} {'aside':>26}")
    for name, values in CHOICES.items():
        for value in values:
            choice = {**now, name: value}
            print(f"{name} = {value:<5}{' (now)' if value == now[name] else '':6}".ljust(28), *(
                told(errors(of_half, paces_of, choice)) for of_half in halves.values()))
    for recording in recordings:
        print(f"{recording.kind.name:28}", told(errors([recording], paces_of, now)))
    best = fit(halves["tuned"], paces_of)
    print("fitted on the tuned half:", best, *(told(errors(of_half, paces_of, best)) for of_half in halves.values()))
    print("as it is:", now, *(told(errors(of_half, paces_of, now)) for of_half in halves.values()))
    return 0


def fit(recordings, paces_of):
    choices = [dict(zip(CHOICES, values)) for values in itertools.product(*CHOICES.values())]
    found = [(choice, errors(recordings, paces_of, choice)) for choice in choices]
    most = max(len(values) for _, values in found)
    return min((row for row in found if len(row[1]) == most), key=lambda row: statistics.fmean(map(abs, row[1])))[0]


if __name__ == "__main__":
    sys.exit(main())
