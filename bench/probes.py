#!/usr/bin/env python3
"""What each probe costs its workload: recorded by that probe alone, and not recorded, in interleaved pairs.

    probes.py [--build BUILD_DIR] [--pairs 10] [--only PROBE ...] [--minutes 30] [--any-load] [--json FILE]

A pair runs a workload once with `tacho record --probes PROBE` and once without, the one first and in the next pair the other. Its figure is
the time of a step or round, as the workload itself takes it, so that starts and ends are not in it. The result is the median of the pairs'
ratios, less 1, with the least and the greatest. Workloads take turns, so that all have as many pairs when the minutes are over. Where other
programs take more than a twentieth of the machine it waits for them to end, a minute at most, and then gives up (or --any-load).

Workloads are training of examples/ddp_train.py, and programs of the tests in rounds of some tens of microseconds of work with one or two
events each (tests/support/paced.h). What is not here has none: cuda, nccl and hsa want a device; xla is measured by slow_down.py of
tests/frameworks. The targets are those of the issue: 1 %, of malloc and kernel 3 %.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SOURCE_DIR, "tests", "frameworks"))

import ab
import slow_down

FIGURE = re.compile(r"^([0-9.]+) ns a (?:round|run)$", re.MULTILINE)


class Absent(Exception):
    """The workload cannot be run here."""


def training(model, ranks):
    """The median step of the slowest rank, in ns."""

    def measure(arguments, folder, probe):
        how = SimpleNamespace(build=arguments.build, python=arguments.python, model=model, batch=32, ranks=ranks,
                              steps=arguments.steps, probes=probe or "all")
        return 1e6 * ab.run_job(how, folder, probe is not None)[0]

    return measure


def program(make_command):
    """A program that prints its figure. `make_command(arguments, folder)` gives its words, or raises Absent."""

    def measure(arguments, folder, probe):
        command = make_command(arguments, folder)
        if probe:
            command = [os.path.join(arguments.build, "bin", "tacho"), "record", "--quiet", "--force", "--probes", probe,
                       "-o", os.path.join(folder, "run"), "--"] + command
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        found = FIGURE.findall(done.stdout)
        if done.returncode or not found:
            raise Absent("it ends with %d: %s" % (done.returncode, (done.stdout + done.stderr).strip()[-200:]))
        return float(found[-1])

    return measure


def test_program(name, *words):
    def make_command(arguments, _folder):
        path = os.path.join(arguments.build, "tests", name)
        if not os.path.exists(path):
            raise Absent("%s is not built" % path)
        return [path, *words]

    return make_command


def mpi(arguments, folder):
    for flavour in ("mpich", "openmpi"):
        path = os.path.join(folder, "mpi_job." + flavour)
        compiler = ["mpicc." + flavour, "-O1", "-w", os.path.join(SOURCE_DIR, "tests", "job", "mpi_job.c"), "-o", path]
        try:
            if os.path.exists(path) or subprocess.run(compiler, stderr=subprocess.DEVNULL).returncode == 0:
                root = ["--allow-run-as-root", "--oversubscribe"] if flavour == "openmpi" else []
                return ["mpirun." + flavour, *root, "-n", "2", path, "paced"]
        except OSError:
            continue
    raise Absent("no MPI")


def onnxruntime(arguments, folder):
    """A model of 100 layers, 3 nodes each, on the real library."""
    found = []
    for path, _, names in os.walk(os.path.join(SOURCE_DIR, "build", "onnxruntime", "node")):
        found += [os.path.join(path, name) for name in names if name == "libonnxruntime.so.1" and "/x64" in path]
    job = os.path.join(arguments.build, "tests", "standins", "onnxruntime_job")
    if not found or not os.path.exists(job):
        raise Absent("no ONNX Runtime (tools/make-onnxruntime.sh)")
    model = os.path.join(folder, "model.onnx")
    subprocess.run([os.path.join(SOURCE_DIR, "tests", "job", "tiny_onnx.py"), model, "2", "100"], check=True)
    return [job, found[0], "speed", model]


# probe -> (target in percent, what runs, how it is measured)
WORKLOADS = {
    "torch": (1, "CNN, one rank", training("cnn", 1)),
    "alloc": (1, "CNN, one rank", training("cnn", 1)),
    "blas": (1, "MLP, one rank", training("mlp", 1)),
    "dnn": (1, "CNN, one rank", training("cnn", 1)),
    "python": (1, "CNN, one rank", training("cnn", 1)),
    "socket": (1, "CNN, two ranks by gloo on TCP", training("cnn", 2)),
    "kernel": (3, "CNN, two ranks by gloo on TCP", training("cnn", 2)),
    "malloc": (3, "CNN, one rank", training("cnn", 1)),
    "itt": (1, "a task a round", program(test_program("itt_calls", "paced"))),
    "nvtx": (1, "a range a round", program(test_program("nvtx_calls", "paced"))),
    "opencl": (1, "a kernel a round, waited for (PoCL)", program(test_program("opencl_calls", "paced"))),
    "mpi": (1, "a message each way a round, two ranks", program(mpi)),
    "onnxruntime": (1, "a model of 300 nodes a run", program(onnxruntime)),
}


def text_of(pairs):
    """"+0.4 % [-0.2, +1.1]": the median of the pairs' ratios, the least and the greatest."""
    ratios = [100 * (recorded / plain - 1) for plain, recorded in pairs]
    return "%+.2f %% [%+.2f, %+.2f]" % (statistics.median(ratios), min(ratios), max(ratios))


def measure_all(arguments, folder):
    """Pairs of each workload that runs here, and why the others do not."""
    pairs = {probe: [] for probe in arguments.only or WORKLOADS}
    absent = {}
    end_s = time.monotonic() + 60 * arguments.minutes
    for number in range(arguments.pairs):
        for probe in list(pairs):
            if time.monotonic() > end_s or probe in absent:
                continue
            share = 0 if arguments.any_load else slow_down.wait_until_quiet()
            if share > slow_down.BUSY_SHARE:
                sys.exit("probes.py: other programs take %.0f %% of the machine. Try again when they have ended (or --any-load)" % (100 * share))
            order = (None, probe) if number % 2 == 0 else (probe, None)
            try:
                taken = {which: WORKLOADS[probe][2](arguments, folder, which) for which in order}
            except Absent as reason:
                absent[probe] = str(reason)
                continue
            pairs[probe].append((taken[None], taken[probe]))
            print("%s: %.1f and %.1f us" % (probe, taken[None] / 1000, taken[probe] / 1000), file=sys.stderr, flush=True)
    return pairs, absent


def print_table(pairs, absent):
    print("%d cores, load %.1f at the end\n" % (os.cpu_count(), os.getloadavg()[0]))
    print("| probe | workload | pairs | a step or round without | slow-down: median [least, greatest] | target |")
    print("|---|---|---|---|---|---|")
    for probe, rows in pairs.items():
        target, title, _ = WORKLOADS[probe]
        if rows:
            without_us = statistics.median(plain for plain, _ in rows) / 1000
            print("| %s | %s | %d | %.1f us | %s | %d %% |" % (probe, title, len(rows), without_us, text_of(rows), target))
        else:
            print("| %s | %s | 0 | - | %s | %d %% |" % (probe, title, absent.get(probe, "no time was left"), target))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60, help="of a training job")
    parser.add_argument("--minutes", type=float, default=30, help="begin no pair after so long")
    parser.add_argument("--only", nargs="*", choices=sorted(WORKLOADS))
    parser.add_argument("--any-load", action="store_true", help="do not wait for other programs")
    parser.add_argument("--json", help="the pairs, in ns, into this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "timed.py"), "w", encoding="utf-8") as script:
            script.write(ab.TIMED)
        pairs, absent = measure_all(arguments, folder)
    print_table(pairs, absent)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"pairs": pairs, "absent": absent}, file)


if __name__ == "__main__":
    main()
