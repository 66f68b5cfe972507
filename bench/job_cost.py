#!/usr/bin/env python3
"""What recording costs a job: two jobs, tacho beside torch.profiler and py-spy, interleaved, for some minutes.

    job_cost.py [--build build/release] [--minutes 30] [--python /usr/bin/python3 ...] [--py-spy PY_SPY] [--write docs/performance.md]
                [--fresh] [--any-load]

The jobs are the CNN of examples/ddp_train.py, with the least batch for which its operations average 50 us, and its transformer,
which has some 14,000 operations in a step by PyTorch 1.13 (1,300 by those that update all parameters in one); both with one rank and one
thread, by each PyTorch that a Python is named of.

A round has of each job and Python
  by turns     three processes of alternate.py, in which recorded and unrecorded steps take turns: the most exact, and what the targets are held to.
               PyTorch is asked for tensors in one step of 17: the figure is 16/17 of the median of the others and 1/17 of that of these
  whole runs   a process each, on one core together with what samples it, in an order that is drawn: bare, tacho, PyTorch's profiler with and without shapes and stacks, py-spy stopping
               the program at each sample, not stopping it, and with native frames. A figure is the ratio to the round's bare run of the median
               step, and what processor time the run and its profiler took more, start and end included
Rounds are begun until the minutes are over. What was measured is kept (build/job-cost-VERSION.json, for the same build of tacho and PyTorch), and a
later call goes on.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SOURCE_DIR, "tests", "frameworks"))

import alternate
import run as matrix
import slow_down

WARM_UP_STEPS = 10
SHAPES_EVERY = 17
FIRST_STEPS = 10  # asked, too
# model; target in percent; what it is a target for; steps of a whole run; steps of a process by turns
JOBS = {
    "cnn": (1, "operations average 50 us", 30, 240),
    "transformer": (3, "14,000 operations in 31 ms", 30, 240),
}
BATCHES = (4, 6, 8, 12, 16, 24, 32, 48, 64)  # of the CNN
LEAST_OPERATION_US = 50
TRANSFORMER_BATCH = 32
PROCESSES = 3  # of a round, by turns
LEAST_RUNS = 3  # of a way, whole: fewer say nothing
LEAST_PROCESSES = 5  # that decide whether a target is held: an interval of fewer says nothing
BARE, TACHO = "bare", "tacho"
PROFILERS = {
    "torch.profiler": {},
    "torch.profiler, `record_shapes`": {"record_shapes": True},
    "torch.profiler, `record_shapes` and `with_stack`": {"record_shapes": True, "with_stack": True},
}
SPIES = {"py-spy": [], "py-spy `--nonblocking`": ["--nonblocking"], "py-spy `--native`": ["--native"]}
BEGIN, END = "<!-- table: bench/job_cost.py -->\n", "<!-- end -->"


# --- in the job ---------------------------------------------------------------------------------


def make_step(model_name, batch):
    """Made with the numbers of alternate.py's."""
    sys.path.insert(0, os.path.join(SOURCE_DIR, "examples"))
    import ddp_train
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = ddp_train.MODELS[model_name]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    samples = torch.randn(batch, *model.sample_shape)
    labels = torch.randint(0, ddp_train.N_CLASSES, (batch,))

    def step():
        begin = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(samples), labels).backward()
        optimizer.step()
        return 1000 * (time.perf_counter() - begin)

    return step


def train(way, model_name, batch, n_steps):
    """Print the median step in ms, of a process that is bare but for PyTorch's profiler, if `way` is that."""
    step = make_step(model_name, batch)
    for _ in range(WARM_UP_STEPS):
        step()
    if way in PROFILERS:
        import torch

        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **PROFILERS[way])
        with profiler:
            times = [step() for _ in range(n_steps)]
        with tempfile.TemporaryDirectory() as folder:
            profiler.export_chrome_trace(os.path.join(folder, "trace.json"))
    else:
        times = [step() for _ in range(n_steps)]
    print("step_ms %.4f" % statistics.median(times))


def count_operations(model_name, batch):
    """Print how many operations a step has, as PyTorch's own profiler counts them, and the median step in ms."""
    import torch

    step = make_step(model_name, batch)
    times = [step() for _ in range(3 * WARM_UP_STEPS)]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        step()
    print("operations %d step_ms %.4f" % (len(profiler.events()), statistics.median(times)))


# --- around it ----------------------------------------------------------------------------------


def pinned():
    """On the last core, of which tacho's threads and py-spy take what they take: in a job that is worth measuring all cores are full."""
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cores[-1])] if len(cores) > 1 else []


def inside(arguments, way, model, batch, steps):
    return [arguments.python, os.path.abspath(__file__), "--inside", way, "--model", model, "--batch", str(batch), "--steps", str(steps)]


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tell(command):
    """The numbers that the command prints, by the word before each; what it took of processor time, as "cpu_s"."""
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    before = processor_seconds()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    words = [line for line in done.stdout.splitlines() if "step_ms" in line]
    if done.returncode or not words:
        sys.exit("job_cost.py: %s: exit %d: %s" % (" ".join(command), done.returncode, done.stderr[-2000:]))
    words = words[-1].split()
    told = {words[i]: float(words[i + 1]) for i in range(0, len(words), 2)}
    told["cpu_s"] = processor_seconds() - before
    return told


def choose_batch(arguments, model):
    """The least for which operations average LEAST_OPERATION_US; the transformer's is given."""
    if model == "transformer":
        return TRANSFORMER_BATCH
    for batch in BATCHES:
        told = tell(pinned() + inside(arguments, "count", model, batch, 0))
        if 1000 * told["step_ms"] / told["operations"] >= LEAST_OPERATION_US:
            break
    return batch


def command_of(arguments, way, model, batch, folder):
    job = inside(arguments, way if way in PROFILERS else BARE, model, batch, JOBS[model][2])
    if way == TACHO:
        return [os.path.join(arguments.build, "bin", "tacho"), "record", "-q", "--force", "-o", os.path.join(folder, "run"), "--"] + job
    if way in SPIES:
        return [arguments.py_spy, "record", "-r", "100", "-f", "raw", "-o", os.path.join(folder, "raw")] + SPIES[way] + ["--"] + job
    return job


def run_whole(arguments, model, batch, ways):
    """Each way once: the median step and the processor time of all."""
    taken = {}
    for way in random.sample(ways, len(ways)):
        with tempfile.TemporaryDirectory() as folder:
            told = tell(pinned() + command_of(arguments, way, model, batch, folder))
        taken[way] = [told["step_ms"], told["cpu_s"]]
    return taken


def run_by_turns(arguments, model, batch):
    """One process in which kinds of steps take turns: slow-downs in percent, by the wall clock and in processor time."""
    options = argparse.Namespace(build=arguments.build, model=model, batch=batch, steps=JOBS[model][3], probes="all", ranks=1, keep_memory=False,
                                 null=False, python=arguments.python)
    with tempfile.TemporaryDirectory() as folder:
        turns, info = alternate.run_job(options, folder)
    n_recorded = alternate.WARM_UP_STEPS + len(turns)
    result = {"unrecorded_ms": 1000 * statistics.median(times["unrecorded"][0] for times in turns),
              "operations": info["kinds"].get("op", 0) / n_recorded, "events": info["events"] / n_recorded, "dropped": info["dropped_events"]}
    for clock, place in (("wall", 0), ("cpu", 1)):
        for arm in alternate.ARMS[1:]:
            slow = alternate.slowdowns(turns, arm, place)
            if arm == "recorded":
                slow = [split(slow)]
            result["%s %s" % (clock, arm)] = statistics.median(slow)
    return result


def split(slow):
    """Steps in which PyTorch was asked for tensors and others, each by their share: the probe counts recorded steps, the warm-up's too
    (probes/torch/shape_steps.c)."""
    asked = [pct for turn, pct in enumerate(slow) if (turn + alternate.WARM_UP_STEPS) % SHAPES_EVERY == 0]
    others = [pct for turn, pct in enumerate(slow) if (turn + alternate.WARM_UP_STEPS) % SHAPES_EVERY != 0]
    return (statistics.median(asked) + (SHAPES_EVERY - 1) * statistics.median(others)) / SHAPES_EVERY


# --- the page -----------------------------------------------------------------------------------


def interval_text(values, average, digits=1):
    middle, low, high = alternate.interval(values, average)
    return "%+.*f [%+.*f, %+.*f]" % (digits, middle, digits, low, digits, high)


def verdict(values, target):
    if len(values) < LEAST_PROCESSES:
        return "not decided by %d processes" % len(values)
    _, low, high = alternate.interval(values, statistics.mean)
    return "held" if high <= target else "**not held**" if low > target else "not decided"


def turns_line(model, kept):
    processes = [process for one in kept[model]["rounds"] for process in one["turns"]]
    target, what, _, _ = JOBS[model]
    unrecorded_ms = statistics.median(one["unrecorded_ms"] for one in processes)
    operations = statistics.median(one["operations"] for one in processes)
    wall = [one["wall recorded"] for one in processes]
    return "| %s, batch %d | %.0f in %.1f ms, %.0f us each | %d | %s | %s | **%s** | %d %%, %s: %s |\n" % (
        model, kept[model]["batch"], operations, unrecorded_ms, 1000 * unrecorded_ms / operations, len(processes),
        interval_text([one["wall called back"] for one in processes], statistics.mean, 2),
        interval_text([one["cpu recorded"] for one in processes], statistics.mean, 2), interval_text(wall, statistics.mean, 2),
        target, what, verdict(wall, target))


def whole_lines(model, kept):
    rounds = [one["whole"] for one in kept[model]["rounds"]]
    for way in [BARE, TACHO, *PROFILERS, *SPIES]:
        taken = [(one[way], one[BARE]) for one in rounds if way in one]
        if len(taken) < LEAST_RUNS:
            continue
        step_ms = statistics.median(way_taken[0] for way_taken, _ in taken)
        if way == BARE:
            yield "| %s | %s | %d | %.1f | | |\n" % (model, way, len(taken), step_ms)
            continue
        yield "| %s | %s | %d | %.1f | %s | %+.2f |\n" % (
            model, way, len(taken), step_ms, interval_text([100 * (one[0] / bare[0] - 1) for one, bare in taken], statistics.median),
            statistics.median(one[1] - bare[1] for one, bare in taken))


def table_of(kept, facts):
    text = facts + "\n\n| job | operations of a step | processes | called back, % | recorded, % of processor time | recorded, % | target |\n"
    text += "|---|---|---|---|---|---|---|\n" + "".join(turns_line(model, kept) for model in JOBS if model in kept)
    lines = "".join(line for model in JOBS if model in kept for line in whole_lines(model, kept))
    if not lines:
        return text
    return text + "\n| job | way | runs | step, ms | longer, % | processor time of the run and its profiler, s more |\n|---|---|---|---|---|---|\n" + lines


def write(path, table):
    """Between the page's two marks."""
    with open(path, encoding="utf-8") as file:
        head, begin, rest = file.read().partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit("job_cost.py: %s has no place for the table" % path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + BEGIN + table + END + tail)


def torch_version(python):
    done = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def facts_of(version):
    """Where it was measured."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")] or ["unknown processor"]
    return "PyTorch %s, %d cores of %s, %s." % (version, os.cpu_count(), names[0], time.strftime("%-d %B %Y"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "release"))
    parser.add_argument("--minutes", type=float, default=30, help="begin no round after so long")
    parser.add_argument("--python", nargs="+", default=["/usr/bin/python3"])
    parser.add_argument("--py-spy", default=os.path.join(SOURCE_DIR, "build", "frameworks", "py-spy", "bin", "py-spy"))
    parser.add_argument("--models", nargs="*", default=list(JOBS), choices=list(JOBS))
    parser.add_argument("--write", help="the page that gets the tables")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--by-turns", action="store_true", help="no whole runs, which take most of the time")
    parser.add_argument("--any-load", action="store_true", help="do not wait for other programs")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_round(arguments, kept, ways):
    """Each job once."""
    for model in arguments.models:
        share = 0 if arguments.any_load else slow_down.wait_until_quiet()
        if share > slow_down.BUSY_SHARE:
            sys.exit("job_cost.py: other programs take %.0f %% of the machine. Try again when they have ended (or --any-load): it goes on here"
                     % (100 * share))
        if model not in kept.rows:
            kept.rows[model] = {"batch": choose_batch(arguments, model), "rounds": []}
        batch = kept.rows[model]["batch"]
        kept.rows[model]["rounds"].append({"turns": [run_by_turns(arguments, model, batch) for _ in range(PROCESSES)],
                                            "whole": {} if arguments.by_turns else run_whole(arguments, model, batch, ways)})
        kept.save()
        print("%s by %s, round %d, load %.1f" % (model, arguments.python, len(kept.rows[model]["rounds"]), os.getloadavg()[0]), flush=True)


def main():
    arguments = parse_arguments()
    if arguments.inside == "count":
        count_operations(arguments.model, arguments.batch)
        return
    if arguments.inside:
        train(arguments.inside, arguments.model, arguments.batch, arguments.steps)
        return
    ways = [BARE, TACHO, *PROFILERS]
    if os.access(arguments.py_spy, os.X_OK):
        ways += SPIES
    else:
        print("job_cost.py: no %s, so without py-spy: tools/make-frameworks.sh build/frameworks py-spy" % arguments.py_spy)
    pythons = arguments.python
    versions = [torch_version(python) for python in pythons]
    kept = [matrix.Kept(os.path.join(SOURCE_DIR, "build", "job-cost-%s.json" % version), os.path.join(arguments.build, "bin", "tacho"),
                        arguments.fresh) for version in versions]
    end_s = time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < end_s:
        for arguments.python, rows in zip(pythons, kept):
            measure_round(arguments, rows, ways)
    table = "\n".join(table_of(rows.rows, facts_of(version)) for version, rows in zip(versions, kept))
    print(table)
    if arguments.write:
        write(arguments.write, table)


if __name__ == "__main__":
    main()
