#!/usr/bin/env python3
"""Kinds of job that the model was not made for: recorded at one rate, predicted at others, and measured there.

    kit.py quiet --minutes 25   as much as there is time for, on a machine that does nothing else: recordings, predictions of
                                the kinds set aside (which are committed), then rounds of measuring. Run again to go on.
    kit.py record               the recordings that are missing
    kit.py predict              predict all kinds from their recordings; nothing is measured
    kit.py predict --blind      only of kinds set aside that have not been measured, into blind.json, to be committed
    kit.py measure              rounds of unrecorded runs; a kind set aside only if its predictions are committed
    kit.py page                 docs/validation-kit.md
    kit.py anew                 forget recordings, predictions and measurements: what is run is run otherwise from now on
    kit.py try                  each kind once, a few steps, recorded and not: does it work here? Nothing is kept

kinds.ini lists the kinds. Results are in validate/kit/. Root is needed, for network namespaces.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import hosts
import kit_page
from kinds import BASE, LATENCIES_MS, RATES_MBIT, read_kinds
from kit_job import KitError, KitJobs
from results import describe_machine, folders_digest, load, replace_file
from validate import EXIT_SKIPPED, SOURCE_DIR, build_relay

FOLDER = os.path.join(SOURCE_DIR, "validate", "kit")
MAX_KEPT_BYTES = 1024 * 1024  # of one recording, packed, for it to be kept in the repository


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n", 2)[2])
    parser.add_argument("what", choices=["quiet", "record", "predict", "measure", "page", "try", "anew"])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--folder", default=FOLDER, help="of results; default: validate/kit")
    parser.add_argument("--work", default=os.path.join(SOURCE_DIR, "build", "kit"),
                        help="where recordings lie unpacked; default: build/kit")
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has PyTorch")
    parser.add_argument("--kinds", help="these alone, separated by commas")
    parser.add_argument("--minutes", type=float, help="begin no run after this long")
    parser.add_argument("--rounds", type=int, default=5, help="unrecorded runs of each kind and latency")
    parser.add_argument("--recordings", type=int, default=1, help="of each kind")
    parser.add_argument("--steps", type=int, default=9, help="counted steps of a run at each rate")
    parser.add_argument("--blind", action="store_true", help="of predict: the kinds set aside, before they are measured")
    return parser.parse_args()


class Kit:
    def __init__(self, arguments):
        self.arguments = arguments
        self.tacho = os.path.join(arguments.build, "bin", "tacho")
        self.all_kinds = read_kinds()
        names = arguments.kinds.split(",") if arguments.kinds else list(self.all_kinds)
        for name in names:
            if name not in self.all_kinds:
                sys.exit(f"kit.py: no kind '{name}'; there are: {', '.join(self.all_kinds)}")
        self.kinds = [self.all_kinds[name] for name in names]
        self.deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
        os.makedirs(arguments.folder, exist_ok=True)
        os.makedirs(arguments.work, exist_ok=True)
        self.measured = load(self.path("measured.json"), {"machine": {}, "links": {}, "runs": []})

    def path(self, name):
        return os.path.join(self.arguments.folder, name)

    def is_late(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    def save(self):
        replace_file(self.path("measured.json"), self.measured)

    # --- recordings ---------------------------------------------------------------------------

    def packed(self, kind, number):
        return self.path(f"{kind.program}.{number}.tar.xz")

    def unpacked(self, kind, number):
        return os.path.join(self.arguments.work, f"{kind.program}.{number}")

    def recordings(self, kind):
        """Folders of the kind's recordings; those that are packed only are unpacked."""
        folders = []
        for number in range(self.arguments.recordings):
            folder, packed = self.unpacked(kind, number), self.packed(kind, number)
            if not os.path.isdir(folder) and os.path.exists(packed):
                with tarfile.open(packed) as archive:
                    archive.extractall(self.arguments.work, filter="data")
            if os.path.isdir(folder):
                folders.append(folder)
        return folders

    def record(self, jobs):
        for number in range(self.arguments.recordings):
            for kind in self.kinds:
                if self.is_late():
                    return
                if kind.beside or len(self.recordings(kind)) > number:
                    continue
                part = self.unpacked(kind, number) + ".part"
                times = jobs.record(kind, *BASE, part)
                os.rename(part, self.unpacked(kind, number))
                n_bytes = self.pack(kind, number)
                print(f"{kind.name:34} recorded {sorted(times)[len(times) // 2]:9.3f} ms a step, {n_bytes >> 10} KiB "
                      f"packed", flush=True)

    def pack(self, kind, number):
        """Keep the recording in the repository, if it is small. Returns its packed size."""
        packed = self.packed(kind, number)
        with tarfile.open(packed, "w:xz", preset=6) as archive:
            archive.add(self.unpacked(kind, number), arcname=f"{kind.program}.{number}")
        n_bytes = os.path.getsize(packed)
        if n_bytes > MAX_KEPT_BYTES:
            os.unlink(packed)
        return n_bytes

    # --- predictions --------------------------------------------------------------------------

    def link_mbit(self, kind, rate):
        """What a link of the rate was seen to carry, or its rate."""
        return self.measured["links"].get(link_name(kind, rate), rate)

    def link_latency_ms(self, kind, latency):
        """What links of the latency were seen to have, or that."""
        return self.measured["links"].get(latency_name(kind, latency), latency)

    def runs_of(self, kind):
        """What `tacho replay` takes: of each rank its runs, joined by commas."""
        folders = self.recordings(kind)
        return [",".join(os.path.join(folder, f"r{rank}.tacho") for folder in folders) for rank in range(kind.ranks)]

    def what_ifs(self, kind, case):
        changes = []
        if case.rate != BASE[0]:
            changes.append(f"bandwidth={self.link_mbit(kind, case.rate) / self.link_mbit(kind, BASE[0]):.4g}x")
        if case.latency != BASE[1]:
            changes.append(f"latency=+{self.link_latency_ms(kind, case.latency) - BASE[1]:.4g}ms")
        if case.work != 1:
            changes.append(kind.work_what_if(case.work))
        if kind.cores:
            changes.append(f"cores={kind.cores}")
        return changes

    def beside_run(self, kind):
        """The recording of the job beside, as one run."""
        folder = self.recordings(self.all_kinds[kind.beside])[0]
        return folder

    def predict_one(self, kind, case):
        changes = self.what_ifs(kind, case)
        row = {"kind": kind.name, "rate_mbit": case.rate, "latency_ms": case.latency, "work": case.work,
               "what_ifs": list(changes)}
        if kind.beside:
            changes = [f"jobs={self.beside_run(kind)}", *changes]
            row["what_ifs"] = [f"jobs={kind.beside}", *row["what_ifs"]]
        command = [self.tacho, "replay", *self.runs_of(kind), "--json"]
        done = subprocess.run(command + [word for change in changes for word in ("--what-if", change)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return {**row, "error": done.stderr.strip().replace(self.arguments.work, "...")}
        answer = json.loads(done.stdout)
        return {**row, "predicted_ms": round(answer["predicted_step_ms"], 3),
                "interval_ms": [round(bound, 3) for bound in answer["interval_ms"]],
                "model_error_pct": round(answer["model_error_pct"], 4),
                "recorded_ms": round(answer["measured_step_ms"], 3),
                "replayed_ms": round(answer["baseline_step_ms"], 3),
                "unrecorded_ms": round(answer["unrecorded_step_ms"], 3)}

    def predict(self, kinds):
        rows = []
        for kind in kinds:
            needed = [kind] + ([self.all_kinds[kind.beside]] if kind.beside else [])
            if all(self.recordings(other) for other in needed):
                rows += [self.predict_one(kind, case) for case in kind.cases()]
        return rows

    def predict_all(self):
        known = load(self.path("predicted.json"), {"predictions": []})["predictions"]
        rows = self.predict(self.kinds)
        names = {row["kind"] for row in rows}
        replace_file(self.path("predicted.json"),
                     {"tacho": self.version(), "predictions": [row for row in known if row["kind"] not in names] + rows})

    def predict_blind(self):
        """The kinds set aside that were never measured and have no committed predictions. Returns whether the file is
        another one than before."""
        data = load(self.path("blind.json"), {"predictions": []})
        known = {row["kind"] for row in data["predictions"]}
        measured = {run["kind"] for run in self.measured["runs"]}
        kinds = [kind for kind in self.kinds if kind.is_aside and kind.name not in known | measured]
        rows = self.predict(kinds)
        if not rows:
            return False
        data["predictions"] += [{**row, "tacho": self.version(), "recording": self.digest(row["kind"])} for row in rows]
        replace_file(self.path("blind.json"), data)
        return True

    def digest(self, name):
        return folders_digest(self.recordings(self.all_kinds[name]))

    def version(self):
        """The last commit, and whether the program is another one's."""
        is_changed = git("status", "--porcelain", "--", "src", "cli", "include").strip()
        return git("describe", "--always").strip() + ("-dirty" if is_changed else "")

    def committed_kinds(self):
        """Kinds whose blind predictions are in the last commit."""
        name = os.path.relpath(self.path("blind.json"), SOURCE_DIR)
        done = subprocess.run(["git", "-C", SOURCE_DIR, "show", f"HEAD:{name}"], capture_output=True, text=True)
        if done.returncode != 0:
            return set()
        return {row["kind"] for row in json.loads(done.stdout)["predictions"]}

    def commit_blind(self):
        git("add", "--", self.arguments.folder)
        git("commit", "-m", "validate: predictions of kinds set aside, before they are measured", "-m",
            "Recordings of all kinds at the base, and what the replay says of those that it was not tuned on.",
            "--", self.arguments.folder)

    # --- measuring ----------------------------------------------------------------------------

    def measure_links(self, jobs):
        for kind in self.kinds:
            for rate in RATES_MBIT:
                name = link_name(kind, rate)
                if name not in self.measured["links"] and not self.is_late():
                    self.measured["links"][name] = jobs.measure_link(kind, rate)
                    self.save()
                    print(f"{name:34} {self.measured['links'][name]:18.2f} Mbit/s", flush=True)
            for latency in LATENCIES_MS:
                name = latency_name(kind, latency)
                if latency > 0 and name not in self.measured["links"] and not self.is_late():
                    self.measured["links"][name] = jobs.measure_latency(kind, latency)
                    self.save()
                    print(f"{name:34} {self.measured['links'][name]:18.3f} ms", flush=True)

    def n_runs(self, kind, latency, work):
        """Runs so far, of the kind as it is now."""
        return len({run["at"] for run in self.measured["runs"] if run["kind"] == kind.name and run.get("work", 1) == work and
                    run["latency_ms"] == latency and run["options"] == list(kind.options)})

    def measure(self, jobs):
        """Rounds over all kinds and latencies. Returns whether all is measured."""
        committed = self.committed_kinds()
        is_whole = True
        for kind in self.kinds:
            if kind.is_aside and kind.name not in committed:
                print(f"{kind.name:34} is not measured: its predictions are not committed", flush=True)
                is_whole = False
        for number in range(self.arguments.rounds):
            for kind in self.kinds:
                if kind.is_aside and kind.name not in committed:
                    continue
                for latency, rates, work in kind.settings():
                    if self.n_runs(kind, latency, work) > number:
                        continue
                    if self.is_late():
                        return False
                    try:
                        self.measure_once(jobs, kind, latency, rates if number % 2 == 0 else rates[::-1], work)
                    except KitError as error:  # the others can still be measured
                        print(f"{kind.name:34} {latency} ms {work}x  failed: {error}", flush=True)
                        is_whole = False
        return is_whole

    def measure_once(self, jobs, kind, latency, rates, work):
        at = round(time.time())
        times = jobs.measure(kind.with_work(work), rates, latency, self.arguments.steps)
        for rate, steps in times.items():
            self.measured["runs"].append({"kind": kind.name, "options": list(kind.options), "rate_mbit": rate,
                                          "latency_ms": latency, "work": work, "at": at, "steps_ms": steps})
        self.save()
        print(f"{kind.name:34} {latency} ms {work}x  " + "  ".join(
            f"{rate} Mbit/s: {sorted(steps)[len(steps) // 2]:8.2f} ms" for rate, steps in sorted(times.items())),
            flush=True)

    def forget(self):
        """All that is kept, and what of it is unpacked."""
        for name in os.listdir(self.arguments.folder):
            if name.endswith((".tar.xz", ".json")):
                os.unlink(self.path(name))
        for kind in self.kinds:
            for number in range(self.arguments.recordings):
                shutil.rmtree(self.unpacked(kind, number), ignore_errors=True)

    # --- the whole ----------------------------------------------------------------------------

    def with_jobs(self, do):
        n_hosts = max(kind.ranks for kind in self.kinds)
        with hosts.Hosts(build_relay(self.arguments.work), n_hosts) as network:
            return do(KitJobs(network, self.all_kinds, self.tacho, self.arguments.python))

    def quiet(self, jobs):
        self.measured["machine"] = {**describe_machine(self.arguments.python), "tcp": hosts.CONGESTION_CONTROL}
        self.measure_links(jobs)
        self.record(jobs)
        if self.predict_blind():
            self.commit_blind()
        return self.measure(jobs)

    def try_all(self, jobs):
        """Whether each kind runs and can be recorded and replayed here."""
        n_failed = 0
        for kind in self.kinds:
            folder = tempfile.mkdtemp(dir=self.arguments.work)
            try:
                said = self.try_one(jobs, kind, folder)
            except (KitError, hosts.HostsError) as error:
                said, n_failed = f"failed: {error}", n_failed + 1
            finally:
                shutil.rmtree(folder)
            print(f"{kind.name:34} {said}", flush=True)
        return n_failed == 0

    def try_one(self, jobs, kind, folder):
        times = jobs.measure(kind, RATES_MBIT, LATENCIES_MS[1], 2)
        said = " ".join(f"{rate}: {min(steps):.0f} ms" for rate, steps in times.items())
        if kind.beside:
            return said
        jobs.record(kind, *BASE, folder)
        runs = [os.path.join(folder, f"r{rank}.tacho") for rank in range(kind.ranks)]
        done = subprocess.run([self.tacho, "replay", *runs, "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            return f"{said}; no replay: {done.stderr.strip()}"
        answer = json.loads(done.stdout)
        return f"{said}; recorded {answer['measured_step_ms']:.0f} ms, replayed {answer['baseline_step_ms']:.0f} ms"


def link_name(kind, rate):
    return f"{rate}mbit" + ("-switch" if kind.ranks > 2 else "")


def latency_name(kind, latency):
    return f"{latency}ms" + ("-switch" if kind.ranks > 2 else "")


def git(*arguments):
    return subprocess.run(["git", "-C", SOURCE_DIR, *arguments], check=True, capture_output=True, text=True).stdout


def write_page(kit):
    text = kit_page.write(kit.all_kinds, kit.measured, load(kit.path("predicted.json"), {"predictions": []}),
                          load(kit.path("blind.json"), {"predictions": []}), kit.arguments.folder)
    path = os.path.join(SOURCE_DIR, "docs", "validation-kit.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"{path} written")
    return True


def main():
    arguments = parse_arguments()
    kit = Kit(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))
    if arguments.what == "page":
        return 0 if write_page(kit) else 1
    if arguments.what == "anew":
        kit.forget()
        return 0
    if arguments.what == "predict":
        if arguments.blind:
            kit.predict_blind()
        else:
            kit.predict_all()
        return 0
    reason = hosts.why_not()
    if reason:
        print(f"kit.py: {reason}", file=sys.stderr)
        return EXIT_SKIPPED
    does = {"quiet": kit.quiet, "record": lambda jobs: kit.record(jobs) or True, "measure": kit.measure,
            "try": kit.try_all}
    return 0 if kit.with_jobs(does[arguments.what]) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KitError, hosts.HostsError) as error:
        sys.exit(f"kit.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
