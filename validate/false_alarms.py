#!/usr/bin/env python3
"""How often `tacho diff` calls the same job different, and whether it finds a slower data loader.

    validate/false_alarms.py --tacho build/default/bin/tacho --python /usr/bin/python3 --work /tmp/alarms

Each job is recorded 20 times as it is, and 6 times with a data loader that takes twice as long, in turn. Runs of
the job as it is are then compared with each other, of each number of runs a side in some draws without putting back,
and with the slower ones. What is printed is the table of docs/diff.md. A recording that is already in --work is not
made again.
"""

import argparse
import itertools
import json
import math
import os
import random
import statistics
import subprocess

N_SAME = 20
N_SLOW = 6
DRAWS = 100
LEVEL = 0.05

JOBS = {  # how it is launched, its options, what reading a sample takes
    "1 rank": ([], ["--model", "mlp", "--width", "256", "--steps", "20", "--batch", "16"], 1.0),
    "2 ranks": (["-n", "2"], ["--model", "mlp", "--width", "128", "--steps", "20", "--batch", "8"], 1.0),
    "2 ranks, slow disk": (["-n", "2"], ["--model", "mlp", "--width", "128", "--steps", "20", "--batch", "8"], 5.0),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tacho", required=True)
    parser.add_argument("--python", default="python3", help="the one with PyTorch")
    parser.add_argument("--work", required=True, help="folder of the recordings")
    parser.add_argument("--job", action="append", choices=sorted(JOBS), help="only this one")
    return parser.parse_args()


def record(arguments, job, path, times):
    if os.path.exists(path):
        return
    launch, options, read_ms = JOBS[job]
    example = os.path.join(os.path.dirname(__file__), "..", "examples", "ddp_train.py")
    subprocess.run([arguments.tacho, "record", "--quiet", *launch, "-o", path, "--", arguments.python,
                    example, *options, "--read-ms", str(times * read_ms)],
                   check=True, stdout=subprocess.DEVNULL)


def record_all(arguments, job):
    """The runs of the job as it is, and the slower ones."""
    name = job.replace(" ", "_").replace(",", "")
    same = [os.path.join(arguments.work, f"{name}_same{i}.tacho") for i in range(N_SAME)]
    slow = [os.path.join(arguments.work, f"{name}_slow{i}.tacho") for i in range(N_SLOW)]
    for i, path in enumerate(same):
        record(arguments, job, path, 1)
        if i < N_SLOW:
            record(arguments, job, slow[i], 2)
    return same, slow


def compare(arguments, base, other):
    """The step time and the rows of operations, as `tacho diff` says."""
    answer = subprocess.run([arguments.tacho, "diff", "--json", "--view", "op", ",".join(base), ",".join(other)],
                            check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)["comparisons"][0]


def step_means_ms(arguments, path):
    """A value a step, the mean of its ranks; the first steps are left out as everywhere."""
    answer = subprocess.run([arguments.tacho, "report", "--view", "step", "--json", path],
                            check=True, capture_output=True, text=True)
    steps = {}
    for row in json.loads(answer.stdout):
        if row["state"] == "steady":
            steps.setdefault(row["step"], []).append(row["duration_ms"])
    return [statistics.mean(values) for values in steps.values()]


def steps_differ(first, second):
    """Welch's test of steps; these are more than 15 a side, so that the normal distribution is near enough."""
    error = math.sqrt(statistics.variance(first) / len(first) + statistics.variance(second) / len(second))
    z = abs(statistics.mean(first) - statistics.mean(second)) / error
    return math.erfc(z / math.sqrt(2)) <= LEVEL


def draw(same, n):
    runs = random.sample(same, 2 * n)
    return runs[:n], runs[n:]


def share(n, of):
    return f"{100 * n / of:.0f} % of {of}"


def measure_same(arguments, job, same, n):
    """One row: a number of runs a side, of the same job."""
    pairs = list(itertools.combinations(same, 2)) if n == 1 else None
    sides = [([a], [b]) for a, b in pairs] if pairs else [draw(same, n) for _ in range(DRAWS)]
    results = [compare(arguments, base, other) for base, other in sides]
    called = sum(bool(result["step_time"]["is_significant"]) for result in results)
    rows = [row for result in results for row in result["op"]]
    wrong_rows = sum(bool(row["is_significant"]) for row in rows)
    print(f"| {job} | the same job | {n} | {share(called, len(sides))} | {share(wrong_rows, len(rows))} |")


def measure_slow(arguments, job, same, slow, n):
    """Only runs that were recorded in turn: the machine is another one an hour later."""
    turns = [random.sample(range(N_SLOW), n) for _ in range(DRAWS)]
    sides = [([same[i] for i in turn], [slow[i] for i in turn]) for turn in turns]
    results = [compare(arguments, base, other) for base, other in sides]
    found = sum(bool(result["step_time"]["is_significant"]) for result in results)
    change = statistics.median(result["step_time"]["difference_pct"] for result in results)
    print(f"| {job} | the loader takes twice as long ({change:+.0f} %) | {n} | {share(found, len(sides))} | |")


def measure(arguments, job):
    same, slow = record_all(arguments, job)
    steps = [step_means_ms(arguments, path) for path in same]
    pairs = list(itertools.combinations(steps, 2))
    alarms = sum(steps_differ(first, second) for first, second in pairs)
    means = [statistics.mean(values) for values in steps]
    spread = 100 * statistics.stdev(means) / statistics.mean(means)
    within = 100 * statistics.mean(statistics.stdev(values) for values in steps) / statistics.mean(means)
    print(f"| {job} | the same job, its steps taken as the values | 1 | {share(alarms, len(pairs))} | |")
    for n in 1, 2, 3, 5, 10:
        measure_same(arguments, job, same, n)
    for n in 1, 2, 3, 5:
        measure_slow(arguments, job, same, slow, n)
    print(f"<!-- {job}: means of runs differ by {spread:.1f} %, steps of a run by {within:.1f} % -->")


def main():
    arguments = parse_arguments()
    random.seed(1)
    os.makedirs(arguments.work, exist_ok=True)
    print("| job | compared | runs a side | step called different | rows called different |")
    print("|---|---|---|---|---|")
    for job in arguments.job or JOBS:
        measure(arguments, job)


if __name__ == "__main__":
    main()
