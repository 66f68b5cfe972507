#!/usr/bin/env python3
"""Are steps of unequal workers predicted, whose plans differ? Two ranks, the second with more samples (precision_worker_job.py).

    precision_workers.py predict JOB  record the job in fp32, bf16 and int8, and predict the plans from that; nothing else is measured
    precision_workers.py measure JOB  run each plan by `tacho apply`, interleaved, and once recorded, for what ranks wait
    precision_workers.py page         docs/validation-precision-workers.md

JOB is mlp, on which the model may be tuned, or tokens, which is set aside.

Predictions and measurements are in validate/precision_workers.json, recordings in build/precision-workers/. Commit the predictions before anything
is measured. A machine that does nothing else is needed: beside other work, int8 took twice as long in one recording as in the next. Five minutes. As in precision.py, all predictions are multiplied by one number: how long the plan in fp32 took by how long it was predicted to take.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys

from results import describe_machine, load, replace_file

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HERE = os.path.join(SOURCE_DIR, "validate")
RESULTS = os.path.join(HERE, "precision_workers.json")
PAGE = os.path.join(SOURCE_DIR, "docs", "validation-precision-workers.md")
JOB = os.path.join(HERE, "precision_worker_job.py")
PRECISIONS = ("fp32", "bf16", "int8")
N_TURNS = 3  # recordings of each precision, in turn: one process is not as fast as the next
SEEDS = {"mlp": 16, "tokens": 17}
ASIDE = ("tokens",)
N_STEPS = 40
# In int8 a step has ten thousand small operations, and recording them takes longer than what is stated of one: control steps tell.
CONTROL = ("--steps", f"4:{N_STEPS}", "--control", "4")


def plans_of(names, seed):
    """{plan: [precision of each operation on rank 0, the same on rank 1]}"""
    rng, n = random.Random(seed), len(names)
    fp32 = ["fp32"] * n
    plans = {
        "fp32": [fp32, fp32],
        "int8 on both": [["int8"] * n] * 2,
        "int8 on the slow rank": [fp32, ["int8"] * n],
        "int8 on the fast rank": [["int8"] * n, fp32],
        "every second in int8 on the slow rank": [fp32, ["int8" if i % 2 else "fp32" for i in range(n)]],
        "one in bf16 on the fast rank": [["bf16" if i == n // 2 else "fp32" for i in range(n)], fp32],
    }
    for i in range(4):
        plans[f"random {i}"] = [[rng.choice(("fp32", "fp32", "int8", "bf16" if rank == 0 else "int8")) for _ in names] for rank in range(2)]
    return plans


def plan_file(names, plan):
    entries = [{"module": module, "kind": kind, "ordinal": ordinal, "precision": precision, "ranks": [rank, rank]}
               for rank, precisions in enumerate(plan) for (module, kind, ordinal), precision in zip(names, precisions)]
    return {"tacho_plan": 1, "job": {"ranks": 2, "gradients": []}, "changes": {"precision": entries}}


class Workers:
    def __init__(self, arguments):
        self.arguments = arguments
        self.tacho = os.path.join(arguments.build, "bin", "tacho")
        self.name = arguments.job
        self.work = os.path.join(SOURCE_DIR, "build", "precision-workers", self.name or "")
        os.makedirs(self.work, exist_ok=True)

    def run(self, *command):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "4294967296",
                       "MALLOC_TRIM_THRESHOLD_": "4294967296"}
        done = subprocess.run([self.tacho, *command], env=environment, text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"precision_workers.py: tacho {' '.join(command[:4])}: {done.stderr.strip()[-600:]}")
        return done.stdout

    def recording(self, name):
        return os.path.join(self.work, f"{name.replace(' ', '-')}.tacho")

    def job(self, *before):
        return [*before, "--", self.arguments.python, JOB, self.name, "--steps", str(N_STEPS)]

    def plan_path(self, name):
        return os.path.join(self.work, f"{name.replace(' ', '-')}.plan.json")

    def predict(self):
        recordings = []
        for turn in range(N_TURNS):
            for precision in PRECISIONS:
                recordings.append(self.recording(f"{precision} {turn}"))
                shutil.rmtree(recordings[-1], ignore_errors=True)
                self.run(*self.job("record", "-q", "-o", recordings[-1], "--precision", precision, *CONTROL))
        operations = load(os.path.join(recordings[0], "precision.0.json"), None)["operations"]
        names = [(o["module"], o["kind"], o["ordinal"]) for o in operations if o["rule"] == "chosen"]
        plans = plans_of(names, SEEDS[self.name])
        for name, plan in plans.items():
            replace_file(self.plan_path(name), plan_file(names, plan))
        wanted = [word for name in plans for word in ("--plan", self.plan_path(name))]
        rows = []
        for name, told in zip(plans, json.loads(self.run("precision", "predict", *recordings, *wanted, "--json"))):
            rows.append({"plan": name, "step_ms": round(told["predicted_step_ms"], 4), "interval_ms": told["interval_ms"],
                         "wait_ms": [round(row["wait_ms"], 4) for row in told["ranks"]]})
            print(f"{name:40} {rows[-1]['step_ms']:8.2f} ms, waits {rows[-1]['wait_ms']}", flush=True)
        replace_file(RESULTS, {**load(RESULTS, {}), self.name: {"predictions": rows, "measured": [], "waits": {}}})

    def measure(self):
        every = load(RESULTS, None)
        data = every[self.name]
        data["machine"] = describe_machine(self.arguments.python)
        names = [row["plan"] for row in data["predictions"]]
        for i in range(self.arguments.rounds):
            for name in random.Random(i).sample(names, len(names)):
                ranks = json.loads(self.run(*self.job("apply", "-q", self.plan_path(name))))
                data["measured"].append({"plan": name, "step_ms": round(statistics.mean(map(statistics.median, ranks)) / 1e6, 4)})
                replace_file(RESULTS, every)
        for name in names:
            shutil.rmtree(self.recording("plan " + name), ignore_errors=True)
            self.run(*self.job("apply", "-q", self.plan_path(name), "--", self.tacho, "record", "-q", "-o", self.recording("plan " + name)))
            rows = json.loads(self.run("report", self.recording("plan " + name), "--view", "straggler", "--json"))
            data["waits"][name] = [row["waited_ms"] for row in sorted(rows, key=lambda row: row["rank"])]
            replace_file(RESULTS, every)

    def page(self):
        every = load(RESULTS, {})
        parts = [job_part(name, every[name]) for name in SEEDS if name in every]
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(HEAD + "\n".join(parts))


def job_part(name, data):
    truth = {row["plan"]: statistics.median(r["step_ms"] for r in data["measured"] if r["plan"] == row["plan"])
             for row in data["predictions"]}
    speed = truth["fp32"] / data["predictions"][0]["step_ms"]
    lines, errors, sums = [], [], []
    for row in data["predictions"]:
        plan = row["plan"]
        error = 100 * (row["step_ms"] * speed / truth[plan] - 1)
        told, waited = sum(row["wait_ms"]) * speed, sum(data["waits"][plan])
        if plan != "fp32":
            errors.append(abs(error))
        sums.append((told, waited))
        lines.append(f"| {plan} | {truth[plan]:.2f} | {row['step_ms'] * speed:.2f} | {error:+.1f} | {waited:.2f} | {told:.2f} | "
                     f"{100 * (told / waited - 1):+.1f} |")
    whole = 100 * (sum(a for a, _ in sums) / sum(b for _, b in sums) - 1)
    return PART.format(name=name, half="set aside" if name in ASIDE else "tuned", rounds=len(data["measured"]) // len(lines),
                       processor=data["machine"]["processor"], torch=data["machine"]["torch"], speed=100 * (speed - 1),
                       lines="\n".join(lines), mean=statistics.mean(errors), worst=max(errors), whole=whole)


HEAD = """# How near predictions of unequal workers come

*Written by `validate/precision_workers.py page` from what it measured; not by hand.*

Two ranks on a core each train with DistributedDataParallel over gloo, the second with more samples (`validate/precision_worker_job.py`). From three recordings each in fp32,
bf16 and int8, made in turn, plans that differ between the ranks were predicted; then each was run by `tacho apply`, interleaved. *Measured* is the median
of the runs' medians. All predictions of a job are multiplied by one number, *speed*, by which fp32 is right. *Waited* is the sum over both ranks of
what they waited in collectives for the other one, in one recording of the plan (`tacho report --view straggler`). Predictions were committed before anything was
measured. Both jobs were recorded and measured before without control steps: on mlp the model was then changed, and what was recorded in int8 was told up to 21 % too long
(of tokens, mean 9.3 %), for recording takes longer there than is stated. So they were recorded with `--control 4` and measured once more; the model was not changed in between.

To pass: mean <= 5 %, waits <= 15 %.

"""

PART = """## {name} ({half})

{processor}, PyTorch {torch}; {rounds} runs of each plan; speed {speed:+.1f} %.

| plan | measured, ms | predicted, ms | error, % | waited, ms | predicted, ms | error, % |
|---|---|---|---|---|---|---|
{lines}

Mean error of the step {mean:.1f} %, worst {worst:.1f} %; of all waits together {whole:+.1f} %.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n", 2)[2])
    parser.add_argument("what", choices=["predict", "measure", "page"])
    parser.add_argument("job", nargs="?", choices=list(SEEDS))
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    getattr(Workers(arguments), arguments.what)()


if __name__ == "__main__":
    main()
