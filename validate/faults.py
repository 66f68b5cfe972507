#!/usr/bin/env python3
"""How soon `tacho watch` names a fault that was put into a job, how often it is right, and what a killed part leaves behind.

    validate/faults.py run --tacho build/default/bin/tacho --python /usr/bin/python3 --minutes 50
    validate/faults.py healthy --tacho ... --minutes 60      false alarms in jobs that nothing is wrong with, --jobs at once
    validate/faults.py page                                  the tables of what was measured

Each fault is put into a fresh job of two ranks, 20 times, in turn; each part is killed with SIGKILL as often. What was measured stays in
--work (build/faults), and the same command goes on with what is missing. On a machine that does nothing else: what else takes cores is
a fault, too, and is named. The cut link is between two network namespaces, and needs root.
"""

import argparse
import contextlib
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

import hosts

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST_STEPS = 60  # before anything is done to the job: findings go by what is normal
HEALTHY_S = 4  # watched before that: a finding there is a false alarm
PATIENCE_S = 40
WITHIN_S = 10
NOISE_S = (2, 0.3)  # the healthy job has a neighbour that takes a core: about every so long, for so long

# What a finding has to be: one of these kinds, of this rank, and in its words this collective. `follows` are findings that are true of the
# job then, too: they count neither way.
FAULTS = {
    "stop": {"kinds": ["hang"], "rank": 1, "words": r"all_?reduce", "follows": ["stall", "slow_steps"]},
    "loader": {"kinds": ["loader"], "rank": 1, "words": None, "follows": ["slow_steps", "straggler"]},
    "leak": {"kinds": ["memory_growth"], "rank": 1, "words": None, "follows": ["slow_steps", "straggler"]},
    "mismatch": {"kinds": ["mismatch"], "rank": None, "words": r"broadcast|all_?reduce", "follows": ["hang", "stall"]},
    "cut_link": {"kinds": ["hang", "stall"], "rank": None, "words": r"all_?reduce", "follows": ["rank_gone"]},
    "preempt": {"kinds": ["straggler", "slow_steps"], "rank": 1, "words": None, "follows": []},
}
KILLS = ["rank", "job", "record", "serve"]


class TrialError(Exception):
    pass


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "healthy", "page"])
    parser.add_argument("--tacho")
    parser.add_argument("--python", default="/usr/bin/python3", help="the one with PyTorch")
    parser.add_argument("--work", default=os.path.join(HERE, "..", "build", "faults"))
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=50, help="end after the trial that is running then")
    parser.add_argument("--jobs", type=int, default=1, help="healthy ones at once")
    parser.add_argument("--sleep-ms", type=float, default=15, help="of a step of a job that is healthy, or killed")
    parser.add_argument("--only", action="append", choices=[*FAULTS, *(f"kill_{part}" for part in KILLS)])
    return parser.parse_args()


# --- a job that is recorded ---------------------------------------------------------------------


class Job:
    """with Job(...) as job: two ranks are recorded, and have had some steps."""

    def __init__(self, arguments, folder, network=None, is_pinned=False, sleep_ms=15, steps=1_000_000, first_steps=FIRST_STEPS, products=0):
        self.arguments = arguments
        self.sleep_ms = sleep_ms
        self.n_steps = steps
        self.first_steps = first_steps
        self.products = products
        self.folder = folder
        self.network = network
        self.is_pinned = is_pinned
        self.fault = os.path.join(folder, "fault")
        self.processes = []
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.runs = [os.path.join(folder, "job.tacho")]
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": folder, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}

    def command(self):
        # what shares a core with a rank doubles its arithmetic, so that has to be most of a step
        busy = ["--compute-ms", "16", "--sleep-ms", "2"] if self.is_pinned else ["--sleep-ms", str(self.sleep_ms)]
        return [self.arguments.python, os.path.join(HERE, "fault_job.py"), "--fault", self.fault, "--steps", str(self.n_steps),
                "--products", str(self.products), *busy]

    def start(self, command, **options):
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True, **options)
        self.processes.append(process)
        return process

    def __enter__(self):
        try:
            if self.network:
                self.start_on_hosts()
            else:
                self.start([self.arguments.tacho, "record", "-q", "-n", "2", "-o", self.runs[0], "--", *self.command()])
            self.wait_for_steps()
            if self.is_pinned:
                for rank in range(2):
                    os.sched_setaffinity(self.pid_of(rank), {hosts.core_of(rank)})
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_on_hosts(self):
        self.runs = [os.path.join(self.folder, f"r{rank}.tacho") for rank in range(2)]
        port = 20000 + os.getpid() % 5000 + int(time.time()) % 5000
        for rank in range(2):
            environment = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "MASTER_ADDR": hosts.address(0), "MASTER_PORT": port,
                           "GLOO_SOCKET_IFNAME": hosts.DEVICE, "OMP_NUM_THREADS": 1, "XDG_RUNTIME_DIR": self.folder}
            self.start(self.network.command(rank, hosts.core_of(rank), environment,
                                            [self.arguments.tacho, "record", "-q", "-o", self.runs[rank], "--", *self.command()]))

    def __exit__(self, *_):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        for pid in self.all_pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass

    def traces(self):
        """(rank, process id) of each trace there is."""
        found = []
        for run in self.runs:
            for name in os.listdir(run) if os.path.isdir(run) else []:
                try:
                    with open(os.path.join(run, name, "metadata"), encoding="utf-8", errors="replace") as file:
                        text = file.read(8192)
                except (FileNotFoundError, NotADirectoryError):
                    continue
                rank, pid = re.search(r"\trank = (-?\d+);", text), re.search(r"\tpid = (\d+);", text)
                if rank and pid:
                    found.append((int(rank[1]), int(pid[1])))
        return found

    def all_pids(self):
        """Those of this job that are there: a number may have been given to another process since."""
        pids = []
        for _, pid in self.traces():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if b"fault_job.py" in file.read():
                        pids.append(pid)
            except (FileNotFoundError, ProcessLookupError):
                pass
        return pids

    def pid_of(self, rank):
        for found, pid in self.traces():
            if found == rank:
                return pid
        raise TrialError(f"rank {rank} has no trace")

    def steps(self):
        answer = subprocess.run([self.arguments.tacho, "report", "--view", "step", "--json", *self.runs], env=self.environment,
                                capture_output=True, text=True)
        return len(json.loads(answer.stdout)) // 2 if answer.returncode == 0 and answer.stdout.strip() else 0

    def wait_for_steps(self):
        until = time.time() + 60
        while time.time() < until:
            time.sleep(1)
            if self.steps() >= self.first_steps:
                return
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as log:
            raise TrialError(f"the job has too few steps: {log.read()[-500:]}")

    def tell(self, word):
        with open(self.fault + ".new", "w", encoding="utf-8") as file:
            file.write(word)
        os.rename(self.fault + ".new", self.fault)


class Watch:
    """`tacho watch` of a job; findings as they come, each with when it was read."""

    def __init__(self, job):
        self.findings = []
        self.buffer = ""
        self.process = subprocess.Popen([job.arguments.tacho, "watch", "--json", *job.runs], env=job.environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        os.set_blocking(self.process.stdout.fileno(), False)

    def look(self):
        """Findings that have come since."""
        data = self.process.stdout.read()
        self.buffer += data.decode() if data else ""
        *lines, self.buffer = self.buffer.split("\n")
        new = [{**json.loads(line), "at": time.time()} for line in lines if line.strip()]
        self.findings += new
        return new

    def end(self):
        self.process.kill()
        self.process.wait()


# --- faults -------------------------------------------------------------------------------------


def inject(job, fault):
    """Returns what is to be ended afterwards."""
    if fault == "stop":
        os.kill(job.pid_of(1), signal.SIGSTOP)
    elif fault == "cut_link":
        job.network.run(job.network.names[1], "ip", "link", "set", hosts.DEVICE, "down")
    elif fault == "preempt":
        core = str(hosts.core_of(1))
        return [job.start(["taskset", "-c", core, "nice", "-n", "-10" if os.geteuid() == 0 else "0",
                           sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    else:
        job.tell(fault)
    return []


def names(finding, expected):
    """Whether it names the fault: its kind, and of these what else is right."""
    text = f"{finding['what']} {finding['evidence']}"
    is_kind = finding["kind"] in expected["kinds"]
    is_rank = expected["rank"] is None or finding["rank"] == expected["rank"] or (
        finding["rank"] is None and re.search(rf"\branks? {expected['rank']}\b", text) is not None)
    is_collective = expected["words"] is None or re.search(expected["words"], text) is not None
    return is_kind, is_rank, is_collective


def try_fault(arguments, fault, folder, network):
    expected = FAULTS[fault]
    with Job(arguments, folder, network if fault == "cut_link" else None, is_pinned=fault == "preempt") as job:
        watch = Watch(job)
        try:
            time.sleep(HEALTHY_S)
            before = watch.look()
            if any(finding["kind"] in expected["kinds"] for finding in before):
                return {"fault": fault, "failed": "it was named before it was there",
                        "alarms_before": [finding["kind"] for finding in before]}
            at = time.time()
            inject(job, fault)
            took = rank = collective = None
            while time.time() - at < PATIENCE_S and took is None:
                time.sleep(0.05)
                for finding in watch.look():
                    is_kind, is_rank, is_collective = names(finding, expected)
                    if is_kind and took is None:
                        took, rank, collective = finding["at"] - at, is_rank, is_collective
            time.sleep(2)
            watch.look()
        finally:
            watch.end()
        after = watch.findings[len(before):]
        return {"fault": fault, "took_s": took and round(took, 2), "rank": rank, "collective": collective,
                "alarms_before": [finding["kind"] for finding in before],
                "right": sum(all(names(finding, expected)) for finding in after),
                "wrong": [finding["kind"] + ": " + finding["what"] for finding in after
                          if not all(names(finding, expected)) and finding["kind"] not in expected["follows"]]}


# --- kills --------------------------------------------------------------------------------------


def can_be_read(job):
    """What an overloaded machine had no room for is counted as lost, and was not written."""
    answer = subprocess.run([job.arguments.tacho, "info", "--json", *job.runs], env=job.environment, capture_output=True, text=True)
    if answer.returncode != 0:
        return False
    kinds = {problem["kind"] for problem in json.loads(answer.stdout)["trust"]["problems"]}
    return not kinds & {"corrupt_record", "bad_packet", "unreadable_trace", "unreadable_file"}


def goes_on(job):
    before = job.steps()
    time.sleep(2)
    return job.steps() > before


def serve(job):
    """A server, and whether it answers."""
    server = job.start([job.arguments.tacho, "serve", "--port", "0", *job.runs])
    for _ in range(100):
        time.sleep(0.1)
        with open(os.path.join(job.folder, "log"), encoding="utf-8") as log:
            ports = re.findall(r"http://[^/\s]*:(\d+)", log.read())
        if ports:
            break
    else:
        raise TrialError("tacho serve tells no port")
    for _ in range(20):  # the first look may take a while: 503 until then
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{ports[-1]}/api/jobs", timeout=10) as answer:
                return server, len(json.load(answer)) > 0
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
        time.sleep(0.5)
    return server, False


def is_named(watch, kind):
    until = time.time() + WITHIN_S
    while time.time() < until and not any(finding["kind"] == kind for finding in watch.findings):
        time.sleep(0.1)
        watch.look()
    return any(finding["kind"] == kind for finding in watch.findings)


def try_kill(arguments, part, folder):
    with Job(arguments, folder, sleep_ms=arguments.sleep_ms) as job:
        row = {"kill": part}
        if part == "serve":
            server, row["answers"] = serve(job)
            server.kill()
            server.wait()
            row["job_goes_on"] = goes_on(job)
            os.remove(os.path.join(job.folder, "log"))
            _, row["answers_again"] = serve(job)
        elif part == "record":
            job.processes[0].kill()
            job.processes[0].wait()
            row["job_goes_on"] = goes_on(job)
        else:
            watch = Watch(job)
            time.sleep(1)
            for pid in [job.pid_of(1)] if part == "rank" else [job.pid_of(0), job.pid_of(1)]:
                os.kill(pid, signal.SIGKILL)
            try:
                job.processes[0].wait(timeout=PATIENCE_S)
                row["record_ends"] = True
            except subprocess.TimeoutExpired:
                row["record_ends"] = False
            if part == "rank":  # where all are killed, the job is over, and nobody is left who waits
                row["named"] = is_named(watch, "rank_gone")
            watch.end()
        row["can_be_read"] = can_be_read(job)
        return row


# --- all ----------------------------------------------------------------------------------------


def rows_path(arguments):
    return os.path.join(arguments.work, "rows.jsonl")


def load(arguments):
    try:
        with open(rows_path(arguments), encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def keep(arguments, row):
    with open(rows_path(arguments), "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(json.dumps(row), flush=True)


def name_of(row):
    return row["fault"] if "fault" in row else f"kill_{row['kill']}" if "kill" in row else "healthy"


def missing_trials(arguments, network):
    """What is to be tried, in turn: of what was tried least often. A trial that could not be made is made again, but not for ever."""
    wanted = arguments.only or [*FAULTS, *(f"kill_{part}" for part in KILLS)]
    while True:
        rows = load(arguments)
        tried = {name: [row for row in rows if name_of(row) == name] for name in wanted if network or name != "cut_link"}
        left = [name for name, of_it in tried.items() if len(of_it) < 2 * arguments.times
                and sum("failed" not in row for row in of_it) < arguments.times]
        if not left:
            return
        yield min(left, key=lambda name: (len(tried[name]), wanted.index(name)))


def run(arguments):
    until = time.time() + arguments.minutes * 60
    why = hosts.why_not()
    network = None
    os.makedirs(arguments.work, exist_ok=True)
    if why:
        print(f"the cut link is left out: {why}", file=sys.stderr)
    else:
        network = hosts.Hosts(None)
        network.__enter__()
    try:
        for name in missing_trials(arguments, network):
            if time.time() > until:
                break
            folder = os.path.abspath(os.path.join(arguments.work, "trial"))
            if name == "cut_link":
                network.connect(1000, 0)
            try:
                row = try_kill(arguments, name[5:], folder) if name.startswith("kill_") else try_fault(arguments, name, folder, network)
            except TrialError as error:
                row = {"failed": str(error), ("kill" if name.startswith("kill_") else "fault"): name.removeprefix("kill_")}
            keep(arguments, row)
    finally:
        if network:
            network.__exit__()


def look_at_healthy(arguments, jobs, seconds):
    """A row for each job that was watched for so long, beside a neighbour that comes and goes."""
    watches = [Watch(job) for job in jobs]
    noise = jobs[0].start([sys.executable, "-c", "import random, time\nwhile True:\n"
                           f"    time.sleep(random.expovariate(1 / {NOISE_S[0]}))\n"
                           f"    end = time.time() + random.expovariate(1 / {NOISE_S[1]})\n"
                           "    while time.time() < end: pass\n"])
    began = time.time()
    while time.time() - began < seconds:
        time.sleep(0.5)
        for watch in watches:
            watch.look()
    noise.kill()
    for job, watch in zip(jobs, watches):
        watch.end()
        keep(arguments, {"healthy_s": round(time.time() - began), "at_once": len(jobs), "sleep_ms": job.sleep_ms, "steps": job.steps(),
                         "alarms": [f"{finding['kind']}: {finding['what']} {finding['evidence']}" for finding in watch.findings]})


def healthy(arguments):
    """In pieces of an hour: what is normal for a job is learned anew in each."""
    until = time.time() + arguments.minutes * 60
    os.makedirs(arguments.work, exist_ok=True)
    while time.time() < until:
        with contextlib.ExitStack() as stack:
            jobs = [stack.enter_context(Job(arguments, os.path.abspath(os.path.join(arguments.work, f"trial{i}")), sleep_ms=arguments.sleep_ms))
                    for i in range(arguments.jobs)]
            look_at_healthy(arguments, jobs, min(3600, max(until - time.time(), 30)))


def interval(n, of):
    """Wilson's, 95 %."""
    z, share = 1.96, n / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return f"{100 * share:.0f} % ({100 * (middle - half):.0f} to {100 * (middle + half):.0f})"


def share(rows, test):
    return interval(sum(bool(test(row)) for row in rows), len(rows))


def print_faults(rows):
    print(f"| fault | trials | named within {WITHIN_S} s | median s | longest s | rank right | collective right | precision |")
    print("|---|---|---|---|---|---|---|---|")
    for fault, expected in FAULTS.items():
        tried = [row for row in rows if row.get("fault") == fault and "failed" not in row]
        if not tried:
            continue
        times = [row["took_s"] for row in tried if row["took_s"] is not None]
        right, wrong = sum(row["right"] for row in tried), sum(len(row["wrong"]) for row in tried)
        print(f"| {fault} | {len(tried)} | {share(tried, lambda row: row['took_s'] is not None and row['took_s'] <= WITHIN_S)} | "
              f"{statistics.median(times) if times else math.nan:.1f} | {max(times, default=math.nan):.1f} | "
              f"{share(tried, lambda row: row['rank']) if expected['rank'] is not None else '-'} | "
              f"{share(tried, lambda row: row['collective']) if expected['words'] else '-'} | "
              f"{interval(right, right + wrong) if right + wrong else '-'} |")


def print_kills(rows):
    print("| killed | trials | all as it should be | what was not |")
    print("|---|---|---|---|")
    for part in KILLS:
        tried = [row for row in rows if row.get("kill") == part and "failed" not in row]
        if not tried:
            continue
        is_good = lambda row: all(value for key, value in row.items() if key != "kill")
        bad = sorted({key for row in tried for key, value in row.items() if not value})
        print(f"| {part} | {len(tried)} | {share(tried, is_good)} | {', '.join(bad) or '-'} |")


def page(arguments):
    rows = load(arguments)
    quiet = [row for row in rows if "healthy_s" in row]
    before = [row for row in rows if "alarms_before" in row]
    hours = (sum(row["healthy_s"] for row in quiet) + HEALTHY_S * len(before)) / 3600
    alarms = sum(len(row["alarms"]) for row in quiet) + sum(len(row["alarms_before"]) for row in before)
    print_faults(rows)
    print()
    print_kills(rows)
    print(f"\nFalse alarms: {alarms} in {hours:.2f} hours of healthy running.")
    failed = [row for row in rows if "failed" in row]
    if failed:
        print(f"\n{len(failed)} trials could not be made.")


def main():
    arguments = parse_arguments()
    if arguments.what != "page" and not arguments.tacho:
        sys.exit("faults.py: name the program with --tacho")
    if arguments.tacho:
        arguments.tacho = os.path.abspath(arguments.tacho)
    {"run": run, "healthy": healthy, "page": page}[arguments.what](arguments)


if __name__ == "__main__":
    main()
