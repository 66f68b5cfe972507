#!/usr/bin/env python3
"""Ten jobs of two processes at once, beside `tacho top` and `tacho serve`: what those two take, and whether anything is mixed up or lost.

    validate/jobs_at_once.py --tacho build/default/bin/tacho --python /usr/bin/python3

Each job has another number of steps. A page is open at `serve` (each second, as the page asks) and a scraper takes /metrics every five
seconds; `top` is on a terminal, and looks each second. Their processor time and memory are taken from /proc over --seconds. When the jobs are
over, each run has to have its own two processes and exactly the job's steps, with nothing dropped, and `serve` and `top` the same of each.
"""

import argparse
import contextlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import threading
import time
import urllib.request

from faults import HERE, Job, TrialError

SETTLE_S = 20
FIRST_STEPS = 12  # before the next job is started, and ...
FIRST_S = 6  # ... seconds: what starts takes a core by itself
PATIENCE_S = 600
TOLD_WITHIN_S = 15
TICKS = os.sysconf("SC_CLK_TCK")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n", 2)[2])
    parser.add_argument("--tacho", required=True)
    parser.add_argument("--python", default="/usr/bin/python3", help="the one with PyTorch")
    parser.add_argument("--work", default=os.path.join(HERE, "..", "build", "jobs_at_once"))
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60, help="of measuring")
    parser.add_argument("--sleep-ms", type=float, default=100, help="of a step, beside its arithmetic")
    parser.add_argument("--products", type=int, default=80, help="of matrices in a step of a rank, each some five events")
    return parser.parse_args()


# --- who looks ------------------------------------------------------------------------------------


class Looker:
    """A process of tacho that looks at the jobs; what it has taken so far."""

    def __init__(self, process):
        self.process = process

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mb(self):
        """Resident now, and of that what is not a file's."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            status = dict(line.split(":", 1) for line in file)
        return tuple(int(status[key].split()[0]) / 1024 for key in ("VmRSS", "RssAnon"))

    def end(self):
        self.process.kill()
        self.process.wait()


def start_serve(arguments, environment):
    process = subprocess.Popen([arguments.tacho, "serve", "--port", "0"], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return Looker(process), re.search(r"http\S+", process.stdout.readline())[0]


def start_top(arguments, environment):
    """On a terminal that somebody reads."""
    master, terminal = pty.openpty()
    process = subprocess.Popen([arguments.tacho, "top"], env={**environment, "TERM": "xterm", "LINES": "40", "COLUMNS": "160"},
                               stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True)
    os.close(terminal)

    def read():
        with contextlib.suppress(OSError):
            while select.select([master], [], [], 3600)[0] and os.read(master, 65536):
                pass
    threading.Thread(target=read, daemon=True).start()
    return Looker(process)


def ask(url, path):
    with urllib.request.urlopen(url + path, timeout=30) as answer:
        return answer.read().decode()


def measure(arguments, url, lookers):
    """What each took of a core, in percent, and the most memory in MB, while the page and a scraper ask."""
    began, most = time.time(), {name: (0, 0) for name in lookers}
    before = {name: looker.cpu_s() for name, looker in lookers.items()}
    n = 0
    while time.time() - began < arguments.seconds:
        ask(url, "api/jobs")
        if n % 5 == 0:
            ask(url, "metrics")
        n += 1
        most = {name: max(most[name], looker.memory_mb()) for name, looker in lookers.items()}
        time.sleep(max(0, began + n - time.time()))
    took_s = time.time() - began
    return {name: {"core_pct": round(100 * (looker.cpu_s() - before[name]) / took_s, 2), "rss_mb": round(most[name][0], 1),
                   "anonymous_mb": round(most[name][1], 1)} for name, looker in lookers.items()}


# --- what there has to be ---------------------------------------------------------------------------


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return {int(child) for child in file.read().split()}


def all_below(pid):
    found = children(pid)
    for child in list(found):
        with contextlib.suppress(FileNotFoundError):
            found |= all_below(child)
    return found


def check(arguments, jobs, pids, rows):
    """The lines of what is wrong, and how many events a job recorded a second; `rows`: by source, of all jobs."""
    wrong, rates = [], []
    for job in jobs:
        run = job.runs[0]
        info = json.loads(subprocess.run([arguments.tacho, "info", "--json", run], capture_output=True, text=True, check=True).stdout)
        if info["dropped_events"] or info["ranks"] != 2 or info["trust"]["score"] != 100:
            wrong.append(f"{run}: {info['dropped_events']} dropped, {info['ranks']} ranks, trust {info['trust']}")
        if not {pid for _, pid in job.traces()} <= pids[run]:
            wrong.append(f"{run}: processes of another job")
        if job.steps() != job.n_steps:
            wrong.append(f"{run}: {job.steps()} steps of {job.n_steps}")
        for source, found in rows.items():
            mine = [row for row in found if row["run"] == run]
            rates += [1000 * info["events"] / (job.n_steps * row["step_ms"]) for row in mine if row["step_ms"]]
            if len(mine) != 1 or mine[0]["ranks"] != 2 or mine[0]["steps"] != job.n_steps:
                wrong.append(f"{run}: {source} says {mine}")
    return wrong, sum(rates) / max(1, len(rates))


def wait_for(jobs, url):
    """Until all are over; what `serve` says of each when it is, for a minute later it has forgotten it."""
    until, rows = time.time() + PATIENCE_S, []
    for job in jobs:
        job.processes[0].wait(max(1, until - time.time()))
        told_until = time.time() + TOLD_WITHIN_S
        while True:
            mine = [row for row in json.loads(ask(url, "api/jobs")) if row["run"] == job.runs[0]]
            if (mine and mine[0]["state"] != "running") or time.time() > told_until:
                break
            time.sleep(1)
        rows += mine
    return rows


def main():
    arguments = parse_arguments()
    arguments.tacho = os.path.abspath(arguments.tacho)
    work = os.path.abspath(arguments.work)
    os.makedirs(work, mode=0o700, exist_ok=True)
    # as long as all starts, the measuring and what ends may take, each with a number of its own
    first_steps = max(FIRST_STEPS, int(FIRST_S * 1000 / (arguments.sleep_ms + 5)))
    start_s = 6 + first_steps * arguments.sleep_ms / 1000
    n_steps = int((SETTLE_S + arguments.seconds + start_s * arguments.jobs + 30) * 1000 / (arguments.sleep_ms + 5))
    with contextlib.ExitStack() as stack:
        jobs = []
        for i in range(arguments.jobs):
            job = Job(arguments, os.path.join(work, f"job{i}"), sleep_ms=arguments.sleep_ms, steps=n_steps + i,
                      first_steps=first_steps, products=arguments.products)
            job.environment["XDG_RUNTIME_DIR"] = work
            jobs.append(stack.enter_context(job))
        pids = {job.runs[0]: all_below(job.processes[0].pid) for job in jobs}
        serve, url = start_serve(arguments, jobs[0].environment)
        stack.callback(serve.end)
        lookers = {"serve": serve, "top": start_top(arguments, jobs[0].environment)}
        stack.callback(lookers["top"].end)
        time.sleep(SETTLE_S)
        if any(job.processes[0].poll() is not None for job in jobs):
            raise TrialError("a job was over before anything was measured")
        took = measure(arguments, url, lookers)
        runs = [job.runs[0] for job in jobs]
        steps_then = {row["run"]: row["steps"] for row in json.loads(ask(url, "api/jobs"))}
        rows = {"serve": wait_for(jobs, url),
                "top": json.loads(subprocess.run([arguments.tacho, "top", "--json", *runs], env=jobs[0].environment, capture_output=True,
                                                 text=True, check=True).stdout)}
        wrong, events_a_second = check(arguments, jobs, pids, rows)
    print("| | of a core, % | resident, MB | of that anonymous, MB |\n|---|---|---|---|")
    for name, row in took.items():
        print(f"| `tacho {name}` | {row['core_pct']} | {row['rss_mb']} | {row['anonymous_mb']} |")
    print(f"\n{len(jobs)} jobs, {events_a_second:,.0f} events a second each, {min(steps_then.values())} to {max(steps_then.values())} steps each at the end of {arguments.seconds:.0f} s, "
          f"{len(wrong)} of {5 * len(jobs)} checks of what was recorded failed.")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
