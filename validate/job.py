"""One run of a case: a rank on each host, recorded or not, and the steps that it took."""

import json
import os
import shutil
import signal
import statistics
import subprocess
import time
from dataclasses import replace

import hosts

TIMEOUT_S = 150
PORTS = 1000  # from 20000: a port that an earlier run has left waiting is not used again soon


class JobError(Exception):
    pass


class Jobs:
    """What all runs have in common."""

    def __init__(self, network, source_dir, tacho, python, waits):
        """`waits`: path of what a case of the model `waits` goes by."""
        self.network = network
        self.source_dir = source_dir
        self.waits = waits
        self.tacho = tacho
        self.python = python
        self.n_started = 0

    def run(self, case, record_into=None):
        """Train. With `record_into`, a folder, each host records into r0.tacho and r1.tacho in it.
        Returns what results.py keeps of a run."""
        folders = [None] * case.ranks
        if record_into:
            shutil.rmtree(record_into, ignore_errors=True)
            os.makedirs(record_into)
            folders = [os.path.join(record_into, f"r{rank}.tacho") for rank in range(case.ranks)]
        self.connect(case)
        began = time.time()
        lines = self.train(case, folders)
        relay = self.network.disconnect()
        steps = step_times_ms(lines)
        result = {"case": case.name, "at": round(began),
                  "steps_ms": [line["steps_ms"] for line in lines],
                  "wall_s": round(time.time() - began, 2)}
        if record_into:
            steps, control = split_control(steps, control_steps(case))
            result["control_ms"] = round(statistics.median(control), 4)
        result["step_ms"] = round(statistics.median(steps), 4)
        if relay:
            result["relay"] = relay
        return result

    def connect(self, case):
        if case.model == "waits":
            self.network.connect_to_switch(case.ranks, case.rate_mbit)
        else:
            self.network.connect(case.rate_mbit, case.latency_ms)

    def measure_link(self, case, n_times):
        """Mbit/s that a link of the case's rate carries, each way, between hosts that do nothing else: the
        median of so many times."""
        self.connect(replace(case, latency_ms=0))
        rates = [self.network.measure_rate() for _ in range(n_times)]
        self.network.disconnect()
        return round(statistics.median(rates), 2)

    def train(self, case, folders):
        """All ranks, to their end: the line of JSON that each printed."""
        self.n_started += 1
        ranks = []
        try:
            for rank in range(case.ranks):
                ranks.append(self.start_rank(case, rank, folders[rank]))
            return [finish(rank) for rank in ranks]
        except subprocess.TimeoutExpired as error:
            raise JobError(f"{case.name}: not done after {TIMEOUT_S} s") from error
        except JobError as error:
            raise JobError(f"{case.name}: {error}") from error
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    os.killpg(rank.pid, signal.SIGKILL)
                    rank.wait()

    def start_rank(self, case, rank, folder):
        environment = {
            "RANK": rank, "WORLD_SIZE": case.ranks, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1,
            "MASTER_ADDR": hosts.address(0), "MASTER_PORT": 20000 + self.n_started % PORTS,
            "GLOO_SOCKET_IFNAME": hosts.DEVICE, "OMP_NUM_THREADS": 1,
        }
        steps = 6 * control_steps(case) if folder else case.steps
        command = [self.python, *self.program(case), *case.options, "--steps",
                   str(steps), "--bucket-mb", f"{case.bucket_mb:g}", "--step-times"]
        if folder:
            command = [self.tacho, "record", "--quiet", "--control", str(control_steps(case)),
                       "-o", folder, "--", *command]
        return subprocess.Popen(self.network.command(rank, hosts.core_of(rank), environment, command),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)


    def program(self, case):
        if case.model == "waits":
            return [os.path.join(self.source_dir, "validate", "timed_train.py"), "--waits", self.waits]
        return [os.path.join(self.source_dir, "examples", "ddp_train.py"), "--model", case.model]


def write_waits(tacho, runs, path):
    """What a rank computed before each of its gradients, as timed_train.py takes it, from a recording: of its first
    rank, as `tacho report --view gradient` says. Nine tenths of the time up to the first gradient, which comes from
    the last layer, are the forward pass."""
    rows = json.loads(subprocess.run(
        [tacho, "report", "--view", "gradient", "--rank", "0", "--json", *runs],
        capture_output=True, text=True, check=True).stdout)
    rows.sort(key=lambda row: row["ready_ms"])
    forward_ms = rows[0]["ready_ms"] * 0.9
    gradients, at_ms = [], forward_ms
    for row in rows:
        gradients.append({"bytes": row["bytes"], "wait_ms": round(row["ready_ms"] - at_ms, 4)})
        at_ms = row["ready_ms"]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"forward_ms": round(forward_ms, 4), "gradients": gradients}, file, indent=1)


def finish(rank):
    out, err = rank.communicate(timeout=TIMEOUT_S)
    for line in out.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    raise JobError(f"no step times (exit status {rank.returncode}): {err.strip()[-500:]}")


def control_steps(case):
    """A recorded run is twice: so many steps recorded, as many again, then as many not."""
    return max(2, case.steps // 5)


def step_times_ms(lines):
    """As `tacho replay` counts: the mean over ranks of each step but the first."""
    return [statistics.fmean(step) for step in zip(*(line["steps_ms"] for line in lines))]


def split_control(steps, n_control):
    """Of the steps from the second on, those that were recorded, and the control steps."""
    is_control = [number % (3 * n_control) >= 2 * n_control for number in range(1, len(steps) + 1)]
    return ([step for step, left_out in zip(steps, is_control) if not left_out],
            [step for step, left_out in zip(steps, is_control) if left_out])
