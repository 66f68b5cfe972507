#!/usr/bin/env python3
"""What each probe costs its workload: recorded by that probe alone, and not recorded, by turns within one process.

    probes.py [--build BUILD_DIR] [--rounds 3] [--only PROBE ...] [--minutes 30] [--any-load] [--json FILE]

Whole runs differ by more than a probe costs. So a workload runs recorded, and parts of it are recorded and not recorded by turns, in an
order that is drawn: steps of training (alternate.py), blocks of 50 rounds of a program of the tests (tests/support/paced.h), and for the
kernel's events, which are recorded by a program beside the job, two seconds with that program and two without. The result is the median of the
pairs' (recorded - not recorded) / the median that is not recorded, with its bootstrap interval of 95 %. What stays where nothing is recorded is a
hook's look at whether it is to record.

Workloads take turns, so that all have as many rounds when the minutes are over. Where other programs take more than a twentieth of the machine it
waits for them to end, a minute at most, and then gives up (or --any-load). What is not here has none: cuda, nccl and hsa want a device; xla is
measured by slow_down.py of tests/frameworks. The targets are 1 %, of malloc and kernel 3 %.
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
import alternate
import slow_down

TURN = re.compile(r"^turn ([0-9.]+) ([0-9.]+)$", re.MULTILINE)
BLOCK_S = 2.0
SETTLE_S = 0.3  # of a block, when the kernel's programs come or go


class Absent(Exception):
    """The workload cannot be run here."""


# Each takes (arguments, folder, probe) and gives pairs of ns, not recorded and recorded.


def training(model, ranks):
    def take(arguments, folder, probe):
        how = SimpleNamespace(build=arguments.build, python=arguments.python, model=model, batch=32, ranks=ranks,
                              steps=arguments.steps, probes=probe, null=False, keep_memory=False)
        turns, _ = alternate.run_job(how, folder)
        return [(1e9 * times["unrecorded"][0], 1e9 * times["recorded"][0]) for times in turns]

    return take


def program(make_command):
    """A program in rounds. `make_command(arguments, folder)` gives its words, or raises Absent."""

    def take(arguments, folder, probe):
        command = [os.path.join(arguments.build, "bin", "tacho"), "record", "--quiet", "--force", "--probes", probe,
                   "-o", os.path.join(folder, "run"), "--"] + make_command(arguments, folder)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, PACED_TURNS="1"))
        turns = [tuple(map(float, turn)) for turn in TURN.findall(done.stdout)]
        if done.returncode or not turns:
            raise Absent("it ends with %d: %s" % (done.returncode, (done.stdout + done.stderr).strip()[-200:]))
        return turns

    return take


# A data-parallel job that writes the end of each step, until a file is there.
TRAINING = """
import os, sys, time, torch
sys.path.insert(0, sys.argv[1])
import ddp_train
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
plain = ddp_train.MODELS["cnn"]()
model = torch.nn.parallel.DistributedDataParallel(plain)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
samples, labels = torch.randn(32, *plain.sample_shape), torch.zeros(32, dtype=torch.long)
ends, goes_on = [], torch.ones(1)
while goes_on.item():
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(samples), labels).backward()
    optimizer.step()
    ends.append(time.monotonic())
    goes_on.fill_(0 if os.path.exists("stop") else 1)
    torch.distributed.broadcast(goes_on, 0)
if os.environ["RANK"] == "0":
    open("ends", "w").write("\\n".join(map(repr, ends)))
"""


def start_training(arguments, folder):
    with open(os.path.join(folder, "training.py"), "w", encoding="utf-8") as script:
        script.write(TRAINING)
    for name in ("stop", "ends"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    environment = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(ab.free_port()),
                       GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
    command = ["sh", "-c", alternate.START_RANKS, "2", arguments.python, "training.py", os.path.join(SOURCE_DIR, "examples")]
    return subprocess.Popen(command, cwd=folder, env=environment)


def descendants(pid):
    """The process and what it has started."""
    found = [pid]
    for parent in found:
        with open("/proc/%d/task/%d/children" % (parent, parent), encoding="ascii") as children:
            found += map(int, children.read().split())
    return found


def kernel_events(arguments, folder, _probe):
    """Two ranks over TCP: their steps while the kernel's events are recorded, and while they are not."""
    program_path = os.path.join(arguments.build, "lib", "tacho", "tacho-kernel")
    if subprocess.run([program_path, "--check"], stdout=subprocess.PIPE, text=True).stdout.strip() != "events":
        raise Absent("the kernel's events may not be recorded here")
    job = start_training(arguments, folder)
    time.sleep(6)  # until it trains
    blocks = []
    for number in range(2 * int(arguments.steps / 12)):
        is_recorded = (number + number // 2) % 2 == 0  # recorded, not; not, recorded; ...
        if is_recorded:
            run = tempfile.mkdtemp(dir=folder)
            recorder = subprocess.Popen([program_path, "--run", run] + list(map(str, descendants(job.pid))),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            recorder.stdout.readline()
        begin_s = time.monotonic()
        time.sleep(BLOCK_S)
        blocks.append((is_recorded, begin_s + SETTLE_S, time.monotonic()))
        if is_recorded:
            recorder.stdin.close()
            recorder.wait()
    open(os.path.join(folder, "stop"), "w", encoding="ascii").close()
    if job.wait():
        raise Absent("the job failed")
    with open(os.path.join(folder, "ends"), encoding="ascii") as file:
        ends = [float(line) for line in file]
    medians = []
    for is_recorded, begin_s, end_s in blocks:
        within = [after - before for before, after in zip(ends, ends[1:]) if before >= begin_s and after <= end_s]
        medians.append((is_recorded, 1e9 * statistics.median(within)))
    return [tuple(taken for _, taken in sorted(pair)) for pair in zip(medians[::2], medians[1::2])]


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
    "kernel": (3, "CNN, two ranks by gloo on TCP", kernel_events),
    "malloc": (3, "CNN, one rank", training("cnn", 1)),
    "itt": (1, "a task a round", program(test_program("itt_calls", "paced"))),
    "nvtx": (1, "a range a round", program(test_program("nvtx_calls", "paced"))),
    "opencl": (1, "a kernel a round, waited for (PoCL)", program(test_program("opencl_calls", "paced"))),
    "mpi": (1, "a message each way a round, two ranks", program(mpi)),
    "onnxruntime": (1, "a model of 300 nodes a run", program(onnxruntime)),
}


def text_of(pairs):
    """"+0.4 % [-0.2, +1.1]": the median of the pairs, and its interval."""
    plain_ns = statistics.median(plain for plain, _ in pairs)
    return "%+.2f %% [%+.2f, %+.2f]" % alternate.interval([100 * (recorded - plain) / plain_ns for plain, recorded in pairs])


def measure_all(arguments, folder):
    """Pairs of each workload that runs here, and why the others do not."""
    pairs = {probe: [] for probe in arguments.only or WORKLOADS}
    absent = {}
    end_s = time.monotonic() + 60 * arguments.minutes
    for _ in range(arguments.rounds):
        for probe in list(pairs):
            if time.monotonic() > end_s or probe in absent:
                continue
            share = 0 if arguments.any_load else slow_down.wait_until_quiet()
            if share > slow_down.BUSY_SHARE:
                sys.exit("probes.py: other programs take %.0f %% of the machine. Try again when they have ended (or --any-load)" % (100 * share))
            try:
                taken = WORKLOADS[probe][2](arguments, folder, probe)
            except Absent as reason:
                absent[probe] = str(reason)
                continue
            pairs[probe] += taken
            print("%s: %s" % (probe, text_of(taken)), file=sys.stderr, flush=True)
    return pairs, absent


def print_table(pairs, absent):
    print("%d cores, load %.1f at the end\n" % (os.cpu_count(), os.getloadavg()[0]))
    print("| probe | workload | pairs | a step or round without | slow-down | target |")
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
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=240, help="of a training job")
    parser.add_argument("--minutes", type=float, default=30, help="begin nothing after so long")
    parser.add_argument("--only", nargs="*", choices=sorted(WORKLOADS))
    parser.add_argument("--any-load", action="store_true", help="do not wait for other programs")
    parser.add_argument("--json", help="the pairs, in ns, into this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pairs, absent = measure_all(arguments, folder)
    print_table(pairs, absent)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"pairs": pairs, "absent": absent}, file)


if __name__ == "__main__":
    main()
