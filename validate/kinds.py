"""The kinds of job of the kit, as kinds.ini says, and what each is run at."""

import configparser
import os
from dataclasses import dataclass, replace

HERE = os.path.dirname(os.path.abspath(__file__))

# Mbit/s and ms. The recordings are of the base; all is predicted from them.
RATES_MBIT = (500, 250, 1000)
LATENCIES_MS = (0, 2)
BASE = (RATES_MBIT[0], LATENCIES_MS[0])
# Times the work of a step: layers that wait twice as long, or a batch twice as large.
WORK = 2


@dataclass(frozen=True)
class Kind:
    name: str
    half: str
    program: str
    ranks: int
    options: tuple
    about: str
    beside: str  # a kind's name, or ""
    has_control: bool  # when recorded, some steps are left out
    cores: int  # of a host, for two jobs that compute on them; 0: they wait instead

    @property
    def is_aside(self):
        return self.half == "aside"

    @property
    def is_timed(self):
        """Its layers wait instead of computing."""
        return "--timed" in self.options

    @property
    def has_work(self):
        """Whether it is also run with another amount of work: a job beside another, or with a loader of its own, is not."""
        return not self.beside and self.program != "loader"

    def with_work(self, factor):
        """The kind as it is run with so many times the work."""
        if factor == 1:
            return self
        name, default = ("--layer-ms", 4.0) if self.is_timed else ("--batch", 256)
        options = list(self.options)
        if name in options:
            at = options.index(name) + 1
            options[at] = f"{float(options[at]) * factor:g}"
        else:
            options += [name, f"{default * factor:g}"]
        return replace(self, options=tuple(options))

    def work_what_if(self, factor):
        return f"scale:op~TimedLinear={factor:g}" if self.is_timed else f"batch={factor:g}x"

    def cases(self):
        """All that it is predicted and measured at."""
        links = [Case(rate, latency, 1) for latency in LATENCIES_MS for rate in RATES_MBIT]
        return links + ([Case(*BASE, WORK)] if self.has_work else [])

    def settings(self):
        """(latency, rates, work): a run each, which goes through its rates."""
        return [(latency, RATES_MBIT, 1) for latency in LATENCIES_MS] + ([(BASE[1], BASE[:1], WORK)] if self.has_work else [])


@dataclass(frozen=True)
class Case:
    rate: int
    latency: int
    work: int

    @property
    def is_base(self):
        return (self.rate, self.latency) == BASE and self.work == 1

    def has(self, row):
        """Whether a run or a prediction is of it."""
        return (row["rate_mbit"], row["latency_ms"], row.get("work", 1)) == (self.rate, self.latency, self.work)

    def __str__(self):
        return f"{self.rate} Mbit/s, {self.latency} ms" + (f", {self.work} times the work" if self.work != 1 else "")


def read_kinds(path=os.path.join(HERE, "kinds.ini")):
    """All kinds by name, in the order of the file."""
    parser = configparser.ConfigParser()
    with open(path, encoding="utf-8") as file:
        parser.read_file(file)
    kinds = {}
    for name in parser.sections():
        row = parser[name]
        program = name.split("+")[0]
        # a job beside another is the job that it is alone
        alone = parser[program]
        if row["half"] not in ("tuned", "aside"):
            raise ValueError(f"{path}: [{name}] half = {row['half']}")
        kinds[name] = Kind(name, row["half"], program, int(alone["ranks"]), tuple(alone["options"].split()), row["about"],
                           row.get("beside", ""), alone.getboolean("control", True), int(row.get("cores", "0")))
    return kinds

