#!/usr/bin/env python3
"""Do the what-ifs of data loading and of the batch come true?

    validate/loading.py --tacho build/default/bin/tacho --python /usr/bin/python3 --work /tmp/loading

Each case is recorded as it is, three times, and run five times unrecorded as it is and as the what-if says, all in
turn. What is printed is the table of docs/what-if.md: the median step before, predicted from the three recordings
together, and measured. Nothing in the predictions was fitted to these jobs.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess

N_RECORDINGS = 3
N_RUNS = 5
WARM_UP = 4

# name: launch, options of both, options before, options after, what-ifs. Waits for workers come in bursts, which is why
# these cases go by means.
CASES = {
    "loader, half": ([], "--model mlp --width 128 --batch 8", "--read-ms 10", "--read-ms 5", ["scale:loader=0.5"]),
    "0 to 2 workers": ([], "--model mlp --width 128 --batch 8 --read-ms 10", "--workers 0", "--workers 2",
                       ["durations=mean", "workers=2"]),
    "2 to 4 workers": ([], "--model mlp --width 128 --batch 8 --read-ms 40", "--workers 2", "--workers 4",
                       ["durations=mean", "workers=4"]),
    "batch, CNN": ([], "--model cnn", "--batch 16", "--batch 32", ["batch=2x"]),
    "batch, transformer": ([], "--model transformer", "--batch 32", "--batch 16", ["batch=0.5"]),
    "batch, 2 ranks": (["-n", "2"], "--model cnn --width 32", "--batch 8", "--batch 16", ["batch=2x"]),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tacho", required=True)
    parser.add_argument("--python", default="python3", help="the one with PyTorch")
    parser.add_argument("--work", required=True, help="folder of the recordings")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--case", action="append", choices=sorted(CASES), help="only this one")
    return parser.parse_args()


def job(arguments, options):
    example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "ddp_train.py")
    return [arguments.python, example, *options.split(), "--steps", str(arguments.steps), "--step-times"]


def environment(rank, n_ranks, port):
    return dict(os.environ, RANK=str(rank), WORLD_SIZE=str(n_ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))


def measure(arguments, launch, options, port, middle):
    """The middle step of one run without tacho, of each the mean over its ranks."""
    n_ranks = int(launch[1]) if launch else 1
    ranks = [subprocess.Popen(job(arguments, options), env=environment(rank, n_ranks, port), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for rank in range(n_ranks)]
    steps = []
    for rank in ranks:
        lines = rank.communicate()[0].splitlines()
        steps.append(json.loads(lines[-1])["steps_ms"][WARM_UP:])
    return middle(statistics.mean(step) for step in zip(*steps))


def record(arguments, launch, options, path):
    shutil.rmtree(path, ignore_errors=True)
    subprocess.run([arguments.tacho, "record", "--quiet", *launch, "-o", path, "--", *job(arguments, options)],
                   check=True, stdout=subprocess.DEVNULL)


def predict(arguments, paths, what_ifs):
    also = [word for path in paths[1:] for word in ("--also", path)]
    changes = [word for what_if in what_ifs for word in ("--what-if", what_if)]
    answer = subprocess.run([arguments.tacho, "replay", paths[0], *also, "--json", *changes],
                            check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)["predicted_step_ms"]


def run_case(arguments, name, number):
    launch, both, before, after, what_ifs = CASES[name]
    middle = statistics.mean if "durations=mean" in what_ifs else statistics.median
    paths, befores, afters = [], [], []
    for i in range(N_RUNS):
        port = 21000 + 100 * number + 2 * i
        if i < N_RECORDINGS:
            paths.append(os.path.join(arguments.work, f"case{number}_{i}.tacho"))
            record(arguments, launch, f"{both} {before}", paths[-1])
        befores.append(measure(arguments, launch, f"{both} {before}", port, middle))
        afters.append(measure(arguments, launch, f"{both} {after}", port + 1, middle))
    measured = statistics.median(afters)
    predicted = predict(arguments, paths, what_ifs)
    print(f"| {name} | `{before}` | `{' '.join(what_ifs)}` | {statistics.median(befores):.1f} | {predicted:.1f} | "
          f"{measured:.1f} ({min(afters):.1f} to {max(afters):.1f}) | {100 * (predicted / measured - 1):+.1f} % |",
          flush=True)


def main():
    arguments = parse_arguments()
    os.makedirs(arguments.work, exist_ok=True)
    print("| case | recorded | what-if | before ms | predicted ms | measured ms (5 runs) | error |")
    print("|---|---|---|---|---|---|---|")
    for number, name in enumerate(CASES):
        if not arguments.case or name in arguments.case:
            run_case(arguments, name, number)


if __name__ == "__main__":
    main()
