#!/usr/bin/env python3
"""What recording costs a job, by the wall clock: recorded and unrecorded runs in turn.

    ab.py [--build BUILD_DIR] [--pairs 10] [--steps 60] [--json]

Every pair runs the job once unrecorded and once recorded, the first of the two by turns, each rank
pinned to a core of its own. A run's figure is the median of its training steps' durations, taken in
the job itself by the same few lines in both arms, so that the start of Python and of the process
group is not in it. The result is the median over the pairs of recorded / unrecorded - 1, with a
bootstrap interval of 95 %. Nothing but this should run on the machine meanwhile; the load found
before each run is printed.
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
    ends.append(time.perf_counter())
    return result
torch.optim.SGD.step = timed_step
script = sys.argv[1]
sys.argv = sys.argv[1:]
runpy.run_path(script, run_name="__main__")
steps = [after - before for before, after in zip(ends[5:], ends[6:])]
print("step_ms", 1000 * statistics.median(steps), flush=True)
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_job(arguments, folder, is_recorded):
    """One run; the median step of its slowest rank, in ms."""
    cores = sorted(os.sched_getaffinity(0))
    port = free_port()
    ranks = []
    for rank in range(arguments.ranks):
        core = cores[rank % len(cores)]
        command = [arguments.python, os.path.join(folder, "timed.py"),
                   os.path.join(SOURCE_DIR, "examples", "ddp_train.py"),
                   "--model", arguments.model, "--steps", str(arguments.steps),
                   "--batch", str(arguments.batch)]
        if is_recorded:
            command = [os.path.join(arguments.build, "bin", "tacho"), "record", "--quiet", "--force",
                       "-o", os.path.join(folder, f"rank{rank}.tacho"), "--"] + command
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(arguments.ranks),
                           LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                           OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
        ranks.append(subprocess.Popen(["taskset", "-c", str(core)] + command, env=environment,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    steps_ms = []
    for process in ranks:
        output, errors = process.communicate()
        found = re.search(r"^step_ms (\S+)$", output, re.MULTILINE)
        if process.returncode or not found:
            sys.exit(f"ab.py: a rank failed ({process.returncode}):\n{output}{errors}")
        steps_ms.append(float(found.group(1)))
    return max(steps_ms)


def interval(values, n_resamples=10000):
    """The 95 % bootstrap interval of the median; the same for the same values."""
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values)))
                     for _ in range(n_resamples))
    return medians[int(0.025 * n_resamples)], medians[int(0.975 * n_resamples)]


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
            pairs.append({"unrecorded_ms": taken[False], "recorded_ms": taken[True], "load": load})
            if not arguments.json:
                print(f"pair {number + 1:3}: {taken[False]:8.3f} ms unrecorded, {taken[True]:8.3f} ms "
                      f"recorded, load before {load:.1f}", flush=True)
    slowdowns = [100 * (pair["recorded_ms"] / pair["unrecorded_ms"] - 1) for pair in pairs]
    low, high = interval(slowdowns)
    result = {"model": arguments.model, "ranks": arguments.ranks, "steps": arguments.steps,
              "pairs": pairs, "slowdown_pct": statistics.median(slowdowns),
              "interval_pct": [low, high],
              "unrecorded_ms": statistics.median(pair["unrecorded_ms"] for pair in pairs),
              "recorded_ms": statistics.median(pair["recorded_ms"] for pair in pairs)}
    if arguments.json:
        print(json.dumps(result, indent=1))
    else:
        print(f"step {result['unrecorded_ms']:.3f} ms unrecorded, {result['recorded_ms']:.3f} ms recorded: "
              f"slowdown {result['slowdown_pct']:+.2f} %, 95 % interval [{low:+.2f}, {high:+.2f}] %")


if __name__ == "__main__":
    main()
