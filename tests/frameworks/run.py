#!/usr/bin/env python3
"""Record today's jobs in today's frameworks: each job of each environment, with and without tacho.

    run.py [--environments build/frameworks] [--only torch-2.13/ddp ...] [--repeats 3] [--write docs/frameworks.md]

--repeats 0 does each once and measures no slow-down.

A row passes if the job prints the same (every loss, to the last bit) with and without tacho, all steps are found, the score of
trust is 95 or more, all collectives of all ranks are matched and nothing is said on stderr. The slow-down is of the median step of rank 0: the median
over the recorded runs less that over the unrecorded ones, which alternate; the first of each is left out.
"""

import argparse
import configparser
import fcntl
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
STEPS = 20
N_RANKS = 2
LEAST_TRUST = 95

TORCHRUN = ["-m", "torch.distributed.run", "--nproc_per_node", str(N_RANKS), "--master_port", "PORT"]
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(N_RANKS), "PYTHON", "launched.py"]
SRUN = ["slurm.sh", "OUT/slurm", "RECORD", "srun", "-n", str(N_RANKS), "--oversubscribe", "PYTHON", "launched.py"]  # its daemons are not recorded
# it starts several processes without a GPU by mpirun alone
ACCELERATE = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", str(N_RANKS), "--num_machines", "1",
              "--mpirun_hostfile", "OUT/hosts"]
# how it is called in the table, its launcher, and what is run behind the environment's Python, or as it is where that is among it
JOBS = {
    "ddp": ("DDP", "torchrun", TORCHRUN + ["ddp.py"]),
    # Debian's torchrun of 1.13 does not run under its Python 3.11
    "spawned-ddp": ("DDP", "multiprocessing", ["spawned.py", "ddp"]),
    "spawned-autocast": ("autocast and DDP", "multiprocessing", ["spawned.py", "autocast"]),
    "ddp-fp16": ("DDP, float16 communication hook", "torchrun", TORCHRUN + ["ddp.py", "fp16"]),
    "ddp-bf16": ("DDP, bfloat16 communication hook", "torchrun", TORCHRUN + ["ddp.py", "bf16"]),
    "fsdp2": ("FSDP2", "torchrun", TORCHRUN + ["fsdp2.py"]),
    "tensor-parallel": ("DTensor tensor parallel", "torchrun", TORCHRUN + ["tensor_parallel.py"]),
    "pipelining": ("torch.distributed.pipelining", "torchrun", TORCHRUN + ["pipelining.py"]),
    "compiled": ("torch.compile and DDP", "torchrun", TORCHRUN + ["compiled.py"]),
    "autocast": ("autocast and DDP", "torchrun", TORCHRUN + ["autocast.py"]),
    "trainer": ("transformers Trainer", "torchrun", TORCHRUN + ["trainer.py"]),
    "lightning": ("Lightning, ddp", "Lightning", ["lightning_fit.py"]),
    "accelerated": ("Accelerate", "torchrun", TORCHRUN + ["accelerated.py"]),
    "launched-accelerate": ("Accelerate", "accelerate launch, mpirun", ACCELERATE + ["accelerated.py"]),
    "mpirun": ("DDP", "mpirun", MPIRUN + ["ddp"]),
    "srun": ("DDP", "srun", SRUN + ["ddp"]),
    "zero": ("ZeroRedundancyOptimizer and DDP", "torchrun", TORCHRUN + ["zero.py"]),
    "deepspeed-1": ("DeepSpeed, ZeRO stage 1", "torchrun", TORCHRUN + ["deepspeed_zero.py", "1"]),
    "deepspeed-2": ("DeepSpeed, ZeRO stage 2", "torchrun", TORCHRUN + ["deepspeed_zero.py", "2"]),
    "deepspeed-3": ("DeepSpeed, ZeRO stage 3", "torchrun", TORCHRUN + ["deepspeed_zero.py", "3"]),
    "launched-deepspeed": ("DeepSpeed, ZeRO stage 2", "deepspeed", [
        "-m", "deepspeed.launcher.runner", "--num_gpus", str(N_RANKS), "--master_port", "PORT", "deepspeed_zero.py", "2"]),
    "functional": ("functional collectives", "torchrun", TORCHRUN + ["functional.py"]),
    "checkpoints": ("DDP, loader workers, asynchronous checkpoints", "torchrun", TORCHRUN + ["checkpoints.py"]),
    "players": ("learners and actors, four programs", "torchrun", TORCHRUN + ["players.py"]),
    # these do STEPS more steps than are profiled; RANKS behind the command where it is not N_RANKS
    "tf-fit": ("Keras fit", "-", ["tensorflow_jobs.py", "fit", str(2 * STEPS)], 1),
    "tf-loop": ("loop with tf.function", "-", ["tensorflow_jobs.py", "loop", str(2 * STEPS)], 1),
    "tf-workers": ("MultiWorkerMirroredStrategy", "TF_CONFIG", ["tensorflow_jobs.py", "workers", str(2 * STEPS)]),
    "tf-servers": ("ParameterServerStrategy", "TF_CONFIG", ["tensorflow_jobs.py", "servers", str(2 * STEPS)], 4),
    "jax-jit": ("a jitted step", "-", ["jax_jobs.py", "jit", str(2 * STEPS)], 1),
    "jax-processes": ("jax.distributed", "processes", ["jax_jobs.py", "processes", str(2 * STEPS)]),
}


def free_port():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def read_printed(stdout, stderr):
    """The same of a job that prints them, and does not say which rank's they are."""
    losses = sorted(line for line in stdout.splitlines() if line.startswith("loss "))
    times = re.findall(r"^step_ms ([0-9.]+)", stderr, re.MULTILINE)
    return {"all": losses}, float(times[0]) if times else None


def warnings_in(stderr):
    """What Python warns of, wherever."""
    return set(re.findall(r"\w*Warning: .*", stderr))


def read_ranks(folder):
    """The lines of losses of each rank, and the median step of rank 0."""
    losses, median_ms = {}, None
    for name in sorted(name for name in os.listdir(folder) if name.startswith("rank-")):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            lines = file.read().splitlines()
        losses[name] = [line for line in lines if " loss " in line]
        if name == "rank-0.txt" and lines and lines[-1].startswith("median_ms "):
            median_ms = float(lines[-1].split()[1])
    return losses, median_ms


def words_of(python, words, out, recorder):
    """The command of a job, its places filled in; `recorder` stands at RECORD, or before it."""
    places = {"PORT": str(free_port()), "PYTHON": python, "OUT": out}
    if "PYTHON" not in words:
        words = [python] + words
    if "RECORD" not in words:
        words = ["RECORD"] + words
    for word in words:
        if word == "RECORD":
            yield from recorder
        elif word.endswith(".py"):
            own = os.path.join(HERE, "jobs", word)
            yield own if os.path.exists(own) else os.path.join(SOURCE, "tests", "job", word)
        elif word.endswith(".sh"):
            yield os.path.join(HERE, word)
        else:
            yield re.sub("PORT|PYTHON|OUT", lambda place: places[place[0]], word)


def run_job(python, words, recorder=()):
    """What the ranks told, and what was said on stderr."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as out:
        with open(os.path.join(out, "hosts"), "w", encoding="utf-8") as file:
            file.write("localhost slots=%d\n" % N_RANKS)
        command = list(words_of(python, words, out, recorder))
        environment = dict(os.environ, OMP_NUM_THREADS="1", FRAMEWORK_STEPS=str(STEPS), FRAMEWORK_OUT=out,
                           TORCH_CPP_LOG_LEVEL="ERROR", TOKENIZERS_PARALLELISM="false",
                           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()),
                           TORCH_EXTENSIONS_DIR=os.path.join(os.path.dirname(os.path.dirname(python)), "torch-extensions"))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise RuntimeError("%s: exit %d: %s" % (" ".join(command), done.returncode, done.stderr[-2000:]))
        losses, median_ms = read_ranks(out)
        if not losses:
            losses, median_ms = read_printed(done.stdout, done.stderr)
        return losses, median_ms, done.stderr


class Row:
    def __init__(self, environment, python, job, tacho, repeats):
        self.environment, self.job, self.tacho = environment, job, tacho
        self.faults = []
        self.missing = set()
        self.slow_down = None
        self.name, self.launcher, words, *ranks = JOBS[job]
        self.expected_ranks = ranks[0] if ranks else N_RANKS
        self.is_whole = words[0] not in ("tensorflow_jobs.py", "jax_jobs.py")
        work = tempfile.mkdtemp(prefix="tacho-frameworks-")
        self.run = os.path.join(work, "run")
        try:
            self.measure(python, words, repeats)
            self.ask()
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self.faults.append(str(error))
        finally:
            if not os.environ.get("KEEP"):
                shutil.rmtree(work, ignore_errors=True)
            else:
                print("kept", self.run)

    def measure(self, python, words, repeats):
        plain_ms, recorded_ms = [], []
        recorder = [self.tacho, "record", "-q", "--force", "-o", self.run, "--"]
        for _ in range(repeats + 1):
            plain, plain_median, plain_said = run_job(python, words)
            recorded, recorded_median, said = run_job(python, words, recorder)
            plain_ms.append(plain_median)
            recorded_ms.append(recorded_median)
            if plain != recorded:
                self.faults.append("losses differ")
            self.hear(said)
            for warning in sorted(warnings_in(said) - warnings_in(plain_said)):
                self.faults.append("warned: " + warning)
        if self.is_whole and any(len(of_rank) != STEPS for of_rank in plain.values()):
            self.faults.append("losses: %s" % [len(of_rank) for of_rank in plain.values()])
        if repeats and all(plain_ms) and all(recorded_ms):
            base = statistics.median(plain_ms[1:] or plain_ms)
            self.step_ms = base
            self.slow_down = statistics.median(recorded_ms[1:] or recorded_ms) / base - 1

    def hear(self, said):
        """What tacho says cannot be seen is no fault of the row, but missing."""
        for line in said.splitlines():
            if re.match(r"tacho: no (oneDNN|BLAS) kernels", line):
                self.missing.add(line.split(" are recorded")[0].replace("tacho: no ", ""))
            elif line.startswith("tacho:"):
                self.faults.append("said: " + line)

    def query(self, sql):
        done = subprocess.run([self.tacho, "query", self.run, sql, "--json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def ask(self):
        said = subprocess.run([self.tacho, "info", self.run, "--json"], capture_output=True, text=True, check=False)
        if said.returncode:
            raise RuntimeError("tacho info: " + said.stderr)
        info = json.loads(said.stdout)
        self.trust = info["trust"]["score" if self.is_whole else "present_score"]
        self.steps = info["steps"]
        self.found = info["steps_found"]
        self.ranks = info["ranks"]
        if self.trust < LEAST_TRUST:
            self.faults.append("trust %s: %s" % (self.trust, "; ".join(
                "%s %s %s" % (p["kind"], p["count"], p.get("where", "")) for p in info["trust"]["problems"])))
        if self.ranks != self.expected_ranks:
            self.faults.append("%d ranks" % self.ranks)
        if abs(self.steps - STEPS) > 1:
            self.faults.append("%d steps" % self.steps)
        rows = self.query("select count(*) as n, sum(ranks = expected_ranks) as whole from collective")
        rows = rows if isinstance(rows, list) else rows.get("rows", rows)
        self.collectives, self.matched = rows[0]["n"], rows[0]["whole"] or 0
        if self.matched < self.collectives:
            self.faults.append("%d of %d collectives matched" % (self.matched, self.collectives))


def environments(folder):
    config = configparser.ConfigParser()
    config.read(os.path.join(HERE, "environments.ini"))
    for name in config.sections():
        python = config[name]["python"]
        if config[name]["packages"].strip():
            python = os.path.join(folder, name, "bin", "python")
        if os.path.exists(python):
            yield name, python, config[name]["jobs"].split()
        else:
            print("%s: not made: tools/make-frameworks.sh" % name, file=sys.stderr)


def cell(value):
    return "-" if value is None else str(value)


HEAD = ("| environment | job | launcher | steps | trust | collectives | slow-down of a step | what is missing |\n"
        "|---|---|---|---|---|---|---|---|\n")
BEGIN, END = "<!-- table: tests/frameworks/run.py -->\n", "<!-- end -->"


def line_of(row):
    slow = "-" if row.slow_down is None else "%+.1f %% of %.1f ms" % (100 * row.slow_down, row.step_ms)
    return "| %s | %s | %s | %s | %s | %s | %s | %s |\n" % (
        row.environment, row.name, row.launcher, cell(getattr(row, "steps", None)), cell(getattr(row, "trust", None)),
        cell(getattr(row, "collectives", None)), slow,
        "; ".join(dict.fromkeys(row.faults + sorted(row.missing))).replace("|", "/").replace("\n", " ")[:300] or "nothing")


def key_of(line):
    return tuple(cell.strip() for cell in line.split("|")[1:4])


def order(lines):
    """As environments and their jobs are listed."""
    config = configparser.ConfigParser()
    config.read(os.path.join(HERE, "environments.ini"))
    places = [(name, *JOBS[job][:2]) for name in config.sections() for job in config[name]["jobs"].split()]
    return sorted((line for line in lines if key_of(line) in places), key=lambda line: places.index(key_of(line)))


def write(path, line):
    """Put a row between the page's two marks, in place of what it had of that job. Other runs of this may write, too."""
    with open(path, "r+", encoding="utf-8") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        old = page.read()
        head, _, rest = old.partition(BEGIN)
        text, _, tail = rest.partition(END)
        lines = [other for other in text.splitlines(keepends=True)[2:] if key_of(other) != key_of(line)]
        page.seek(0)
        page.truncate()
        page.write(head + BEGIN + HEAD + "".join(order(lines + [line])) + END + tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environments", default=os.path.join(SOURCE, "build", "frameworks"))
    parser.add_argument("--tacho", default=os.path.join(SOURCE, "build", "default", "bin", "tacho"))
    parser.add_argument("--only", nargs="*", help="ENVIRONMENT or ENVIRONMENT/JOB")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", help="the page in whose table the rows are put")
    arguments = parser.parse_args()
    rows = []
    for name, python, jobs in environments(arguments.environments):
        for job in jobs:
            if arguments.only and name not in arguments.only and "%s/%s" % (name, job) not in arguments.only:
                continue
            row = Row(name, python, job, arguments.tacho, arguments.repeats)
            rows.append(row)
            if arguments.write:
                write(arguments.write, line_of(row))
            print("%s/%s: %s" % (name, job, "; ".join(row.faults) or "as it should be"), flush=True)
    print(HEAD + "".join(line_of(row) for row in rows))
    return 1 if any(row.faults for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
