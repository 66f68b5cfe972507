#!/usr/bin/env python3
"""What two builds of tacho say of plans, beside what the plans gain: for a change to the model, on the tuned models alone.

    plan_gains.py record              the tuned models at their rates, with PyTorch's own buckets
    plan_gains.py predict             each build makes a plan of each recording, and says what each plan gains
    plan_gains.py measure --minutes 8 rounds of unrecorded runs: the job's own buckets, and each plan
    plan_gains.py table               what was said beside what was measured

    --build before=build/before/bin/tacho --build after=build/default/bin/tacho

Both builds read the same recordings. Runs of one round follow each other, every other round backwards. Nothing is kept outside of --work but
--predictions, which is to be committed before anything is measured. Root is needed, for network namespaces. The models that are set
aside are neither recorded nor run.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

import hosts
from kit_job import KitError, KitJobs
from optimize_cases import MODELS
from results import load, replace_file
from validate import EXIT_SKIPPED, SOURCE_DIR

RECORDED_STEPS = 25
N_RESAMPLED = 1000


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n", 2)[2])
    parser.add_argument("what", nargs="+", choices=["record", "predict", "measure", "table"])
    parser.add_argument("--build", action="append", default=[], metavar="NAME=TACHO", help="a program to ask; the last one records and applies; default for that: this build's")
    parser.add_argument("--cases", help="these alone, as 'cnn-500,transformer-1000'; default: all tuned ones")
    parser.add_argument("--work", default=os.path.join(SOURCE_DIR, "build", "plan_gains"), help="default: build/plan_gains")
    parser.add_argument("--predictions", help="where predictions are written; default: in --work")
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has PyTorch")
    parser.add_argument("--minutes", type=float, help="begin no run after this long")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10, help="counted steps of a run")
    parser.add_argument("--budget", default="3s", help="of tacho optimize; default: 3s")
    return parser.parse_args()


def tuned_cases(names):
    cases = {model.case(rate): (model, rate) for model in MODELS if model.half == "tuned" for rate in model.rates}
    chosen = names.split(",") if names else list(cases)
    for name in chosen:
        if name not in cases:
            sys.exit(f"plan_gains.py: no case '{name}'; there are: {', '.join(cases)}")
    return {name: cases[name] for name in chosen}


class Gains:
    def __init__(self, arguments):
        self.arguments = arguments
        self.builds = {name: os.path.abspath(path) for name, path in (text.split("=", 1) for text in arguments.build)}
        self.tacho = list(self.builds.values())[-1] if self.builds else os.path.join(SOURCE_DIR, "build", "default", "bin", "tacho")
        self.cases = tuned_cases(arguments.cases)
        self.deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
        os.makedirs(arguments.work, exist_ok=True)
        self.predictions_path = arguments.predictions or self.path("predictions.json")
        self.measured_path = self.path("measured.json")

    def path(self, *names):
        return os.path.join(self.arguments.work, *names)

    def runs_of(self, case):
        return [self.path(case, f"r{rank}.tacho") for rank in range(2)]

    def is_late(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    # --- what is said -------------------------------------------------------------------------------

    def record(self, jobs):
        for case, (model, rate) in self.cases.items():
            jobs.record(model.kind(), rate, 0, self.path(case), RECORDED_STEPS)
            print(f"{case:20} recorded", flush=True)

    def ask(self, build, *words):
        done = subprocess.run([self.builds[build], *words, "--json"], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise KitError(f"{' '.join(words)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def predict(self):
        rows = []
        for case in self.cases:
            plans, answers = {}, {}
            for build in self.builds:
                path = self.path(case, f"{build}.plan.json")
                answers[build] = self.ask(build, "optimize", *self.runs_of(case), "--all", "--budget", self.arguments.budget,
                                          "--passes", "buckets", "--force", "-o", path)
                if os.path.exists(path):
                    plans[build] = load(path, None)["changes"]["buckets"]
            for by, buckets in plans.items():
                row = {"case": case, "plan_by": by, "n_buckets": len(buckets), "buckets": buckets, "gain_pct": {}}
                for build, answer in answers.items():
                    row["gain_pct"][build] = self.gain_of(build, case, answer, buckets)
                row["notes"] = {build: [note for note in answer["notes"] if "segment" in note or "moving bytes" in note]
                                for build, answer in answers.items()}
                rows.append(row)
                print(f"{case:20} plan by {by:8} {len(buckets):3} buckets: " + "  ".join(
                    f"{build}: {gain:+.1f} %" for build, gain in row["gain_pct"].items()), flush=True)
        replace_file(self.predictions_path, {"predictions": rows})

    def gain_of(self, build, case, answer, buckets):
        """As tacho optimize has it: the recorded buckets by the model, less these."""
        as_recorded = next(row["predicted_step_ms"] for row in answer["tried"] if row["note"] == "as recorded, by the model")
        fusion = "fusion=" + ",".join(str(len(bucket)) for bucket in buckets)
        step_ms = self.ask(build, "replay", *self.runs_of(case), "--what-if", fusion)["predicted_step_ms"]
        return 100 * (as_recorded - step_ms) / answer["baseline_step_ms"]

    # --- what is so ---------------------------------------------------------------------------------

    def settings_of(self, case, predictions):
        """{name: path of a plan, or None: the job's own buckets}; plans that are alike are run once."""
        settings, seen = {"default": None}, []
        for row in predictions:
            if row["case"] == case and row["buckets"] not in seen:
                seen.append(row["buckets"])
                settings[row["plan_by"]] = self.path(case, f"{row['plan_by']}.plan.json")
        return settings

    def measure(self, jobs):
        predictions = load(self.predictions_path, {"predictions": []})["predictions"]
        measured = load(self.measured_path, {"runs": []})
        for number in range(self.arguments.rounds):
            runs = [(case, name, plan) for case in self.cases for name, plan in self.settings_of(case, predictions).items()]
            for case, name, plan in runs if number % 2 == 0 else runs[::-1]:
                if self.is_late():
                    return
                model, rate = self.cases[case]
                try:
                    steps = jobs.measure(model.kind(), [rate], 0, self.arguments.steps, plan)[rate]
                except KitError as error:
                    print(f"{case:20} {name:8} failed: {error}", flush=True)
                    continue
                measured["runs"].append({"case": case, "setting": name, "round": number, "at": round(time.time()),
                                         "load": os.getloadavg()[0], "steps_ms": steps})
                replace_file(self.measured_path, measured)
                print(f"{case:20} {name:8} {statistics.median(steps):8.2f} ms", flush=True)

    def runs_measured(self, case, name):
        runs = load(self.measured_path, {"runs": []})["runs"]
        return [run["steps_ms"] for run in runs if run["case"] == case and run["setting"] == name]

    def table(self):
        predictions = load(self.predictions_path, {"predictions": []})["predictions"]
        builds = list(self.builds) or sorted({build for row in predictions for build in row["gain_pct"]})
        print("| case | plan by | buckets | rounds | default ms | plan ms | measured gain % | " +
              " | ".join(f"{build}: predicted, error" for build in builds) + " |")
        print("|---" * (7 + len(builds)) + "|")
        errors = {build: [] for build in builds}
        for row in predictions:
            same = next(other for other in predictions if other["case"] == row["case"] and other["buckets"] == row["buckets"])
            own, plan = self.runs_measured(row["case"], "default"), self.runs_measured(row["case"], same["plan_by"])
            if not own or not plan:
                continue
            gain, low, high = measured_gain(own, plan)
            cells = []
            for build in builds:
                said = row["gain_pct"][build]
                errors[build].append((row["plan_by"], gain - said))
                cells.append(f"{said:+.1f}, {gain - said:+.1f}")
            print(f"| {row['case']} | {row['plan_by']} | {row['n_buckets']} | {min(len(own), len(plan))} | {middle(own):.1f} | "
                  f"{middle(plan):.1f} | {gain:+.1f} [{low:+.1f}, {high:+.1f}] | " + " | ".join(cells) + " |")
        for build, pairs in errors.items():
            for by in sorted({by for by, _ in pairs}):
                own = [error for plan_by, error in pairs if plan_by == by]
                print(f"{build}, of plans by {by}: mean error {statistics.fmean(own):+.2f}, mean size "
                      f"{statistics.fmean(map(abs, own)):.2f}, within 3 points {sum(abs(error) <= 3 for error in own)} of {len(own)}")


def middle(runs):
    return statistics.median([step for steps in runs for step in steps])


def measured_gain(own, plan):
    """Percent, and its 95 % interval by bootstrap over runs and their steps."""
    draw = random.Random(1)
    gains = sorted(100 * (1 - resampled(draw, plan) / resampled(draw, own)) for _ in range(N_RESAMPLED))
    return 100 * (1 - middle(plan) / middle(own)), gains[N_RESAMPLED // 40], gains[-N_RESAMPLED // 40]


def resampled(draw, runs):
    return middle([draw.choices(steps, k=len(steps)) for steps in draw.choices(runs, k=len(runs))])


def main():
    arguments = parse_arguments()
    gains = Gains(arguments)
    needs_hosts = {"record", "measure"} & set(arguments.what)
    reason = hosts.why_not() if needs_hosts else None
    if reason:
        print(f"plan_gains.py: {reason}", file=sys.stderr)
        return EXIT_SKIPPED
    for what in arguments.what:
        if what in needs_hosts:
            with hosts.Hosts(None, 2) as network:
                jobs = KitJobs(network, {}, gains.tacho, arguments.python)
                gains.record(jobs) if what == "record" else gains.measure(jobs)
        else:
            gains.predict() if what == "predict" else gains.table()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KitError, hosts.HostsError) as error:
        sys.exit(f"plan_gains.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
