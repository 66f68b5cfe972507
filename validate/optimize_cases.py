#!/usr/bin/env python3
"""Does a plan gain what was said? Models at link rates: recorded, a plan made, committed, and then measured against other buckets.

    optimize_cases.py run --minutes 38   as much as there is time for, on a machine that does nothing else: recordings and plans,
                                         which are committed, then rounds of measuring, then the page. Run again to go on.
    optimize_cases.py plan               the recordings and plans that are missing; nothing is measured
    optimize_cases.py measure            rounds of unrecorded runs of the cases whose plans are committed
    optimize_cases.py page               docs/validation-optimize.md
    optimize_cases.py anew               forget recordings, plans and measurements
    optimize_cases.py try                one case of each model, a few steps: does it work here? Nothing is kept, no gain is told

cases: three models that may be tuned on, three set aside, at three rates each. Results are in validate/optimize/. Root is needed,
for network namespaces.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import hosts
import optimize_page
from kinds import Kind
from kit import git
from kit_job import KitError, KitJobs
from results import describe_machine, folders_digest, load, replace_file
from validate import EXIT_SKIPPED, SOURCE_DIR

FOLDER = os.path.join(SOURCE_DIR, "validate", "optimize")
CAPS_MB = (1, 2, 4, 8, 16, 25, 50, 100)
DEFAULT_MB = 25  # PyTorch's own
LOSS_STEP = 12   # whose loss is compared: the plan is carried out, and all runs have it
RECORDED_STEPS = 25
MIN_STEPS = 6     # of a run at each rate, so that there is a step LOSS_STEP


@dataclass(frozen=True)
class Model:
    name: str
    half: str
    options: tuple
    rates: tuple  # Mbit/s
    about: str

    def kind(self, cap=None):
        """As kit_job.py runs it; `cap`: bucket_cap_mb, None: PyTorch's own."""
        caps = ("--cap", str(cap)) if cap else ()
        return Kind(self.name, self.half, "bucketed", 2, (*self.options, *caps), self.about, "", True, 0)

    def case(self, rate):
        return f"{self.name}-{rate}"


def model(name, half, options, rates, about):
    return Model(name, half, ("--model", name, *options.split()), rates, about)


# The rates are such that sending takes about as long as the backward pass, half as long, and longer; buckets matter most in between.
MODELS = (
    model("cnn", "tuned", "--width 96 --batch 16", (350, 500, 700), "convolutions: mostly computing, 4.8 MB of gradients"),
    model("mlp", "tuned", "--width 1024 --layers 5 --batch 256", (700, 1000, 1500),
          "fully connected: 18 MB of gradients in few large tensors"),
    model("transformer", "tuned", "--width 256 --layers 4 --batch 16", (700, 1000, 1500),
          "transformer encoder, 12.6 MB of gradients"),
    model("recurrent", "aside", "--width 384 --layers 3 --batch 16", (700, 1000, 1500),
          "words embedded and LSTMs, 17 MB of gradients, a layer's at once"),
    model("mixer", "aside", "--width 256 --layers 6 --batch 16", (700, 1000, 1500),
          "perceptrons over tokens and channels, 12.7 MB of gradients, many small ones between large ones"),
    model("wide_head", "aside", "--width 64 --layers 3 --batch 32", (350, 500, 700),
          "convolutions behind which fully connected layers hold most of 10 MB of gradients, which come first"),
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n", 2)[2])
    parser.add_argument("what", choices=["run", "plan", "measure", "page", "anew", "try"])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--folder", default=FOLDER, help="of results; default: validate/optimize")
    parser.add_argument("--work", default=os.path.join(SOURCE_DIR, "build", "optimize"),
                        help="where recordings lie; default: build/optimize")
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has PyTorch")
    parser.add_argument("--models", help="these alone, separated by commas")
    parser.add_argument("--minutes", type=float, help="begin no run after this long")
    parser.add_argument("--rounds", type=int, default=6, help="unrecorded runs of each setting, at most")
    parser.add_argument("--steps", type=int, default=8, help="counted steps of a run at each rate")
    parser.add_argument("--budget", default="4s", help="of tacho optimize; default: 4s")
    arguments = parser.parse_args()
    if arguments.steps < MIN_STEPS:
        parser.error(f"--steps: at least {MIN_STEPS}")
    return arguments


def setting_name(cap=None, rate=None):
    """What a run is of: buckets by a cap, at all rates of its model, or the plan that was made for one rate."""
    return f"cap {cap}" if cap else f"plan {rate}"


class Cases:
    def __init__(self, arguments):
        self.arguments = arguments
        self.tacho = os.path.join(arguments.build, "bin", "tacho")
        names = arguments.models.split(",") if arguments.models else [model.name for model in MODELS]
        for name in names:
            if name not in {model.name for model in MODELS}:
                sys.exit(f"optimize_cases.py: no model '{name}'; there are: {', '.join(model.name for model in MODELS)}")
        self.models = [model for model in MODELS if model.name in names]
        self.deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
        os.makedirs(arguments.folder, exist_ok=True)
        os.makedirs(arguments.work, exist_ok=True)
        self.plans = load(self.path("plans.json"), {"plans": []})
        self.measured = load(self.path("measured.json"), {"machine": {}, "runs": []})

    def path(self, name):
        return os.path.join(self.arguments.folder, name)

    def plan_path(self, case):
        return self.path(f"{case}.plan.json")

    def is_late(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    # --- recordings and plans -------------------------------------------------------------------

    def row_of(self, model, rate):
        """What is known of the case's plan, of the model as it is now; None: nothing."""
        return next((row for row in self.plans["plans"] if row["case"] == model.case(rate) and
                     row["options"] == list(model.options)), None)

    def make_plans(self, jobs):
        """Record and plan what has no plan. Returns whether all have one."""
        for model in self.models:
            for rate in model.rates:
                if self.row_of(model, rate):
                    continue
                if self.is_late():
                    return False
                folder = os.path.join(self.arguments.work, model.case(rate))
                jobs.record(model.kind(), rate, 0, folder, RECORDED_STEPS)
                row = self.make_plan(model, rate, folder)
                self.plans["plans"] = [old for old in self.plans["plans"] if old["case"] != row["case"]] + [row]
                replace_file(self.path("plans.json"), self.plans)
                print(f"{row['case']:20} recorded {row['measured_step_ms']:8.2f} ms a step; "
                      f"{row['change']}: {row['gain_pct']:+.1f} %", flush=True)
        return True

    def make_plan(self, model, rate, folder):
        """What tacho says of the recording. With a plan, it is written, too."""
        case = model.case(rate)
        runs = [os.path.join(folder, f"r{rank}.tacho") for rank in range(2)]
        made = os.path.join(folder, "plan.json")
        done = subprocess.run([self.tacho, "optimize", *runs, "--json", "--budget", self.arguments.budget, "--force", "-o", made],
                              capture_output=True, text=True)
        if done.returncode not in (0, 1):  # 1: there is no plan
            raise KitError(f"{case}: {done.stderr.strip()}")
        answer = json.loads(done.stdout)
        best = next((row for row in answer["candidates"] if row["is_applicable"]), None)
        row = {"case": case, "half": model.half, "options": list(model.options), "rate_mbit": rate,
               "tacho": self.version(), "recording": folders_digest(runs), "at": round(time.time()),
               "measured_step_ms": answer["measured_step_ms"], "baseline_step_ms": answer["baseline_step_ms"],
               "change": "nothing", "gain_pct": 0.0, "gain_interval_pct": None, "plan": None, "notes": answer["notes"]}
        if best and done.returncode == 0:
            shutil.copyfile(made, self.plan_path(case))
            row |= {"change": best["change"], "gain_pct": best["gain_pct"], "plan": file_digest(made),
                    "gain_interval_pct": [best["low_gain_pct"], best["high_gain_pct"]]}
        elif os.path.exists(self.plan_path(case)):
            os.unlink(self.plan_path(case))
        return row

    def version(self):
        """The last commit, and whether the program is another one's."""
        is_changed = git("status", "--porcelain", "--", "src", "cli", "include", "python").strip()
        return git("describe", "--always").strip() + ("-dirty" if is_changed else "")

    def commit_plans(self):
        files = [self.path("plans.json"), *(self.plan_path(row["case"]) for row in self.plans["plans"] if row["plan"])]
        if not git("status", "--porcelain", "--", *files).strip():
            return
        git("add", "--", *files)
        git("commit", "-m", "validate: plans and what is said of them, before any is measured", "-m",
            "Of all models at all rates; those set aside are not tuned on.", "--", *files)

    def committed_rows(self):
        """What the last commit has of plans, by case."""
        name = os.path.relpath(self.path("plans.json"), SOURCE_DIR)
        done = subprocess.run(["git", "-C", SOURCE_DIR, "show", f"HEAD:{name}"], capture_output=True, text=True)
        return {row["case"]: row for row in json.loads(done.stdout)["plans"]} if done.returncode == 0 else {}

    # --- measuring ------------------------------------------------------------------------------

    def runs_of(self, model, name):
        """Runs of a setting, of the model and the plan as they are now: each a row for each rate."""
        runs = [run for run in self.measured["runs"] if run["model"] == model.name and run["setting"] == name and
                run["options"] == list(model.options)]
        return [run for run in runs if not run["plan"] or run["plan"] == (self.row_of(model, run["rate_mbit"]) or {}).get("plan")]

    def n_runs(self, model, name):
        return len({run["at"] for run in self.runs_of(model, name)})

    def caps_of(self, model):
        """The caps that differ. DistributedDataParallel said which buckets it had: where it had the same, one is run for all."""
        caps, seen = [], set()
        for cap in sorted(CAPS_MB, key=lambda cap: cap != DEFAULT_MB):
            runs = self.runs_of(model, setting_name(cap))
            buckets = tuple(runs[0]["buckets"]) if runs else None
            if buckets is None or buckets not in seen:
                caps.append(cap)
            seen.add(buckets)
        return sorted(caps)

    def settings(self, model):
        """(cap, rate) of all runs of a round: of one of them None. A plan's own stands beside the default's, by turns before and after."""
        plans = [(None, rate) for rate in model.rates if self.row_of(model, rate)["plan"]]
        default = (DEFAULT_MB, None)
        others = [(cap, None) for cap in self.caps_of(model) if cap != DEFAULT_MB]
        return [*others[:len(others) // 2], default, *plans, *others[len(others) // 2:]]

    def measure(self, jobs):
        """Rounds over all models and settings. Returns whether all is measured."""
        committed = self.committed_rows()
        models = []
        for model in self.models:
            rows = [self.row_of(model, rate) for rate in model.rates]
            if all(row and committed.get(row["case"]) == row for row in rows):
                models.append(model)
            else:
                print(f"{model.name:20} is not measured: its plans are not committed", flush=True)
        is_whole = len(models) == len(self.models)
        for number in range(self.arguments.rounds):
            for model in models if number % 2 == 0 else models[::-1]:
                settings = self.settings(model)
                for cap, rate in settings if number % 2 == 0 else settings[::-1]:
                    if self.n_runs(model, setting_name(cap, rate)) > number:
                        continue
                    if self.is_late():
                        return False
                    try:
                        self.measure_once(jobs, model, cap, rate, number)
                    except KitError as error:  # the others can still be measured
                        print(f"{model.name:20} {setting_name(cap, rate):10} failed: {error}", flush=True)
                        is_whole = False
        return is_whole

    def measure_once(self, jobs, model, cap, rate, number):
        name = setting_name(cap, rate)
        plan = self.row_of(model, rate)["plan"] if rate else None
        rates = [rate] if rate else list(model.rates if number % 2 == 0 else model.rates[::-1])
        kind = model.kind(cap if cap != DEFAULT_MB else None)
        at = round(time.time())
        times = jobs.measure(kind, rates, 0, self.arguments.steps, self.plan_path(model.case(rate)) if plan else None)
        last = jobs.last_lines
        for at_rate, steps in times.items():
            self.measured["runs"].append({
                "model": model.name, "options": list(model.options), "setting": name, "rate_mbit": at_rate, "round": number,
                "plan": plan, "at": at, "buckets": last[-1]["buckets"], "loss": last[LOSS_STEP]["loss"], "steps_ms": steps})
        replace_file(self.path("measured.json"), self.measured)
        print(f"{model.name:20} {name:10} " + "  ".join(
            f"{at_rate} Mbit/s: {statistics.median(steps):8.2f} ms" for at_rate, steps in sorted(times.items())), flush=True)

    # --- the whole ------------------------------------------------------------------------------

    def run(self, jobs):
        self.measured["machine"] = {**describe_machine(self.arguments.python), "tcp": hosts.CONGESTION_CONTROL}
        is_planned = self.make_plans(jobs)
        self.commit_plans()
        is_whole = self.measure(jobs)
        self.write_page()
        return is_planned and is_whole

    def try_all(self, jobs):
        """Each model at its middle rate, recorded, planned, and run with the plan and without. Step times only: no gain is told."""
        self.arguments.folder = tempfile.mkdtemp(dir=self.arguments.work)
        n_failed = 0
        try:
            for model in self.models:
                try:
                    print(f"{model.name:20} {self.try_one(jobs, model, model.rates[1])}", flush=True)
                except (KitError, hosts.HostsError) as error:
                    print(f"{model.name:20} failed: {error}", flush=True)
                    n_failed += 1
        finally:
            shutil.rmtree(self.arguments.folder)
        return n_failed == 0

    def try_one(self, jobs, model, rate):
        folder = os.path.join(self.arguments.folder, model.case(rate))
        began = time.monotonic()
        jobs.record(model.kind(), rate, 0, folder, RECORDED_STEPS)
        recorded_s = time.monotonic() - began
        row = self.make_plan(model, rate, folder)
        jobs.measure(model.kind(), list(model.rates), 0, 2)
        own = jobs.last_lines[-1]["buckets"]
        said = f"{row['measured_step_ms']:.0f} ms a step, recorded in {recorded_s:.1f} s; {len(own)} buckets of its own"
        if not row["plan"]:
            return f"{said}; no plan"
        jobs.measure(model.kind(), [rate], 0, 6, self.plan_path(model.case(rate)))
        return f"{said}, {len(jobs.last_lines[-1]['buckets'])} with the plan ({row['change']})"

    def forget(self):
        for name in os.listdir(self.arguments.folder):
            if name.endswith(".json"):
                os.unlink(self.path(name))
        for model in MODELS:
            for rate in model.rates:
                shutil.rmtree(os.path.join(self.arguments.work, model.case(rate)), ignore_errors=True)

    def write_page(self):
        text = optimize_page.write(self, MODELS, CAPS_MB, DEFAULT_MB)
        path = os.path.join(SOURCE_DIR, "docs", "validation-optimize.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{path} written")
        return True


def file_digest(path):
    with open(path, "rb") as content:
        return hashlib.sha256(content.read()).hexdigest()[:16]


def main():
    arguments = parse_arguments()
    cases = Cases(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))
    if arguments.what == "page":
        return 0 if cases.write_page() else 1
    if arguments.what == "anew":
        cases.forget()
        return 0
    reason = hosts.why_not()
    if reason:
        print(f"optimize_cases.py: {reason}", file=sys.stderr)
        return EXIT_SKIPPED
    does = {"run": cases.run, "plan": cases.make_plans, "measure": cases.measure, "try": cases.try_all}
    with hosts.Hosts(None, 2) as network:  # without latency there is no relay
        return 0 if does[arguments.what](KitJobs(network, {}, cases.tacho, arguments.python)) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KitError, hosts.HostsError) as error:
        sys.exit(f"optimize_cases.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
