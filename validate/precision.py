#!/usr/bin/env python3
"""Are predictions of mixed precision right? Six models, 25 plans each: recorded in uniform precisions, predicted, then measured.

    precision.py quiet --minutes 40   as much as there is time for, on a machine that does nothing else: casts and recordings, the
                                      predictions (which are committed), then rounds of measuring. Run again to go on.
    precision.py record               casts and the recordings that are missing
    precision.py predict              predict all plans from the recordings; nothing is measured
    precision.py indicators           gather statistics anew, and predict harm alone from them; times stay as they are predicted
    precision.py commit               commit the predictions
    precision.py measure              rounds of measuring; a model only if its predictions are in the last commit
    precision.py peaks                peaks of memory alone, which need no machine of their own: recordings that are missing, predictions
                                      (memory.json, to be committed), and, once they are committed, jobs
    precision.py kept                 bytes that are kept for the backward pass, predicted anew from recordings of their own (kept.json)
    precision.py page                 docs/validation-precision.md
    precision.py anew                 forget recordings, predictions and measurements
    precision.py try                  two models, few plans and rounds, into build/precision-try: does it work here? Nothing is kept

What is predicted and measured is in validate/precision/, recordings are in build/precision/. precision_models.py has the models, half of
which are set aside; precision_plans.py the plans, precision_measure.py what runs them.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time

import precision_page
import precision_plans
from results import describe_machine, load, replace_file

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HERE = os.path.join(SOURCE_DIR, "validate")
FOLDER = os.path.join(HERE, "precision")
MODELS = ("mlp", "bert", "resnet18", "gpt", "depthwise", "two_branches")
ASIDE = ("gpt", "depthwise", "two_branches")  # as precision_models.py has them
PRECISIONS = ("fp32", "bf16", "int8")
N_STEPS, N_CONTROL_STEPS = 40, 4
N_TURNS = 5  # recordings of each precision, in turn: the machine is not equally fast at all times, nor is one process as fast as the next
N_SITTINGS = 5  # processes that measure, for the same reason, each a part of the rounds
RECORDED_STEPS = f"4:{N_STEPS}"  # behind the step in which the hook looks at the flow of tensors
STATISTICS = "statistics"  # a recording of its own, for its steps take longer
INDICATORS = ("loss", "gradient", "variance", "hessian", "direct", "direct-gradient", "wvar", "gvar", "hess")
N_PROBES, N_DIRECT = 8, 8
PEAK_PLANS = ("fp32", "bf16", "int8", "alternating", "random 0", "random 1")  # each a job of its own, recorded with the plan
BOUNDS = (1.0, 1.1, 1.5)  # of the fastest plan's time, for plans that tacho looks for


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n", 2)[2])
    parser.add_argument("what", choices=["quiet", "record", "predict", "indicators", "commit", "measure", "peaks", "kept", "page", "anew", "try"])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--folder", default=FOLDER, help="of results; default: validate/precision")
    parser.add_argument("--work", default=os.path.join(SOURCE_DIR, "build", "precision"), help="of recordings")
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has PyTorch")
    parser.add_argument("--models", help="these alone, separated by commas")
    parser.add_argument("--minutes", type=float, help="begin nothing after this long")
    parser.add_argument("--rounds", type=int, default=25)
    return parser.parse_args()


class Validation:
    def __init__(self, arguments):
        self.arguments = arguments
        self.tacho = os.path.join(arguments.build, "bin", "tacho")
        self.hook = os.path.join(arguments.build, "share", "tacho", "python")
        self.models = arguments.models.split(",") if arguments.models else list(MODELS)
        for model in self.models:
            if model not in MODELS:
                sys.exit(f"precision.py: no model '{model}'; there are: {', '.join(MODELS)}")
        self.deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
        self.n_plans = None  # all
        self.cast_options = []
        self.is_try = False
        os.makedirs(arguments.folder, exist_ok=True)
        os.makedirs(arguments.work, exist_ok=True)

    def path(self, name):
        return os.path.join(self.arguments.folder, name)

    def left_s(self):
        return None if self.deadline is None else self.deadline - time.monotonic()

    def is_late(self):
        return self.deadline is not None and self.left_s() <= 0

    def environment(self):
        """One thread, and a heap that keeps what it got: else whether a step asks the kernel for its pages anew depends on the order
        of the plans before it, and steps of the same plan differ by a third."""
        return {**os.environ, **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")},
                "MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(8 << 30)}

    def call(self, command, **options):
        return subprocess.run(command, env=self.environment(), text=True, **options)

    # --- recordings -------------------------------------------------------------------------

    def recording(self, model, precision, turn=0):
        return os.path.join(self.arguments.work, f"{model}.{precision}{f'.{turn}' if turn else ''}.tacho")

    def turns(self):
        """What each model is recorded in, in this order."""
        return [(precision, turn) for turn in range(N_TURNS) for precision in PRECISIONS] + [(STATISTICS, 0)]

    def recordings(self, model):
        """Those that there are."""
        every = [self.recording(model, precision, turn) for precision, turn in self.turns() if precision != STATISTICS]
        return [folder for folder in every if os.path.isdir(folder)]

    def record_one(self, model, precision, turn):
        folder = self.recording(model, precision, turn)
        options = ["--precision", precision, "--steps", RECORDED_STEPS, "--control", str(N_CONTROL_STEPS)]
        if precision == STATISTICS:
            options = ["--precision-statistics", "--precision-hessian", str(N_PROBES), "--precision-direct", str(N_DIRECT)]
        done = self.call(
            [self.tacho, "record", "--quiet", "--force", "-o", folder + ".part", *options, "--",
             self.arguments.python, os.path.join(HERE, "precision_job.py"), model, "--steps", str(N_STEPS), "--times"],
            capture_output=True)
        if done.returncode != 0:
            sys.exit(f"precision.py: recording {model} in {precision}: {done.stderr.strip()[-400:]}")
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(folder + ".part", folder)
        times = sorted(row["ns"] for row in json.loads(done.stdout)[4:])
        print(f"{model:14} {precision}  recorded, {times[len(times) // 2] / 1e6:9.3f} ms a step", flush=True)

    def record(self):
        casts = self.path("casts.json")
        if not os.path.exists(casts):
            self.call([self.tacho, "calibrate", "casts", "--python", self.arguments.python, "-o", casts, *self.cast_options],
                      check=True)
        for precision, turn in self.turns():
            for model in self.models:
                if self.is_late():
                    return False
                if not os.path.isdir(self.recording(model, precision, turn)):
                    self.record_one(model, precision, turn)
        return True

    def is_recorded(self, model):
        return all(os.path.isdir(self.recording(model, precision, turn)) for precision, turn in self.turns())

    def run_file(self, model):
        return load(os.path.join(self.recording(model, "fp32"), "precision.json"), None)

    # --- predictions ------------------------------------------------------------------------

    def plans(self, model):
        plans = precision_plans.plans_of(model, self.run_file(model))
        return dict(list(plans.items())[:self.n_plans]) if self.n_plans else plans

    def plan_path(self, model, name):
        return os.path.join(self.arguments.work, f"{model}.{name.replace(' ', '-')}.plan.json")

    def ask(self, what, model, *options):
        """What `tacho precision WHAT --json` says of a model's recordings, or {"error": why not}."""
        done = self.call([self.tacho, "precision", what, *self.recordings(model), "--casts", self.path("casts.json"), "--json",
                          *options], capture_output=True)
        if done.returncode != 0:
            return {"error": done.stderr.strip().replace(self.arguments.work, "...")}
        return json.loads(done.stdout)

    def ask_plans(self, model, paths, *options):
        """What is predicted of each of these plans, in one call: what takes long is to read the recordings."""
        answers = self.ask("predict", model, *options, *(word for path in paths for word in ("--plan", path)))
        if isinstance(answers, dict) and "error" in answers:
            return [self.ask_plans(model, [path], *options)[0] for path in paths] if len(paths) > 1 else [answers]
        return answers if isinstance(answers, list) else [answers]

    def predict_plans(self, model, plans):
        """A row of each of {name: plan}."""
        paths = [self.plan_path(model, name) for name in plans]
        for path, plan in zip(paths, plans.values()):
            replace_file(path, precision_plans.plan_file(self.run_file(model), plan))
        rows = [{"model": model, "plan": name, "digest": precision_plans.digest(plan)} for name, plan in plans.items()]
        for row, answer in zip(rows, self.ask_plans(model, paths)):
            row.update({"error": answer["error"]} if "error" in answer else precision_page.kept_of(answer))
        for key, options in precision_page.ABLATIONS.items():
            for row, other in zip(rows, self.ask_plans(model, paths, *options)):
                if "error" not in other and "error" not in row:
                    row[key] = round(other["predicted_step_ms"], 4)
        return rows

    def statistics(self, model):
        return os.path.join(self.recording(model, STATISTICS), "precision-statistics.json")

    def indicators(self, model):
        """{indicator: [{module, kind, ordinal, precision, harm}]}"""
        found = {}
        for name in INDICATORS:
            done = self.call([self.tacho, "precision", "indicator", "--statistics", self.statistics(model), "--indicator", name, "--json"],
                             capture_output=True)
            if done.returncode == 0:
                found[name] = [{"module": r["module"], "kind": r["kind"], "ordinal": r["ordinal"], "precision": r["format"],
                                "harm": r["harm"]} for r in json.loads(done.stdout) if r["format"] in ("bf16", "int8")]
            else:
                print(f"{model:14} no indicator {name}: {done.stderr.strip()}", flush=True)
        return found

    def found_plans(self, model):
        """Plans that tacho looks for: the fastest, and the least harmful within bounds of it."""
        found = {}
        for bound in BOUNDS:
            path = os.path.join(self.arguments.work, f"{model}.within-{bound:g}.plan.json")
            answer = self.ask("plan", model, "--statistics", self.statistics(model), "--keep-within", f"{100 * (bound - 1):g}%",
                              "--force", "-o", path)
            if "error" in answer or not os.path.exists(path):
                print(f"{model:14} no plan within {bound:g}: {answer.get('error', answer)}", flush=True)
                continue
            changes = load(path, {})["changes"]["precision"]
            wanted = {(o["module"], o["kind"], o["ordinal"]): o["precision"] for o in changes}
            found[f"within {bound:g}"] = [wanted.get(name, "fp32") for name, _ in precision_plans.chosen(self.run_file(model))]
        return found

    def predict(self):
        data = load(self.path("predicted.json"), {"models": {}, "predictions": []})
        for model in self.models:
            if not self.is_recorded(model):
                continue
            plans = {**self.plans(model), **self.found_plans(model)}
            rows = self.predict_plans(model, plans)
            names = [list(name) for name, _ in precision_plans.chosen(self.run_file(model))]
            data["models"][model] = {"names": names, "plans": plans}
            data.setdefault("indicators", {})[model] = self.indicators(model)
            data["predictions"] = [row for row in data["predictions"] if row["model"] != model] + rows
            n_errors = sum("error" in row for row in rows)
            print(f"{model:14} {len(rows)} plans predicted" + (f", {n_errors} refused: {rows[0].get('error')}" if n_errors else ""),
                  flush=True)
        data["tacho"] = git("describe", "--always").strip()
        replace_file(self.path("predicted.json"), data)

    def predict_harm(self):
        """As predict(), of harm alone, from statistics that are gathered anew."""
        data = load(self.path("predicted.json"), {"models": {}, "predictions": []})
        for model in self.models:
            self.record_one(model, STATISTICS, 0)
            data.setdefault("indicators", {})[model] = self.indicators(model)
        data["harm_by"] = git("describe", "--always").strip()
        replace_file(self.path("predicted.json"), data)

    def commit(self):
        name = os.path.relpath(self.arguments.folder, SOURCE_DIR)
        git("add", "--", name)
        if git("status", "--porcelain", "--", name).strip():
            git("commit", "-q", "-m", "validate: what mixed precisions are predicted to take, before they are measured", "--", name)

    def committed(self, name):
        """What the file of predictions has in the last commit."""
        name = os.path.relpath(self.path(name), SOURCE_DIR)
        done = subprocess.run(["git", "-C", SOURCE_DIR, "show", f"HEAD:{name}"], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {"models": {}, "predictions": []}

    def committed_models(self):
        """Models whose predictions are in the last commit, as they are here."""
        if self.is_try:
            return set(self.models)
        there = self.committed("predicted.json")
        here = load(self.path("predicted.json"), {"models": {}, "predictions": []})
        return {model for model in here["models"] if there["models"].get(model) == here["models"][model]
                and [r for r in there["predictions"] if r["model"] == model]
                == [r for r in here["predictions"] if r["model"] == model]}

    # --- peaks of memory --------------------------------------------------------------------

    def record_once(self, model):
        """What is held and kept does not hang on how fast a machine is: one recording in each precision does."""
        for precision in PRECISIONS:
            if not os.path.isdir(self.recording(model, precision)):
                self.record_one(model, precision, 0)

    def predict_peaks(self):
        """As predict(), of bytes alone, from one recording in each precision: what is held does not hang on how fast a machine is."""
        data = load(self.path("memory.json"), {"predictions": []})
        for model in self.models:
            self.record_once(model)
            plans = {name: plan for name, plan in self.plans(model).items() if name in PEAK_PLANS}
            rows = self.predict_plans(model, plans)
            keys = ("model", "plan", "digest", "error", "saved_bytes", "peak_bytes")
            data["predictions"] = [row for row in data["predictions"] if row["model"] != model]
            data["predictions"] += [{key: row[key] for key in keys if key in row} for row in rows]
            print(f"{model:14} peaks of {len(rows)} plans predicted", flush=True)
        data["tacho"] = git("describe", "--always").strip()
        data["machine"] = {**describe_machine(self.arguments.python), "has_bf16": has_bf16()}
        replace_file(self.path("memory.json"), data)

    def predict_kept(self):
        """As predict(), of what forward passes keep alone: that is the same on all machines."""
        rows = []
        for model in self.models:
            self.record_once(model)
            plans = load(self.path("predicted.json"), {"models": {}})["models"].get(model, {}).get("plans") or self.plans(model)
            rows += [{key: row[key] for key in ("model", "plan", "digest", "error", "saved_bytes") if key in row}
                     for row in self.predict_plans(model, plans)]
        replace_file(self.path("kept.json"), {"tacho": git("describe", "--always").strip(), "predictions": rows})

    def peaks(self):
        """Predict what is not predicted yet; measure what is committed so."""
        there = [row["model"] for row in self.committed("memory.json")["predictions"]]
        wanted = self.models
        self.models = [model for model in wanted if model not in there]
        if self.models:
            self.predict_peaks()
        data = self.measured()
        data.setdefault("machine", describe_machine(self.arguments.python))
        for model in wanted:
            if model in there:
                self.measure_peaks(data, model)
            else:
                print(f"{model:14} not measured: its peaks are not committed (memory.json)", flush=True)

    # --- measurements -----------------------------------------------------------------------

    def measured(self):
        return load(self.path("measured.json"), {"machine": {}, "rounds": [], "memory": [], "peaks": [], "harm": [], "training": []})

    def run_measure(self, model, what, plans, keep, *options):
        """Have precision_measure.py measure; `keep(row)` is called with each line that it prints."""
        predicted = load(self.path("predicted.json"), None)["models"][model]
        path = os.path.join(self.arguments.work, f"{model}.{what}.json")
        replace_file(path, {"names": predicted["names"], "plans": {name: predicted["plans"][name] for name in plans}})
        left = [] if self.left_s() is None else ["--seconds", f"{max(1.0, self.left_s()):.1f}"]
        command = [self.arguments.python, os.path.join(HERE, "precision_measure.py"), model, path, what, "--hook", self.hook,
                   *left, *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())
        for line in process.stdout:
            keep(json.loads(line))
        if process.wait() != 0:
            sys.exit(f"precision.py: measuring {model}: {process.stderr.read().strip()[-600:]}")

    def measure(self):
        data = self.measured()
        data["machine"] = describe_machine(self.arguments.python)
        committed = self.committed_models()
        for model in self.models:
            if model not in committed:
                print(f"{model:14} not measured: its predictions are not committed (precision.py commit)", flush=True)
        for sitting in range(1, N_SITTINGS + 1):
            for model in self.models:
                if model in committed:
                    self.measure_times(data, model, self.predicted_plans(model), -(-self.arguments.rounds * sitting // N_SITTINGS))
        for part in (self.measure_peaks, self.measure_kept, self.measure_harm, self.measure_training):
            for model in self.models:
                if model in committed and not self.is_late():
                    part(data, model)

    def add(self, data, where, model, row):
        """Read anew, so that harm can be measured in one process while another measures peaks."""
        data.update(self.measured(), machine=data["machine"])
        data[where].append({"model": model, **row})
        replace_file(self.path("measured.json"), data)

    def measure_times(self, data, model, plans, n_rounds):
        """So many in all."""
        n_done = sum(row["model"] == model for row in data["rounds"])
        if n_done >= n_rounds or self.is_late():
            return
        self.run_measure(model, "times", plans, lambda row: self.add(data, "rounds", model, row),
                         "--rounds", str(n_rounds), "--first-round", str(n_done))
        n_done = sum(row["model"] == model for row in data["rounds"])
        print(f"{model:14} {n_done} rounds of {len(plans)} plans", flush=True)

    def measure_peaks(self, data, model):
        """What the allocator's probe sees of jobs in which `tacho apply` carries out a plan."""
        for name in PEAK_PLANS:
            path = self.plan_path(model, name)
            if self.is_late() or not os.path.exists(path) or any(
                    row["model"] == model and row["plan"] == name for row in data["peaks"]):
                continue
            run = os.path.join(self.arguments.work, f"{model}.peak.tacho")
            self.call([self.tacho, "apply", "-q", path, "--", self.tacho, "record", "-q", "--force", "--steps", "4:9", "-o", run,
                       "--", self.arguments.python, os.path.join(HERE, "precision_job.py"), model, "--steps", "9"], check=True)
            done = self.call([self.tacho, "report", run, "--view", "memory", "--json"], check=True, capture_output=True)
            peaks = [row["memory_peak_bytes"] for row in json.loads(done.stdout)]
            if peaks:
                self.add(data, "peaks", model, {"plan": name, "peak_bytes": max(peaks)})

    def measure_kept(self, data, model):
        if not self.is_measured(data, "memory", model):
            self.run_measure(model, "memory", self.predicted_plans(model), lambda row: self.add(data, "memory", model, row))

    def measure_harm(self, data, model):
        if not self.is_measured(data, "harm", model):
            self.run_measure(model, "harm", ["fp32"], lambda row: self.add(data, "harm", model, row),
                             "--batches", "2" if self.is_try else "20")

    def measure_training(self, data, model):
        found = [name for name in self.predicted_plans(model) if name.startswith("within") or name in ("fp32", "bf16")]
        if not self.is_measured(data, "training", model):
            self.run_measure(model, "training", found, lambda row: self.add(data, "training", model, row),
                             "--steps", "20" if self.is_try else "300", "--seeds", "1" if self.is_try else "3")

    def predicted_plans(self, model):
        return list(load(self.path("predicted.json"), None)["models"][model]["plans"])

    @staticmethod
    def is_measured(data, where, model):
        return any(row["model"] == model for row in data[where])

    # --- all of it --------------------------------------------------------------------------

    def page(self):
        text = precision_page.write(load(self.path("predicted.json"), {"models": {}, "predictions": []}), self.measured(),
                                    load(self.path("memory.json"), {}), load(self.path("kept.json"), {}), ASIDE)
        if self.is_try:
            print(text)
            return
        with open(os.path.join(SOURCE_DIR, "docs", "validation-precision.md"), "w", encoding="utf-8") as file:
            file.write(text)

    def anew(self):
        shutil.rmtree(self.arguments.work, ignore_errors=True)
        for name in ("casts.json", "predicted.json", "memory.json", "kept.json", "measured.json"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))

    def quiet(self):
        if not self.record():
            sys.exit("precision.py: there was no time for all recordings; run it again")
        if not os.path.exists(self.path("predicted.json")):
            self.predict()
        self.commit()
        self.measure()
        self.page()

    def try_out(self):
        self.is_try = True
        self.n_plans = 5
        self.cast_options = ["--rounds", "3", "--seconds", "20"]
        self.record()
        self.predict()
        self.measure()
        self.page()


def has_bf16():
    """The processor multiplies in bf16 (or the system does not tell)."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            text = file.read()
        return any(flag in text for flag in ("avx512_bf16", "amx_bf16"))
    except OSError:
        return True


def git(*words):
    return subprocess.run(["git", "-C", SOURCE_DIR, *words], capture_output=True, text=True, check=True).stdout


def main():
    arguments = parse_arguments()
    if arguments.what == "try":
        arguments.folder = os.path.join(SOURCE_DIR, "build", "precision-try")
        arguments.work = os.path.join(arguments.folder, "work")
        arguments.models = arguments.models or "two_branches,gpt"
        arguments.rounds = min(arguments.rounds, 2)
        shutil.rmtree(arguments.folder, ignore_errors=True)
    validation = Validation(arguments)
    {"quiet": validation.quiet, "record": validation.record, "predict": validation.predict, "indicators": validation.predict_harm,
     "commit": validation.commit, "measure": validation.measure, "peaks": validation.peaks, "kept": validation.predict_kept,
     "page": validation.page, "anew": validation.anew, "try": validation.try_out}[arguments.what]()


if __name__ == "__main__":
    main()
