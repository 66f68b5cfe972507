"""The kinds of job of the kit, as kinds.ini says, and what each is run at."""

import configparser
import os
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))

# Mbit/s and ms. The recordings are of the base; all is predicted from them.
RATES_MBIT = (500, 250, 1000)
LATENCIES_MS = (0, 2)
BASE = (RATES_MBIT[0], LATENCIES_MS[0])


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

    @property
    def is_aside(self):
        return self.half == "aside"


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
                           row.get("beside", ""), alone.getboolean("control", True))
    return kinds


def settings():
    """(latency, rates): one run of a job goes through the rates of one latency."""
    return [(latency, RATES_MBIT) for latency in LATENCIES_MS]
