#!/usr/bin/env python3
"""What recording costs a job, by the wall clock: recorded and unrecorded runs in turn.

    ab.py [--build BUILD_DIR] [--pairs 10] [--steps 60] [--json]

Every pair runs the job once unrecorded and once recorded, the first of the two by turns, each rank
pinned to a core of its own. A run's figure is the median of its training steps' durations, taken in
the job itself by the same few lines in both arms, so that the start of Python and of the process
group is not in it. The result is the median over the pairs of recorded / unrecorded - 1, with a
bootstrap interval of 95 %. Nothing but this should run on the machine meanwhile; the load found
before each run is printed. The same is told of the CPU time of the step, all threads of the process
together (tacho's own too), which other programs disturb less.
"""

import argparse
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Runs the unmodified example with a clock around the optimizer's steps.
TIMED = """
import runpy, statistics, sys, time
import torch
ends = []
step = torch.optim.SGD.step
def timed_step(self, *arguments, **named):
    result = step(self, *arguments, **named)
    ends.append((time.perf_counter(), time.process_time()))
    return result
torch.optim.SGD.step = timed_step
script = sys.argv[1]
sys.argv = sys.argv[1:]
runpy.run_path(script, run_name="__main__")
pairs = list(zip(ends[5:], ends[6:]))
wall, cpu = (1000 * statistics.median(after[i] - before[i] for before, after in pairs) for i in (0, 1))
print("step_ms", wall, cpu, flush=True)
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--probes", default="all")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_rank(arguments, folder, is_recorded, rank, port):
    """One rank, on a core of its own."""
    cores = sorted(os.sched_getaffinity(0))
    command = [arguments.python, os.path.join(folder, "timed.py"),
               os.path.join(SOURCE_DIR, "examples", "ddp_train.py"), "--model", arguments.model,
               "--steps", str(arguments.steps), "--batch", str(arguments.batch)]
    if is_recorded:
        command = [os.path.join(arguments.build, "bin", "tacho"), "record", "--quiet", "--force",
                   "--probes", arguments.probes, "-o", os.path.join(folder, f"rank{rank}.tacho"), "--"] + command
    environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(arguments.ranks),
                       LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                       OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    return subprocess.Popen(["taskset", "-c", str(cores[rank % len(cores)])] + command,
                            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def run_job(arguments, folder, is_recorded):
    """One run: the median step of its slowest rank in ms, by the wall clock and in CPU time."""
    port = free_port()
    ranks = [start_rank(arguments, folder, is_recorded, rank, port)
             for rank in range(arguments.ranks)]
    steps = []
    for process in ranks:
        output, errors = process.communicate()
        found = re.search(r"^step_ms (\S+) (\S+)$", output, re.MULTILINE)
        if process.returncode or not found:
            sys.exit(f"ab.py: a rank failed ({process.returncode}):\n{output}{errors}")
        steps.append((float(found.group(1)), float(found.group(2))))
    return [max(column) for column in zip(*steps)]


def interval(values, n_resamples=10000):
    """The 95 % bootstrap interval of the median; the same for the same values."""
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values)))
                     for _ in range(n_resamples))
    return medians[int(0.025 * n_resamples)], medians[int(0.975 * n_resamples)]


def compare(pairs, clock):
    """The medians of both arms and of their ratio."""
    unrecorded = [pair[f"unrecorded_{clock}ms"] for pair in pairs]
    recorded = [pair[f"recorded_{clock}ms"] for pair in pairs]
    slowdowns = [100 * (after / before - 1) for before, after in zip(unrecorded, recorded)]
    return {"unrecorded_ms": statistics.median(unrecorded),
            "recorded_ms": statistics.median(recorded),
            "slowdown_pct": statistics.median(slowdowns), "interval_pct": interval(slowdowns)}


def main():
    arguments = parse_arguments()
    if not shutil.which("taskset"):
        sys.exit("ab.py: taskset (util-linux) is not there")
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "timed.py"), "w", encoding="utf-8") as script:
            script.write(TIMED)
        for is_recorded in (False, True):  # to warm up: page cache, probe built
            run_job(arguments, folder, is_recorded)
        for number in range(arguments.pairs):
            load = os.getloadavg()[0]
            order = (False, True) if number % 2 == 0 else (True, False)
            taken = {is_recorded: run_job(arguments, folder, is_recorded) for is_recorded in order}
            pairs.append({"unrecorded_ms": taken[False][0], "recorded_ms": taken[True][0],
                          "unrecorded_cpu_ms": taken[False][1], "recorded_cpu_ms": taken[True][1],
                          "load": load})
            if not arguments.json:
                print("pair {:2}: wall {unrecorded_ms:8.3f} -> {recorded_ms:8.3f} ms, CPU "
                      "{unrecorded_cpu_ms:8.3f} -> {recorded_cpu_ms:8.3f} ms, load before {load:.1f}"
                      .format(number + 1, **pairs[-1]), flush=True)
    result = {"model": arguments.model, "ranks": arguments.ranks, "steps": arguments.steps,
              "batch": arguments.batch, "pairs": pairs, "wall": compare(pairs, ""),
              "cpu": compare(pairs, "cpu_")}
    if arguments.json:
        print(json.dumps(result, indent=1))
        return
    for clock, title in (("wall", "wall clock"), ("cpu", "CPU time  ")):
        print("{}: step {unrecorded_ms:.3f} ms unrecorded, {recorded_ms:.3f} ms recorded, slowdown "
              "{slowdown_pct:+.2f} %, 95 % interval [{interval_pct[0]:+.2f}, {interval_pct[1]:+.2f}] %"
              .format(title, **result[clock]))


if __name__ == "__main__":
    main()
