#!/usr/bin/env python3
"""Measure training between two hosts, predict it from recordings, and write how far the two differ.

    validate.py                  all that is not measured yet, then predictions and page
    validate.py --minutes 10     stop measuring after 10 minutes; run again to go on
    validate.py --predict        no measuring: predictions and page from what is there
    validate.py --page           the page alone, from results.json and predictions.json

Rounds go over all cases in turn, so that what changes on the machine changes for all of them. The
recordings are made in the rounds too, spread over them. The results stay in build/validation. Root is
needed, for network namespaces.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace

import cases
import hosts
import page
import predict
from job import JobError, Jobs, write_waits
from results import Results, link_name

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXIT_SKIPPED = 77


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n", 2)[2])
    parser.add_argument("--build", default=os.path.join(SOURCE_DIR, "build", "default"))
    parser.add_argument("--results", help="folder; default: build/validation")
    parser.add_argument("--output", help="the page; default: docs/validation.md")
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has PyTorch")
    parser.add_argument("--rounds", type=int, help="runs of each case; default: 5")
    parser.add_argument("--recordings", type=int, help="recordings of each case; default: 3")
    parser.add_argument("--steps", type=int, help="of each run; default: the model's")
    parser.add_argument("--minutes", type=float, help="begin no run after this long")
    parser.add_argument("--models", help="of these models alone, separated by commas")
    parser.add_argument("--quick", action="store_true", help="one small model, two rounds")
    parser.add_argument("--full", action="store_true", default=os.environ.get("FULL") == "1",
                        help="all combinations of rates, buckets and latencies (also: FULL=1)")
    parser.add_argument("--predict", action="store_true", help="measure nothing")
    parser.add_argument("--page", action="store_true", help="measure and predict nothing")
    arguments = parser.parse_args()
    name = "validation-quick" if arguments.quick else "validation"
    arguments.results = arguments.results or os.path.join(SOURCE_DIR, "build", name)
    arguments.output = arguments.output or (
        os.path.join(arguments.results, "validation.md") if arguments.quick
        else os.path.join(SOURCE_DIR, "docs", "validation.md"))
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 5)
    arguments.recordings = arguments.recordings or (1 if arguments.quick else 3)
    return arguments


def choose_models(arguments):
    models = cases.QUICK_MODELS if arguments.quick else cases.MODELS
    if arguments.steps:
        models = {name: replace(model, base=replace(model.base, steps=arguments.steps))
                  for name, model in models.items()}
    if not arguments.models:
        return models
    names = arguments.models.split(",")
    for name in names:
        if name not in models:
            sys.exit(f"validate.py: no model '{name}'; there are: {', '.join(models)}")
    return {name: models[name] for name in names}


def build_relay(folder):
    """Compile latency_relay.c where that has not been done."""
    source = os.path.join(SOURCE_DIR, "validate", "latency_relay.c")
    program = os.path.join(folder, "latency_relay")
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-D_GNU_SOURCE",
                        "-O2", "-Wall", "-Wextra", source, "-o", program], check=True)
    return program


def work_left(results, all_cases, rounds, n_recordings):
    """(case, number of the round, is recorded) of what is still to be done, round by round. A case is
    recorded right after a run of its own; the recordings are spread over the rounds."""
    for number in range(rounds):
        for index, case in enumerate(all_cases):
            if len(results.runs_of(case)) <= number:
                yield case, number, False
            recorded_by_now = ((number + 1) * n_recordings + index % rounds) // rounds
            if len(results.recordings_of(case)) < min(recorded_by_now, n_recordings):
                yield case, number, True
    for case in all_cases:
        for number in range(len(results.recordings_of(case)), n_recordings):
            yield case, number, True


def count_left(results, all_cases, rounds, n_recordings):
    return sum(max(0, rounds - len(results.runs_of(case))) +
               max(0, n_recordings - len(results.recordings_of(case))) for case in all_cases)


def waits_path(results):
    return os.path.join(results.folder, "waits.json")


def prepare_waits(jobs, results, case):
    """Write what ranks wait instead of computing, from the recording of `case`, where that is not done."""
    if os.path.exists(waits_path(results)):
        return
    if not results.recordings_of(case):
        results.add_recording(jobs.run(case, results.recording_folder(case, 0)))
    write_waits(jobs.tacho, results.recorded_runs(case), waits_path(results))


def measure_links(jobs, results, all_cases, n_times):
    for case in all_cases:
        if not results.link_mbit(case):
            results.set_link_mbit(case, jobs.measure_link(case, n_times))
            print(f"{link_name(case):36} {results.link_mbit(case):18.2f} Mbit/s", flush=True)


def measure(arguments, results, all_cases, waits_source):
    """Returns whether all is measured. `waits_source`: the case whose recording says how long ranks wait that do
    not compute."""
    tacho = os.path.join(arguments.build, "bin", "tacho")
    deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
    wanted = (results, all_cases, arguments.rounds, arguments.recordings)
    if not count_left(*wanted) and all(results.link_mbit(case) for case in all_cases):
        return True
    n_hosts = max(case.ranks for case in all_cases)
    with hosts.Hosts(build_relay(results.folder), n_hosts) as network:
        jobs = Jobs(network, SOURCE_DIR, tacho, arguments.python, waits_path(results))
        measure_links(jobs, results, all_cases, arguments.rounds)
        # each run is in `results` before the next is asked for
        for case, _, is_recorded in work_left(*wanted):
            if deadline and time.monotonic() > deadline:
                return False
            if case.model == "waits":
                prepare_waits(jobs, results, waits_source)
            if is_recorded:
                number = len(results.recordings_of(case))
                run = jobs.run(case, results.recording_folder(case, number))
                results.add_recording(run)
            else:
                run = jobs.run(case)
                results.add_run(run)
            print(f"{case.name:36} {'recorded' if is_recorded else 'run':8} {run['step_ms']:9.3f} "
                  f"ms a step   ({count_left(*wanted)} to go)", flush=True)
    return True


def main():
    arguments = parse_arguments()
    models = choose_models(arguments)
    results = Results(arguments.results)
    all_cases = [case for model in models.values() for case in model.cases(arguments.full)]
    # so that what `with` and `finally` clean up is cleaned up then, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))
    is_whole = True
    if not arguments.page and not arguments.predict:
        reason = hosts.why_not()
        if reason:
            print(f"validate.py: {reason}", file=sys.stderr)
            return EXIT_SKIPPED
        results.take_cases(all_cases)
        results.describe_machine(arguments.python)
        known = cases.QUICK_MODELS if arguments.quick else cases.MODELS
        is_whole = measure(arguments, results, all_cases, known[known["waits"].waits_of].base)
    if not arguments.page:
        measured = {name: model for name, model in models.items()
                    if all(results.recordings_of(case) for case in model.cases(arguments.full))}
        results.set_predictions(predict.predict_all(
            results, os.path.join(arguments.build, "bin", "tacho"), measured, arguments.full))
    text = page.write(results.whole(), models, arguments.full)
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"{arguments.output} written" + ("" if is_whole else "; run again to go on measuring"))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (JobError, hosts.HostsError) as error:
        sys.exit(f"validate.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
