#!/usr/bin/env python3
"""What an operation of PyTorch costs more under tacho and under PyTorch's own profiler.

    bench/profilers.py [--tacho build/default/bin/tacho] [--rounds 300] [--turns 3]

Run it with the Python whose PyTorch is meant. Each way runs in a process of its own, --turns times by turns: rounds of 500 operations
(`add` of two small tensors into a third), of which the least processor time of the thread counts, so that other programs on the
machine matter little. What a profiler does when it stops, outside the loop, is stated by itself, in processor time of the process.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

OPERATIONS = 500


def rounds_ns(n_rounds):
    import torch

    torch.set_num_threads(1)
    a, b, c = torch.ones(4), torch.ones(4), torch.ones(4)
    best = float("inf")
    for _ in range(n_rounds):
        begin = time.thread_time_ns()
        for _ in range(OPERATIONS):
            torch.add(a, b, out=c)
        best = min(best, (time.thread_time_ns() - begin) / OPERATIONS)
    return best


def child(how, n_rounds):
    import torch

    after_ns = 0
    if how == "bare":
        best = rounds_ns(n_rounds)
    else:
        options = {"profiler": {}, "profiler-shapes": {"record_shapes": True},
                   "profiler-stacks": {"record_shapes": True, "with_stack": True}}[how]
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options)
        profiler.start()
        best = rounds_ns(n_rounds)
        begin = time.process_time_ns()
        profiler.stop()
        with tempfile.TemporaryDirectory() as folder:
            profiler.export_chrome_trace(os.path.join(folder, "trace.json"))
        after_ns = (time.process_time_ns() - begin) / (n_rounds * OPERATIONS)
    print("%.1f %.1f" % (best, after_ns))


def measure(before, how, n_rounds):
    done = subprocess.run(before + [sys.executable, os.path.abspath(__file__), "--child", how, "--rounds", str(n_rounds)],
                          env=dict(os.environ, OMP_NUM_THREADS="1"), capture_output=True, text=True, check=True)
    return tuple(float(word) for word in done.stdout.split())


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tacho", default=os.path.join(here, "build", "default", "bin", "tacho"))
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--child")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        record = [arguments.tacho, "record", "-q", "--force", "-o", os.path.join(folder, "run")]
        ways = [("bare", [], "bare"),
                ("tacho, all probes", record + ["--"], "bare"),
                ("tacho, shapes of all operations", record + ["--shapes-every", "1", "--"], "bare"),
                ("torch.profiler", [], "profiler"),
                ("torch.profiler, record_shapes", [], "profiler-shapes"),
                ("torch.profiler, record_shapes and with_stack", [], "profiler-stacks")]
        results = {name: [] for name, _, _ in ways}
        for _ in range(arguments.turns):
            for name, before, how in ways:
                results[name].append(measure(before, how, arguments.rounds))
    bare = min(result[0] for result in results["bare"])
    print("load %.0f at the end; ns an operation, least of %d processes" % (os.getloadavg()[0], arguments.turns))
    for name, _, _ in ways:
        best, after = min(result[0] for result in results[name]), min(result[1] for result in results[name])
        print("%-46s %8.1f  +%7.1f  behind the loop %8.1f" % (name, best, best - bare, after))


main()
