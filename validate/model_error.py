#!/usr/bin/env python3
"""How far predictions are off by what was changed, fitted to the kit: src/predict/model_errors.def.

    model_error.py            what comes out, and whether the file is so
    model_error.py --write    write the file

A prediction P comes with bounds that the spread of steps and recordings alone gives. The interval of `tacho replay` adds an error
E of the model to their distances from P, by squares of logarithms (src/predict/prediction_interval.c). What a measured median
needs, for the interval to hold it, is then its *score*: the square root of what its squared distance from P has more than that of
the bound on its side. E is the least that is as large as nine in ten scores. Kinds of job count alike, however many cases each
has, and since a few kinds are as likely to lie below as above what all kinds have, it is the (n + 1) / n of nine in ten that counts for
n kinds (V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World, 2005; of groups: R. Dunn, L. Wasserman,
A. Ramdas, Distribution-free prediction sets for two-layer hierarchical models, 2023).

How often such intervals hold medians of kinds that E was not fitted to is told by leaving out one kind after the other.
"""

import argparse
import math
import os
import statistics
import sys

from kinds import BASE, read_kinds
from results import load

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(SOURCE_DIR, "validate", "kit")
TABLE = os.path.join(SOURCE_DIR, "src", "predict", "model_errors.def")
HELD = 0.9

HEAD = """/* model_errors.def: how far predictions are off, by what is changed. Written by validate/model_error.py; not by hand.
 *
 * MODEL_ERROR(what is changed (enum change_accuracy), nine in ten are off by no more, of so many kinds of job, of so many medians)
 * Source: fitted by validate/model_error.py on validate/kit. */
"""

# In the order of the file.
CLASSES = {
    "ACCURACY_SAME": "nothing",
    "ACCURACY_BANDWIDTH": "bandwidth",
    "ACCURACY_LATENCY": "latency",
    "ACCURACY_BANDWIDTH | ACCURACY_LATENCY": "bandwidth and latency",
    "ACCURACY_JOBS": "another job beside",
    "ACCURACY_WORK": "how long operations take",
    "ACCURACY_BATCH": "the batch",
}


def class_of(kind, row):
    if kind.beside:
        return "ACCURACY_JOBS"
    changed = [name for name, value, base in (("ACCURACY_BANDWIDTH", row["rate_mbit"], BASE[0]),
                                              ("ACCURACY_LATENCY", row["latency_ms"], BASE[1]),
                                              ("ACCURACY_WORK" if kind.is_timed else "ACCURACY_BATCH", row.get("work", 1), 1))
               if value != base]
    return " | ".join(changed) or "ACCURACY_SAME"


def score(predicted_ms, interval_ms, model_error, measured_ms):
    """The least error of the model with which the interval, which is with `model_error`, would hold what was measured."""
    off = math.log(measured_ms / predicted_ms)
    bound = math.log(interval_ms[off > 0] / predicted_ms)
    return math.sqrt(max(off * off - max(bound * bound - model_error * model_error, 0), 0))


class Case:
    """A median, and what its prediction would have needed."""

    def __init__(self, kind, row, measured_ms):
        self.kind = kind
        self.changed = class_of(kind, row)
        self.score = score(row["predicted_ms"], row["interval_ms"], math.log1p(row["model_error_pct"] / 100), measured_ms)


def place_of(row):
    return row["kind"], row["rate_mbit"], row["latency_ms"], row.get("work", 1)


def read_cases(folder=FOLDER):
    kinds = read_kinds()
    runs = load(os.path.join(folder, "measured.json"), {"runs": []})["runs"]
    medians = {}
    for run in runs:
        if run["options"] == list(kinds[run["kind"]].options) if run["kind"] in kinds else False:
            place = place_of(run)
            medians.setdefault(place, []).append(statistics.median(run["steps_ms"]))
    cases = []
    for row in load(os.path.join(folder, "predicted.json"), {"predictions": []})["predictions"]:
        place = place_of(row)
        if place in medians and row.get("interval_ms") and "model_error_pct" in row:
            cases.append(Case(kinds[row["kind"]], row, statistics.median(medians[place])))
    return cases


def fit(cases):
    """The error of these cases, all of one class."""
    n_of_kind = {}
    for case in cases:
        n_of_kind[case.kind.name] = n_of_kind.get(case.kind.name, 0) + 1
    n = len(n_of_kind)
    wanted, sum_of = min(HELD * (n + 1) / n, 1), 0
    ordered = sorted(cases, key=lambda case: case.score)
    for case in ordered:
        sum_of += 1 / (n * n_of_kind[case.kind.name])
        if sum_of >= wanted - 1e-9:
            return case.score
    return ordered[-1].score


def held_left_out(cases):
    """Of these cases of one class, those that an error fitted to the other kinds holds."""
    held = []
    for kind in {case.kind.name for case in cases}:
        others = [case for case in cases if case.kind.name != kind]
        if others:
            error = fit(others)
            held += [case for case in cases if case.kind.name == kind and case.score <= error + 1e-9]
    return held


class Row:
    """What is known of a class."""

    def __init__(self, name, cases):
        self.name = name
        self.cases = cases
        self.error = fit(cases)
        self.n_kinds = len({case.kind.name for case in cases})
        self.held = held_left_out(cases)

    def line(self):
        return f"MODEL_ERROR({self.name}, {self.error:.4f}, {self.n_kinds}, {len(self.cases)})\n"


def rows_of(cases):
    groups = [(name, [case for case in cases if case.changed == name]) for name in CLASSES]
    return [Row(name, group) for name, group in groups if group]


def part(held, cases):
    return f"{len(held)} of {len(cases)} ({100 * len(held) / len(cases):.0f} %)" if cases else ""


def markdown(rows):
    """Lines of the table for docs/validation-kit.md."""
    lines = ["| changed | error, % | kinds | medians | held, each kind left out | of them set aside |", "|---|---|---|---|---|---|"]
    for row in rows + [None]:
        chosen = [row] if row else rows
        cases = [case for one in chosen for case in one.cases]
        held = [case for one in chosen for case in one.held]
        aside = [[case for case in some if case.kind.is_aside] for some in (held, cases)]
        name, error, n_kinds = (CLASSES[row.name], f"{100 * math.expm1(row.error):.1f}", str(row.n_kinds)) if row else \
            ("all", "", "")
        lines.append(f"| {name} | {error} | {n_kinds} | {len(cases)} | {part(held, cases)} | {part(*aside)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.split("\n", 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=FOLDER, help="of results; default: validate/kit")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows = rows_of(read_cases(arguments.folder))
    if not rows:
        sys.exit("model_error.py: nothing was predicted and measured")
    text = HEAD + "".join(row.line() for row in rows)
    print("\n".join(markdown(rows)))
    if arguments.write:
        with open(TABLE, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(TABLE, encoding="utf-8") as file:
        return 0 if file.read() == text else 1


if __name__ == "__main__":
    sys.exit(main())
