#!/usr/bin/env python3
"""Record today's jobs in today's frameworks: each job of each environment, with and without tacho.

    run.py [--environments build/frameworks] [--only torch-2.13/ddp ...] [--write docs/frameworks.md] [--resume] [--minutes N]

A row passes if the job prints the same (every loss, to the last bit) with and without tacho, all steps are found, the score of
trust is 95 or more, all collectives of all ranks are matched, in groups that have all ranks, nothing is said on stderr, and what HOLDS
says of the job is in the run. How much slower a recorded job is slow_down.py measures, which writes that column.

--resume leaves out the rows that passed with this build of tacho before; --minutes begins no row after so long.
"""

import argparse
import configparser
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
STEPS = 20
N_RANKS = 2
LEAST_TRUST = 95
LONGEST_S = 600

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
    "horovod": ("Horovod's DistributedOptimizer, MPI", "mpirun", MPIRUN + ["horovod_optimizer"]),
    # TWICE as many steps, of which STEPS are profiled; RANKS behind the command where it is not N_RANKS
    "tf-fit": ("Keras fit", "-", ["tensorflow_jobs.py", "fit", "TWICE"], 1),
    "tf-loop": ("loop with tf.function", "-", ["tensorflow_jobs.py", "loop", "TWICE"], 1),
    "tf-workers": ("MultiWorkerMirroredStrategy", "TF_CONFIG", ["tensorflow_jobs.py", "workers", "TWICE"]),
    "tf-servers": ("ParameterServerStrategy", "TF_CONFIG", ["tensorflow_jobs.py", "servers", "TWICE"], 4),
    "jax-jit": ("a jitted step", "-", ["jax_jobs.py", "jit", "TWICE"], 1),
    "jax-processes": ("jax.distributed", "processes", ["jax_jobs.py", "processes", "TWICE"]),
}


LOADED = "select count(distinct rank || ' ' || step) from slice where name = 'DataLoader workers' and step is not null"
WORKERS = ("select count(*) from process worker join process rank on worker.parent_upid = rank.upid "
           "where rank.is_main and not worker.is_main")
# what else is in the run of a job: what, how many of it at least, and the SQL that counts it
HOLDS = {
    "checkpoints": [
        ("steps of ranks that wait for the loader's workers", N_RANKS * (STEPS - 2), LOADED),
        ("worker processes of ranks", 2 * N_RANKS, WORKERS),
        ("threads with a worker's name", 2 * N_RANKS, "select count(*) from thread where name = 'pt_data_worker'"),
        ("functions of torch.distributed.checkpoint", N_RANKS,
         "select count(distinct rank) from slice where category = 'function' and name like '%torch/distributed/checkpoint/%'"),
    ],
    "players": [("programs of actors", 2, "select count(*) from process where cmdline like '%players.py play %'")],
    "compiled": [("ranks with kernels of Inductor", N_RANKS,
                  "select count(distinct rank) from slice where category = 'kernel' and name like 'cpp_fused%'")],
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


def words_of(python, words, out, recorder, steps):
    """The command of a job, its places filled in; `recorder` stands at RECORD, or before it."""
    places = {"PORT": str(free_port()), "PYTHON": python, "OUT": out, "TWICE": str(2 * steps)}
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
            yield re.sub("PORT|PYTHON|OUT|TWICE", lambda place: places[place[0]], word)


def run_command(command, environment, folder):
    """Exit status, stdout and stderr. What does not end is ended, with all that it started: pipes would wait for those."""
    paths = [os.path.join(folder, name) for name in ("stdout", "stderr")]
    with open(paths[0], "w", encoding="utf-8") as out, open(paths[1], "w", encoding="utf-8") as errors:
        job = subprocess.Popen(command, env=environment, stdout=out, stderr=errors, start_new_session=True)
        try:
            job.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            for number in (signal.SIGTERM, signal.SIGKILL):  # launchers end their ranks when they are asked to end
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(job.pid, number)
                time.sleep(5)
            job.wait()
            raise RuntimeError("it did not end in %d s: %s" % (LONGEST_S, " ".join(command))) from None
    said = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            said.append(file.read())
    return job.returncode, said[0], said[1]


def run_job(python, words, recorder=(), steps=STEPS):
    """What the ranks told, the median step of rank 0 in ms, and what was said on stderr."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as out:
        with open(os.path.join(out, "hosts"), "w", encoding="utf-8") as file:
            file.write("localhost slots=%d\n" % N_RANKS)
        command = list(words_of(python, words, out, recorder, steps))
        environment = dict(os.environ, OMP_NUM_THREADS="1", FRAMEWORK_STEPS=str(steps), FRAMEWORK_OUT=out,
                           TORCH_CPP_LOG_LEVEL="ERROR", TOKENIZERS_PARALLELISM="false",
                           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()),
                           TORCH_EXTENSIONS_DIR=os.path.join(os.path.dirname(os.path.dirname(python)), "torch-extensions"))
        # the launchers of an environment start its Python by name
        environment["PATH"] = os.path.dirname(python) + os.pathsep + os.environ["PATH"]
        code, stdout, stderr = run_command(command, environment, out)
        if code:
            raise RuntimeError("%s: exit %d: %s" % (" ".join(command), code, stderr[-2000:]))
        losses, median_ms = read_ranks(out)
        if not losses:
            losses, median_ms = read_printed(stdout, stderr)
        return losses, median_ms, stderr


class Row:
    def __init__(self, environment, python, job, tacho):
        self.environment, self.job, self.tacho = environment, job, tacho
        self.faults = []
        self.missing = set()
        self.name, self.launcher, words, *ranks = JOBS[job]
        self.expected_ranks = ranks[0] if ranks else N_RANKS
        self.is_whole = words[0] not in ("tensorflow_jobs.py", "jax_jobs.py")
        work = tempfile.mkdtemp(prefix="tacho-frameworks-")
        self.run = os.path.join(work, "run")
        try:
            self.compare(python, words)
            self.ask()
        except (RuntimeError, subprocess.CalledProcessError) as error:
            self.faults.append(str(error))
        finally:
            if not os.environ.get("KEEP"):
                shutil.rmtree(work, ignore_errors=True)
            else:
                print("kept", self.run)

    def compare(self, python, words):
        """Run the job with and without tacho."""
        plain, _, plain_said = run_job(python, words)
        recorded, _, said = run_job(python, words, [self.tacho, "record", "-q", "--force", "-o", self.run, "--"])
        if plain != recorded:
            self.faults.append("losses differ")
        self.hear(said)
        for warning in sorted(warnings_in(said) - warnings_in(plain_said)):
            self.faults.append("warned: " + warning)
        if self.is_whole and any(len(of_rank) != STEPS for of_rank in plain.values()):
            self.faults.append("losses: %s" % [len(of_rank) for of_rank in plain.values()])

    def hear(self, said):
        """What tacho says cannot be seen is no fault of the row, but missing."""
        for line in said.splitlines():
            if re.match(r"tacho: no (oneDNN|BLAS) kernels", line):
                self.missing.add(line.split(" are recorded")[0].replace("tacho: no ", ""))
            elif line.startswith("tacho:"):
                self.faults.append("said: " + line)

    def first_row(self, sql):
        done = subprocess.run([self.tacho, "query", "--format", "csv", self.run, sql], capture_output=True, text=True, check=True)
        return [int(cell) if cell else None for cell in done.stdout.splitlines()[1].split(",")]

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
        self.collectives, matched, self.groups, strange = self.first_row(
            "select count(*), sum(ranks = expected_ranks), count(distinct group_id), sum(expected_ranks != %d) from collective"
            % self.expected_ranks)
        if (matched or 0) < self.collectives:
            self.faults.append("%d of %d collectives matched" % (matched or 0, self.collectives))
        if strange:
            self.faults.append("%d collectives in groups that have not %d ranks" % (strange, self.expected_ranks))
        for what, least, sql in HOLDS.get(self.job, ()):
            found = self.first_row(sql)[0] or 0
            if found < least:
                self.faults.append("%s: %d, not %d" % (what, found, least))


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


def line_of(row, slow_down="-"):
    groups = getattr(row, "groups", 0)
    return "| %s | %s | %s | %s | %s | %s | %s | %s |\n" % (
        row.environment, row.name, row.launcher, cell(getattr(row, "steps", None)), cell(getattr(row, "trust", None)),
        cell(getattr(row, "collectives", None)) + (" in %d" % groups if groups > 1 else ""), slow_down,
        "; ".join(dict.fromkeys(row.faults + sorted(row.missing))).replace("|", "/").replace("\n", " ")[:300] or "nothing")


def key_of(line):
    return tuple(cell.strip() for cell in line.split("|")[1:4])


def order(lines):
    """As environments and their jobs are listed."""
    config = configparser.ConfigParser()
    config.read(os.path.join(HERE, "environments.ini"))
    places = [(name, *JOBS[job][:2]) for name in config.sections() for job in config[name]["jobs"].split()]
    return sorted((line for line in lines if key_of(line) in places), key=lambda line: places.index(key_of(line)))


def slow_down_of(line):
    return line.split("|")[7].strip()


def change_table(path, change):
    """Have the table's lines on the page, between its two marks, be what `change` makes of them. Other runs of this may write, too."""
    with open(path, "r+", encoding="utf-8") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        old = page.read()
        head, _, rest = old.partition(BEGIN)
        text, _, tail = rest.partition(END)
        lines = order(change(text.splitlines(keepends=True)[2:]))
        page.seek(0)
        page.truncate()
        page.write(head + BEGIN + HEAD + "".join(lines) + END + tail)


def put_row(lines, row):
    """In place of what the table had of that job, of which the slow-down stays: it is measured apart."""
    line = line_of(row)
    before = [other for other in lines if key_of(other) == key_of(line)]
    if before:
        line = line_of(row, slow_down_of(before[0]))
    return [other for other in lines if key_of(other) != key_of(line)] + [line]


def build_of(tacho):
    """Which build this is: a digest of what a recorded job loads, and of tacho."""
    digest = hashlib.sha256()
    top = os.path.dirname(os.path.dirname(os.path.abspath(tacho)))
    paths = [tacho]
    for folder, folders, names in os.walk(os.path.join(top, "lib", "tacho")):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        paths += [os.path.join(folder, name) for name in sorted(names)]
    for path in paths:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


class Kept:
    """What is known of rows from before, in a file: for this build of tacho only."""

    def __init__(self, path, tacho, is_fresh=False):
        self.path, self.build = path, build_of(tacho)
        self.rows = {}
        if not is_fresh and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                kept = json.load(file)
            if kept["build"] == self.build:
                self.rows = kept["rows"]

    def save(self):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump({"build": self.build, "rows": self.rows}, file, indent=1)
        os.replace(self.path + ".new", self.path)


def jobs_of(folder, only):
    """(environment, its Python, job) for all that are made and wanted."""
    for name, python, jobs in environments(folder):
        for job in jobs:
            if not only or name in only or "%s/%s" % (name, job) in only:
                yield name, python, job


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environments", default=os.path.join(SOURCE, "build", "frameworks"))
    parser.add_argument("--tacho", default=os.path.join(SOURCE, "build", "default", "bin", "tacho"))
    parser.add_argument("--only", nargs="*", help="ENVIRONMENT or ENVIRONMENT/JOB")
    parser.add_argument("--write", help="the page in whose table the rows are put")
    parser.add_argument("--resume", action="store_true", help="leave out what passed before with this build")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no row after so long")
    arguments = parser.parse_args()
    kept = Kept(os.path.join(arguments.environments, "passed.json"), arguments.tacho, not arguments.resume)
    end_s = time.monotonic() + 60 * arguments.minutes
    rows, n_left = [], 0
    for name, python, job in jobs_of(arguments.environments, arguments.only):
        title = "%s/%s" % (name, job)
        if title in kept.rows:
            print("%s: passed before" % title, flush=True)
            continue
        if time.monotonic() >= end_s:
            n_left += 1
            continue
        row = Row(name, python, job, arguments.tacho)
        rows.append(row)
        if arguments.write:
            change_table(arguments.write, lambda lines, row=row: put_row(lines, row))
        if not row.faults:
            kept.rows[title] = True
            kept.save()
        print("%s: %s" % (title, "; ".join(row.faults) or "as it should be"), flush=True)
    print(HEAD + "".join(line_of(row) for row in rows))
    if n_left:
        print("%d rows were not begun: go on with --resume" % n_left)
    return 1 if n_left or any(row.faults for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
