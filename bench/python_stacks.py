"""What sampling the stacks of a Python program costs it: tacho's thread in the process beside py-spy from outside.

    bench/python_stacks.py TACHO [--py-spy PY_SPY] [--python PYTHON] [--rounds N] [--threads N] [--pin CORES]

A program does a fixed amount of work in Python, bare and under each sampler in turn, N rounds. Printed are medians over the rounds: how long
the work took, and how much processor time the program and its sampler took together, each beside the bare program's; the intervals are
those of the ratios' medians (binomial, 95 %).
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

JOB = """
import sys, threading, time


def leaf(n):
    return n * 3 % 7


def middle(n):
    return sum(leaf(i) for i in range(n))


def deep(n, depth):
    return deep(n, depth - 1) if depth else middle(n)


def waits(is_over):
    is_over.wait()


is_over = threading.Event()
threads = [threading.Thread(target=waits, args=(is_over,)) for _ in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
time.sleep(0.3)
begin = time.perf_counter()
for _ in range(1500):
    deep(2500, 20)
print(time.perf_counter() - begin)
is_over.set()
"""


def median_interval(values):
    """The median, and its 95 % interval by order statistics."""
    ordered, n = sorted(values), len(values)
    reach = 0.98 * n**0.5
    low, high = int(max(n / 2 - reach, 0)), int(min(n / 2 + reach, n - 1))
    return statistics.median(ordered), ordered[low], ordered[high]


def run(command):
    """Seconds of work as the program tells them, and of processor time, of all of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = [line for line in output.splitlines() if line.strip().replace(".", "", 1).isdigit()][-1]
    return float(line), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tacho")
    parser.add_argument("--py-spy")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pin", help="cores, as taskset has them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.py")
        with open(path, "w") as file:
            file.write(JOB)
        job = [options.python, "-S", path, str(options.threads)]
        record = [options.tacho, "record", "-q", "--force", "-o", os.path.join(folder, "run"), "--probes", "python"]
        samplers = {"bare": job, "tacho": record + ["--"] + job, "tacho --python=off": record + ["--python=off", "--"] + job}
        if options.py_spy:
            spy = [options.py_spy, "record", "-r", "100", "-f", "raw", "-o", os.path.join(folder, "raw")]
            samplers["py-spy"] = spy + ["--"] + job
            samplers["py-spy --nonblocking"] = spy + ["--nonblocking", "--"] + job
            samplers["py-spy --native"] = spy + ["--native", "--"] + job
        pin = ["taskset", "-c", options.pin] if options.pin else []
        taken = {name: [] for name in samplers}
        for _ in range(options.rounds):
            for name, command in samplers.items():
                taken[name].append(run(pin + command))
                time.sleep(0.2)
        for name, runs in taken.items():
            seconds = statistics.median(run[0] for run in runs)
            ratios = [run[0] / bare[0] for run, bare in zip(runs, taken["bare"])]
            middle, low, high = median_interval(ratios)
            extra = statistics.median(run[1] - bare[1] for run, bare in zip(runs, taken["bare"]))
            print("%-22s %6.3f s   x %.3f (%.3f .. %.3f)   %+.3f s of processor time" % (name, seconds, middle, low, high, extra))


main()
