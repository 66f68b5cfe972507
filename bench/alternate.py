#!/usr/bin/env python3
"""What recording costs a job's step, step by step: recorded and unrecorded steps of one process in turn.

    alternate.py [--build BUILD_DIR] [--model cnn] [--probes all] [--steps 400] [--processes 1]
                 [--ranks 1] [--keep-memory] [--null] [--json]

Whole runs of a job differ by more than recording costs, most of all on a virtual machine. So here one
recorded process trains, and its steps take turns, in threes whose order is drawn:
  unrecorded   as in an unrecorded job: PyTorch's record functions off, recording off, the Python hook's
               module hooks out; what stays is the probes' look at whether they are to record
  called back  the same, but PyTorch calls back, with inputs and outputs, and the callback returns at
               once: what PyTorch takes of any tool that asks for these
  recorded     all is recorded
The result is the median over the threes of (step - unrecorded step) / median unrecorded step, with a
bootstrap interval of 95 %, by the wall clock and by the CPU time of the process, its helper included.

With --ranks N it is N processes of a data-parallel job (gloo, on TCP), a core each, whose steps take the
same turns; the figures are those of rank 0, which waits for the others in each step.

Processes differ, too, by where their memory lies. With --processes N the result is the mean of the N
processes' medians, and its interval is of the processes drawn anew. Two more options tell what is at
work: --null, where all steps are unrecorded, says what the method finds where there is nothing;
--keep-memory has malloc keep what is freed, so that no step maps its large tensors anew.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

import ab

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WARM_UP_STEPS = 20
ARMS = ("unrecorded", "called back", "recorded")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--probes", default="all")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--keep-memory", action="store_true")
    parser.add_argument("--null", action="store_true", help="all steps unrecorded")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def interval(values, average=statistics.median, n_resamples=2000):
    """The average of the values and its 95 % bootstrap interval."""
    rng = random.Random(1)
    averages = sorted(average(rng.choices(values, k=len(values))) for _ in range(n_resamples))
    return average(values), averages[n_resamples // 40], averages[-n_resamples // 40]


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

    def set(self, arm):
        is_recorded = arm == "recorded"
        self.enable_record_function(arm != "unrecorded")
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
    rank = int(os.environ.get("RANK", "0"))
    if arguments.ranks > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)

    def step():
        begin = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(samples), labels).backward()
        optimizer.step()
        return time.perf_counter() - begin[0], time.process_time() - begin[1]

    for _ in range(WARM_UP_STEPS):
        step()
    switch = Switch()
    rng = random.Random(os.environ.get("ALTERNATE_SEED"))
    turns = []
    for _ in range(arguments.steps // len(ARMS)):
        times = {}
        for arm in rng.sample(ARMS, len(ARMS)):
            switch.set("unrecorded" if arguments.null else arm)
            times[arm] = step()
        turns.append(times)
    switch.set("recorded")
    if rank == 0:
        with open(os.environ["ALTERNATE_OUT"], "w") as out:
            json.dump(turns, out)


# --- around it ----------------------------------------------------------------------------------


# As many ranks as $0 says, each on a core of its own where there are enough.
START_RANKS = """
n=$(nproc)
i=0
while [ $i -lt $0 ]; do
	RANK=$i LOCAL_RANK=$i taskset -c $((i % n)) "$@" &
	pids="$pids $!"
	i=$((i + 1))
done
for pid in $pids; do
	wait $pid || exit 1
done
"""


def run_job(arguments, folder):
    run = os.path.join(folder, "alternate.tacho")
    tacho = os.path.join(arguments.build, "bin", "tacho")
    environment = dict(os.environ, ALTERNATE_OUT=os.path.join(folder, "turns.json"))
    inside = [arguments.python, os.path.abspath(__file__), "--inside", "--model", arguments.model,
              "--batch", str(arguments.batch), "--steps", str(arguments.steps), "--ranks", str(arguments.ranks)]
    if arguments.null:
        inside.append("--null")
    if arguments.keep_memory:
        environment.update(MALLOC_MMAP_THRESHOLD_=str(2**30), MALLOC_TRIM_THRESHOLD_=str(2**32))
    if arguments.ranks > 1:
        inside = ["sh", "-c", START_RANKS, str(arguments.ranks)] + inside
        environment.update(WORLD_SIZE=str(arguments.ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(ab.free_port()),
                           GLOO_SOCKET_IFNAME="lo", ALTERNATE_SEED=str(random.random()))
    subprocess.run([tacho, "record", "-q", "--force", "--probes", arguments.probes, "-o", run, "--"]
                   + inside, env=environment, check=True)
    info = json.loads(subprocess.run([tacho, "info", run, "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    with open(environment["ALTERNATE_OUT"]) as file:
        return json.load(file), info


def slowdowns(turns, arm, clock):
    """Of each turn, in percent of the median unrecorded step."""
    unrecorded = statistics.median(times["unrecorded"][clock] for times in turns)
    return [(times[arm][clock] - times["unrecorded"][clock]) / unrecorded * 100 for times in turns]


def summarise(processes, arm, clock):
    medians = [statistics.median(slowdowns(turns, arm, clock)) for turns in processes]
    if len(processes) == 1:
        average, low, high = interval(slowdowns(processes[0], arm, clock))
    else:
        average, low, high = interval(medians, statistics.mean)
    return {"slowdown_pct": average, "interval_pct": [low, high], "processes_pct": medians}


def main():
    arguments = parse_arguments()
    if arguments.inside:
        train_by_turns(arguments)
        return
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.processes):
            turns, info = run_job(arguments, folder)
            processes.append(turns)
    clocks = {"wall": 0, "cpu": 1}
    result = {"model": arguments.model, "batch": arguments.batch, "turns": len(turns),
              "processes": len(processes),
              "events": info["events"], "dropped_events": info["dropped_events"],
              "ops": info["kinds"].get("op", 0),
              "stated_pct": info["record_cost_step_pct"]}
    for name, clock in clocks.items():
        result[name] = {arm: summarise(processes, arm, clock) for arm in ARMS[1:]}
        result[name]["unrecorded_ms"] = 1000 * statistics.median(
            times["unrecorded"][clock] for turns in processes for times in turns)
    if arguments.json:
        print(json.dumps(result))
        return
    n_recorded = WARM_UP_STEPS + (0 if arguments.null else len(turns))
    print(f"{arguments.model}, batch {arguments.batch}, {len(processes)} times {len(turns)} turns, "
          f"{result['events'] // n_recorded} events and {result['ops'] // n_recorded} operations a "
          f"recorded step, {result['dropped_events']} dropped")
    for name in clocks:
        print(f"  {name}: unrecorded step {result[name]['unrecorded_ms']:.2f} ms")
        for arm in ARMS[1:]:
            row = result[name][arm]
            low, high = row["interval_pct"]
            print(f"    {arm:11} {row['slowdown_pct']:+.2f} % [{low:+.2f}, {high:+.2f}]; by process "
                  + " ".join(f"{pct:+.2f}" for pct in row["processes_pct"]))


if __name__ == "__main__":
    main()
