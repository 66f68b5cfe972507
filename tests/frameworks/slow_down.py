#!/usr/bin/env python3
"""Measure how much longer a step of each job of the matrix is when it is recorded, on a machine that does nothing else.

    slow_down.py [--minutes 60] [--only torch-2.13/ddp ...] [--write docs/frameworks.md] [--steps 100] [--fresh] [--any-load]

Pairs: a job runs once recorded and once not, first the one and in the next pair first the other. A pair's figure is the ratio of the
two median steps of rank 0. The job with the fewest pairs is next, so that all have as many when the minutes are over, to within
one; a later call goes on where this one was (build/frameworks/slow-down.json, for the same build of tacho). Each rank has one thread that
computes. Where other programs take more than a twentieth of the machine, it waits for them to end, a minute at most.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

import run

BUSY_SHARE = 0.05
LOOK_S = 1
PATIENCE_S = 60


def busy_share():
    """The share of the machine's processor time that is taken, over a second in which this program sleeps. Time that a
    virtual machine is not given (steal) counts."""
    def read():
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]  # all, idle and waiting for a disk

    all_before, idle_before = read()
    time.sleep(LOOK_S)
    all_after, idle_after = read()
    return 1 - (idle_after - idle_before) / max(all_after - all_before, 1)


def wait_until_quiet():
    """Returns the share that is taken; more than BUSY_SHARE: it has not become quiet."""
    end_s = time.monotonic() + PATIENCE_S
    share = busy_share()
    while share > BUSY_SHARE and time.monotonic() < end_s:
        share = busy_share()
    return share


def measure_pair(name, python, job, tacho, steps, recorded_first):
    """The median steps of one pair in ms, without and with tacho."""
    words = run.JOBS[job][2]
    taken = {}
    with tempfile.TemporaryDirectory(prefix="tacho-slow-down-") as folder:
        recorder = [tacho, "record", "-q", "--force", "-o", os.path.join(folder, "run"), "--"]
        for is_recorded in (recorded_first, not recorded_first):
            _, median_ms, _ = run.run_job(python, words, recorder if is_recorded else (), steps)
            if not median_ms:
                raise RuntimeError("%s/%s tells no median step" % (name, job))
            taken[is_recorded] = median_ms
    return taken[False], taken[True]


def text_of(pairs):
    """"+3.1 % [+1.2, +4.0] of 12.3 ms": the median of the pairs' ratios, the least and the greatest."""
    ratios = [100 * (recorded / plain - 1) for plain, recorded in pairs]
    text = "%+.1f %%" % statistics.median(ratios)
    if len(ratios) > 1:
        text += " [%+.1f, %+.1f]" % (min(ratios), max(ratios))
    return text + " of %.1f ms, %d pair%s" % (
        statistics.median(plain for plain, _ in pairs), len(pairs), "s" if len(pairs) > 1 else "")


def put_slow_down(lines, key, text):
    """A job that has no row in the table gets none."""
    for line in lines:
        if run.key_of(line) == key:
            cells = line.split("|")
            cells[7] = " %s " % text
            line = "|".join(cells)
        yield line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environments", default=os.path.join(run.SOURCE, "build", "frameworks"))
    parser.add_argument("--tacho", default=os.path.join(run.SOURCE, "build", "default", "bin", "tacho"))
    parser.add_argument("--only", nargs="*", help="ENVIRONMENT or ENVIRONMENT/JOB")
    parser.add_argument("--minutes", type=float, default=60, help="begin no pair after so long")
    parser.add_argument("--pairs", type=int, default=sys.maxsize, help="no job has more")
    parser.add_argument("--steps", type=int, default=100, help="of a job of PyTorch")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--any-load", action="store_true", help="do not wait for other programs")
    parser.add_argument("--write", help="the page whose table gets the figures")
    arguments = parser.parse_args()
    kept = run.Kept(os.path.join(arguments.environments, "slow-down.json"), arguments.tacho, arguments.fresh)
    jobs = list(run.jobs_of(arguments.environments, arguments.only))
    failed = set()
    end_s = time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < end_s:
        left = [(len(kept.rows.get("%s/%s" % (name, job), ())), place) for place, (name, _, job) in enumerate(jobs)
                if (name, job) not in failed]
        n_pairs, place = min(left, default=(sys.maxsize, 0))
        if n_pairs >= arguments.pairs:
            break
        share = 0 if arguments.any_load else wait_until_quiet()
        if share > BUSY_SHARE:
            sys.exit("slow_down.py: other programs take %.0f %% of the machine. Try again when they have ended (or --any-load): it goes on here"
                     % (100 * share))
        name, python, job = jobs[place]
        # those of TensorFlow and JAX are recorded in 20 steps only, so they do no more
        steps = 12 if "TWICE" in run.JOBS[job][2] else arguments.steps
        try:
            pair = measure_pair(name, python, job, arguments.tacho, steps, bool(n_pairs % 2))
        except RuntimeError as error:
            failed.add((name, job))
            print("%s/%s: %s" % (name, job, error), flush=True)
            continue
        pairs = kept.rows.setdefault("%s/%s" % (name, job), [])
        pairs.append(pair)
        kept.save()
        text = text_of(pairs)
        print("%s/%s: %.2f and %.2f ms: %s" % (name, job, *pair, text), flush=True)
        if arguments.write:
            key = (name, *run.JOBS[job][:2])
            run.change_table(arguments.write, lambda lines, key=key, text=text: put_slow_down(lines, key, text))
    for name, _, job in jobs:
        print("%s/%s: %d pairs" % (name, job, len(kept.rows.get("%s/%s" % (name, job), ()))))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
