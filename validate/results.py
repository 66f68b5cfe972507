"""What was measured and what was predicted, in two files of one folder.

results.json is written anew after each run, so that a killed measurement goes on where it stopped; a run
counts for a case only if it was made of the very same one. predictions.json can be made from it and the
recordings at any time, also while measuring goes on.
"""

import hashlib
import json
import os
import platform
import subprocess
import time


def folders_digest(folders):
    """Which recording something is of: a hash of its files' names and bytes."""
    total = hashlib.sha256()
    for folder in folders:
        for place, inner, files in os.walk(folder):
            inner.sort()
            for file in sorted(files):
                path = os.path.join(place, file)
                total.update(os.path.relpath(path, folder).encode())
                with open(path, "rb") as content:
                    total.update(content.read())
    return total.hexdigest()[:16]


class Results:
    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, "results.json")
        self.predictions_path = os.path.join(folder, "predictions.json")
        os.makedirs(folder, exist_ok=True)
        self.data = load(self.path, {"machine": {}, "cases": {}, "runs": [], "recordings": []})
        self.predictions = load(self.predictions_path, {"predictions": []})["predictions"]

    def save(self):
        replace_file(self.path, self.data)

    def take_cases(self, cases):
        """Begin with these cases, or go on with them. What was measured of a case by another
        definition of the same name is dropped."""
        for case in cases:
            row = case.as_json()
            if self.data["cases"].setdefault(case.name, row) != row:
                self.data["cases"][case.name] = row
                for runs in ("runs", "recordings"):
                    self.data[runs] = [run for run in self.data[runs] if run["case"] != case.name]
        self.save()

    def runs_of(self, case):
        return [run for run in self.data["runs"] if run["case"] == case.name]

    def add_run(self, run):
        self.data["runs"].append(run)
        self.save()

    def recordings_of(self, case):
        return [run for run in self.data["recordings"] if run["case"] == case.name]

    def add_recording(self, run):
        self.data["recordings"].append(run)
        self.save()

    def link_mbit(self, case):
        """What a link of the case's rate carries; None: not measured."""
        return self.data.get("links", {}).get(link_name(case))

    def set_link_mbit(self, case, mbit):
        self.data.setdefault("links", {})[link_name(case)] = mbit
        self.data["links_at"] = round(time.time())
        self.save()

    def set_predictions(self, predictions):
        self.predictions = predictions
        replace_file(self.predictions_path, {"predictions": predictions})

    def whole(self):
        """All of it, as page.py takes it."""
        return {**self.data, "predictions": self.predictions}

    def recording_folder(self, case, number):
        return os.path.join(self.folder, "recordings", case.name, str(number))

    def recorded_runs(self, case, number=0):
        """The arguments that `tacho replay` takes for one recording: its runs."""
        folder = self.recording_folder(case, number)
        return [os.path.join(folder, f"r{rank}.tacho") for rank in range(case.ranks)]

    def all_recorded_runs(self, case):
        """The same for all recordings of the case together: of each rank its runs, joined by commas."""
        recordings = [self.recorded_runs(case, number) for number in range(len(self.recordings_of(case)))]
        return [",".join(runs) for runs in zip(*recordings)]

    def describe_machine(self, python):
        self.data["machine"] = describe_machine(python)
        self.save()


def link_name(case):
    """Links of one name are alike."""
    return f"{case.rate_mbit:g}mbit" + ("-switch" if case.model == "waits" else "")


def load(path, default):
    if not os.path.exists(path):
        return default
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def replace_file(path, data):
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(to_text(data))
    os.replace(path + ".part", path)


def to_text(data):
    """JSON with a line for each run and prediction: short, and a diff says what is new."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            rows = [json.dumps(row) for row in value]
            text = "[\n" + ",\n".join(rows) + "\n]"
        elif key == "cases":
            rows = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in value.items()]
            text = "{\n" + ",\n".join(rows) + "\n}"
        else:
            text = json.dumps(value)
        parts.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def describe_machine(python):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")),
                     platform.machine())
    versions = subprocess.run(
        [python, "-c", "import sys, torch; print(sys.version.split()[0], torch.__version__)"],
        capture_output=True, text=True, check=True).stdout.split()
    return {"processor": model, "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "kernel": ".".join(platform.release().split("-")[0].split(".")[:3]),
            "python": versions[0], "torch": versions[1]}
