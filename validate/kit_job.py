"""Runs of the kit's jobs: at one rate, recorded; or unrecorded, through several rates.

A run that is not recorded goes through its rates one after the other: the links are changed under the running job, so that
what changes on the machine changes for all rates. The first steps at a rate are not counted.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time

import hosts
from kinds import BASE

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 300
EXIT_S = 20  # for a job to end that has done its steps
PORTS = 1000
WARM_UP_STEPS = 4
UNCOUNTED_STEPS = 3  # of each rate: what was under way, and what windows of TCP get used to
MANY_STEPS = 100000  # of a job beside another: it is ended with it
CONTROL_STEPS = 5    # of a recorded run, after twice as many recorded ones
RECORDED_STEPS = 25


class KitError(Exception):
    pass


class KitJobs:
    """`network`: hosts.Hosts with enough hosts for all kinds."""

    def __init__(self, network, kinds, tacho, python):
        self.network = network
        self.kinds = kinds
        self.tacho = tacho
        self.python = python
        self.n_started = os.getpid()
        self.last_lines = []  # of rank 0 of the last measured run: what it said of each step

    def connect(self, kind, rate_mbit, latency_ms):
        if kind.ranks == 2:
            self.network.connect(rate_mbit, latency_ms)
        else:
            self.network.connect_to_switch(kind.ranks, rate_mbit, latency_ms, is_shaped_back=True)

    def record(self, kind, rate_mbit, latency_ms, folder, n_steps=RECORDED_STEPS):
        """Each host records into r0.tacho, r1.tacho ... in `folder`."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.connect(kind, rate_mbit, latency_ms)
        try:
            with self.job(kind, n_steps, folder) as job:
                lines = job.finish()
        finally:
            self.network.disconnect()
        return step_times_ms(lines)

    def measure(self, kind, rates_mbit, latency_ms, n_counted, plan=None):
        """Unrecorded, at each of the rates: {rate: step times in ms}. With `plan`, a path, it is carried out."""
        n_segment = UNCOUNTED_STEPS + n_counted
        n_steps = WARM_UP_STEPS + n_segment * len(rates_mbit)
        beside = self.kinds[kind.beside] if kind.beside else None
        self.connect(kind, rates_mbit[0], latency_ms)
        try:
            with self.job(kind, n_steps, plan=plan) as job, self.job_beside(beside):
                for number, rate in enumerate(rates_mbit):
                    if number > 0:
                        job.wait_for(WARM_UP_STEPS + number * n_segment)
                        self.network.set_rate(rate)
                lines = job.finish()
        finally:
            self.network.disconnect()
        self.last_lines = job.lines[0]
        times = step_times_ms(lines)
        # times[i] is of step i + 1
        first = [WARM_UP_STEPS + number * n_segment + UNCOUNTED_STEPS - 1 for number in range(len(rates_mbit))]
        return {rate: times[i:i + n_counted] for rate, i in zip(rates_mbit, first)}

    def measure_link(self, kind, rate_mbit, n_times=3):
        """Mbit/s that a link of the rate carries each way, between hosts that do nothing else: the most, for whatever holds them
        up makes it less."""
        self.connect(kind, rate_mbit, 0)
        try:
            return round(max(self.network.measure_rate() for _ in range(n_times)), 2)
        finally:
            self.network.disconnect()

    def measure_latency(self, kind, latency_ms):
        """ms from one host to another that such a latency adds: relays hand frames on at ticks, and a little late."""
        round_trips = []
        for added_ms in (0, latency_ms):
            self.connect(kind, BASE[0], added_ms)
            try:
                round_trips.append(self.network.measure_round_trip())
            finally:
                self.network.disconnect()
        return round((round_trips[1] - round_trips[0]) / 2, 3)

    def job(self, kind, n_steps, folder=None, plan=None):
        self.n_started += 1
        return RunningJob(self, kind, n_steps, 20000 + self.n_started % PORTS, folder, plan)

    def job_beside(self, kind):
        return self.job(kind, MANY_STEPS) if kind else NoJob()


class NoJob:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class RunningJob:
    """The ranks of one job, from begin to end; with the block they end, however it ends."""

    def __init__(self, jobs, kind, n_steps, port, folder, plan=None):
        self.jobs = jobs
        self.kind = kind
        self.n_steps = n_steps
        self.port = port
        self.folder = folder
        self.plan = plan
        self.ranks = []
        self.readers = []
        self.lines = []
        self.errors = []
        self.n_done = threading.Condition()

    def __enter__(self):
        for rank in range(self.kind.ranks):
            self.lines.append([])
            self.errors.append(tempfile.TemporaryFile("w+"))
            self.ranks.append(self.start(rank))
            self.readers.append(threading.Thread(target=self.read, args=(rank,), daemon=True))
            self.readers[-1].start()
        return self

    def __exit__(self, *_):
        for rank in self.ranks:
            if rank.poll() is None:
                os.killpg(rank.pid, signal.SIGKILL)
                rank.wait()
        for reader in self.readers:
            reader.join()
        for error in self.errors:
            error.close()

    def start(self, rank):
        environment = {
            "RANK": rank, "WORLD_SIZE": self.kind.ranks, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1,
            "MASTER_ADDR": hosts.address(0), "MASTER_PORT": self.port,
            "GLOO_SOCKET_IFNAME": hosts.DEVICE, "OMP_NUM_THREADS": 1,
        }
        command = [self.jobs.python, os.path.join(HERE, "jobs", self.kind.program + ".py"), *self.kind.options,
                   "--steps", str(self.n_steps)]
        if self.folder:
            control = ["--control", str(CONTROL_STEPS)] if self.kind.has_control else []
            command = [self.jobs.tacho, "record", "--quiet", *control, "-o",
                       os.path.join(self.folder, f"r{rank}.tacho"), "--", *command]
        if self.plan:
            command = [self.jobs.tacho, "apply", "--quiet", self.plan, "--", *command]
        return subprocess.Popen(
            self.jobs.network.command(rank, hosts.core_of(rank), environment, command, self.priority()),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors[rank], text=True,
            start_new_session=True)

    def priority(self):
        return hosts.REAL_TIME if self.kind.is_timed else hosts.FIRST

    def read(self, rank):
        for text in self.ranks[rank].stdout:
            if text.startswith("{"):
                with self.n_done:
                    self.lines[rank].append(json.loads(text))
                    self.n_done.notify_all()
        with self.n_done:
            self.n_done.notify_all()

    def wait_for(self, n_steps):
        """Until rank 0 has done so many steps."""
        deadline = time.monotonic() + TIMEOUT_S
        with self.n_done:
            while len(self.lines[0]) < n_steps:
                left = deadline - time.monotonic()
                if left <= 0 or any(rank.poll() not in (None, 0) for rank in self.ranks):
                    raise KitError(self.explain())
                self.n_done.wait(min(left, 1))

    def finish(self):
        """To the end: of each rank when each step was over, in ns.

        PyTorch 1.13 sometimes hangs when it takes down what a hook in Python has used. All steps are done by then, so
        that such a job is ended; but not one that is recorded, whose recording would not be whole."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline and not self.is_over():
            if all(len(rows) == self.n_steps for rows in self.lines) and not self.folder:
                deadline = min(deadline, time.monotonic() + EXIT_S)
            time.sleep(0.1)
        for rank in self.ranks:
            if rank.poll() is None and not self.folder:
                os.killpg(rank.pid, signal.SIGKILL)
        if not self.folder:
            for rank in self.ranks:
                rank.wait()
        elif not self.is_over():
            raise KitError(self.explain())
        for reader in self.readers:
            reader.join()
        if any(rank.returncode not in (0, -signal.SIGKILL) for rank in self.ranks) or \
                any(len(rows) != self.n_steps for rows in self.lines):
            raise KitError(self.explain())
        return [[row["ns"] for row in rows] for rows in self.lines]

    def is_over(self):
        return all(rank.poll() is not None for rank in self.ranks)

    def explain(self):
        said = []
        for number, (rank, error) in enumerate(zip(self.ranks, self.errors)):
            error.seek(0)
            said.append(f"rank {number} (exit status {rank.poll()}, {len(self.lines[number])} steps): "
                        f"{error.read().strip()[-300:]}")
        return f"{self.kind.name}: " + "; ".join(said)


def step_times_ms(ends_ns):
    """The mean over ranks of each step but the first."""
    times = [[(end - begin) / 1e6 for begin, end in zip(ends, ends[1:])] for ends in ends_ns]
    return [round(statistics.fmean(step), 3) for step in zip(*times)]
