#!/usr/bin/env python3
"""What recording costs a job's step, step by step: recorded and unrecorded steps of one process in turn.

    alternate.py [--build BUILD_DIR] [--model cnn] [--probes all] [--steps 400] [--json]

Whole runs of a job differ by more than recording costs, most of all on a virtual machine. So here one
recorded process trains, and switches every second step back to what an unrecorded one does: PyTorch's
record functions off, recording off, the Python hook's module hooks out. Which of a pair comes first is
drawn. What stays in both arms is the look that the preloaded probes take at whether they are to record.
The result is the median over the pairs of (recorded - unrecorded) / median unrecorded step, with a
bootstrap interval of 95 %, by the wall clock and by the CPU time of the process, its helper included.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WARM_UP_STEPS = 20


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--probes", default="all")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def interval(values, n_resamples=2000):
    """The median of the values and its 95 % bootstrap interval."""
    rng = random.Random(1)
    medians = sorted(
        statistics.median(rng.choices(values, k=len(values))) for _ in range(n_resamples)
    )
    return statistics.median(values), medians[n_resamples // 40], medians[-n_resamples // 40]


# --- in the job ---------------------------------------------------------------------------------


class Switch:
    """Between a recorded process and an unrecorded one."""

    def __init__(self):
        import ctypes
        import torch
        import torch.nn.modules.module as module

        self.agent = ctypes.CDLL(None)
        self.enable_record_function = torch._C._autograd._enable_record_function
        self.hooks = [module._global_forward_pre_hooks, module._global_forward_hooks]
        self.kept = [dict(hooks) for hooks in self.hooks]

    def set(self, is_recorded):
        self.enable_record_function(is_recorded)
        self.agent.tacho_recording_set(is_recorded)
        for hooks, kept in zip(self.hooks, self.kept):
            hooks.clear()
            if is_recorded:
                hooks.update(kept)


def train_by_turns(arguments):
    import time

    sys.path.insert(0, os.path.join(SOURCE_DIR, "examples"))
    import ddp_train
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = ddp_train.MODELS[arguments.model]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    samples = torch.randn(arguments.batch, *model.sample_shape)
    labels = torch.randint(0, ddp_train.N_CLASSES, (arguments.batch,))

    def step():
        begin = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(samples), labels).backward()
        optimizer.step()
        return time.perf_counter() - begin[0], time.process_time() - begin[1]

    for _ in range(WARM_UP_STEPS):
        step()
    switch = Switch()
    rng = random.Random(2)
    pairs = []
    for _ in range(arguments.steps // 2):
        order = [True, False]
        rng.shuffle(order)
        times = {}
        for is_recorded in order:
            switch.set(is_recorded)
            times[is_recorded] = step()
        pairs.append((times[False], times[True]))
    switch.set(True)
    with open(os.environ["ALTERNATE_OUT"], "w") as out:
        json.dump(pairs, out)


# --- around it ----------------------------------------------------------------------------------


def run_job(arguments, folder):
    run = os.path.join(folder, "alternate.tacho")
    tacho = os.path.join(arguments.build, "bin", "tacho")
    environment = dict(os.environ, ALTERNATE_OUT=os.path.join(folder, "pairs.json"))
    inside = [arguments.python, os.path.abspath(__file__), "--inside", "--model", arguments.model,
              "--batch", str(arguments.batch), "--steps", str(arguments.steps)]
    subprocess.run([tacho, "record", "-q", "--probes", arguments.probes, "-o", run, "--"] + inside, env=environment, check=True)
    info = json.loads(subprocess.run([tacho, "info", run, "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    with open(environment["ALTERNATE_OUT"]) as file:
        return json.load(file), info


def summarise(pairs, which):
    unrecorded = statistics.median(off[which] for off, on in pairs)
    extra = [(on[which] - off[which]) / unrecorded * 100 for off, on in pairs]
    median, low, high = interval(extra)
    return {"unrecorded_ms": unrecorded * 1000, "slowdown_pct": median, "interval_pct": [low, high]}


def main():
    arguments = parse_arguments()
    if arguments.inside:
        train_by_turns(arguments)
        return
    with tempfile.TemporaryDirectory() as folder:
        pairs, info = run_job(arguments, folder)
    result = {"model": arguments.model, "batch": arguments.batch, "pairs": len(pairs),
              "wall": summarise(pairs, 0), "cpu": summarise(pairs, 1),
              "events": info["events"], "dropped_events": info["dropped_events"],
              "ops": info["kinds"].get("op", 0),
              "stated_pct": info["record_cost_step_pct"]}
    if arguments.json:
        print(json.dumps(result))
        return
    n_recorded = len(pairs) + WARM_UP_STEPS
    print(f"{arguments.model}, batch {arguments.batch}, {len(pairs)} pairs of steps, "
          f"{result['events'] // n_recorded} events and {result['ops'] // n_recorded} operations a "
          f"recorded step, {result['dropped_events']} dropped")
    for name, row in (("wall clock", result["wall"]), ("CPU time", result["cpu"])):
        low, high = row["interval_pct"]
        print(f"  {name:10} unrecorded step {row['unrecorded_ms']:.2f} ms, recorded "
              f"{row['slowdown_pct']:+.2f} % [{low:+.2f}, {high:+.2f}]")


if __name__ == "__main__":
    main()
