"""One run of a case: two ranks on two hosts, recorded or not, and the steps that it took."""

import json
import os
import shutil
import signal
import statistics
import subprocess
import time

import hosts

TIMEOUT_S = 150
PORTS = 1000  # from 20000: a port that an earlier run has left waiting is not used again soon


class JobError(Exception):
    pass


class Jobs:
    """What all runs have in common."""

    def __init__(self, network, source_dir, tacho, python):
        self.network = network
        self.script = os.path.join(source_dir, "examples", "ddp_train.py")
        self.tacho = tacho
        self.python = python
        self.n_started = 0

    def run(self, case, record_into=None):
        """Train. With `record_into`, a folder, each host records into r0.tacho and r1.tacho in it.
        Returns what results.py keeps of a run."""
        folders = [None, None]
        if record_into:
            shutil.rmtree(record_into, ignore_errors=True)
            os.makedirs(record_into)
            folders = [os.path.join(record_into, f"r{rank}.tacho") for rank in range(2)]
        self.network.connect(case.rate_mbit, case.latency_ms)
        began = time.time()
        lines = self.train(case, folders)
        relay = self.network.disconnect()
        steps = step_times_ms(lines)
        result = {"case": case.name, "at": round(began),
                  "steps_ms": [lines[rank]["steps_ms"] for rank in range(2)],
                  "wall_s": round(time.time() - began, 2)}
        if record_into:
            steps, control = split_control(steps, control_steps(case))
            result["control_ms"] = round(statistics.median(control), 4)
        result["step_ms"] = round(statistics.median(steps), 4)
        if relay:
            result["relay"] = relay
        return result

    def train(self, case, folders):
        """Both ranks, to their end: the line of JSON that each printed."""
        self.n_started += 1
        ranks = []
        try:
            for rank in range(2):
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
            "RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1,
            "MASTER_ADDR": hosts.ADDRESSES[0], "MASTER_PORT": 20000 + self.n_started % PORTS,
            "GLOO_SOCKET_IFNAME": hosts.DEVICE, "OMP_NUM_THREADS": 1,
        }
        steps = 6 * control_steps(case) if folder else case.steps
        command = [self.python, self.script, "--model", case.model, *case.options, "--steps",
                   str(steps), "--bucket-mb", f"{case.bucket_mb:g}", "--step-times"]
        if folder:
            command = [self.tacho, "record", "--quiet", "--control", str(control_steps(case)),
                       "-o", folder, "--", *command]
        core = sorted(os.sched_getaffinity(0))[rank]
        return subprocess.Popen(self.network.command(rank, core, environment, command),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)


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
