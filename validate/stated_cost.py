#!/usr/bin/env python3
"""How wrong the stated cost of recording is: what STATED_ERROR of src/predict/recording_cost.c is held against.

    stated_cost.py            what the kit's recordings say, and the fit on the tuned half

A run states what its events cost the job; control steps show what recording took. Let s be the stated share of a step, and
e +- d the excess of recorded steps over control steps. Recording makes no step shorter, but some recordings show an excess that is
below 0 by several d: control steps differ from the others by c of a step for reasons of their own. With s wrong by k times itself, e
is normally distributed around s with the variance d^2 + c^2 + (k s)^2. The c and k of the greatest likelihood over the recordings
of the tuned half are the fit; how likely the recordings of the half set aside are with it, and with half and twice of k, shows
whether it holds there. A k that half and twice of it are as likely as is not known from these recordings.

Recordings: those of the kit that have control steps (validate/kinds.ini), unpacked in build/kit or packed in validate/kit.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tarfile

from kinds import read_kinds
from round_trip import SOURCE_DIR

SOURCE = SOURCE_DIR / "src/predict/recording_cost.c"


def folder_of(program, kit):
    folder, packed = kit / f"{program}.0", SOURCE_DIR / "validate/kit" / f"{program}.0.tar.xz"
    if not folder.is_dir() and packed.exists():
        with tarfile.open(packed) as archive:
            archive.extractall(kit, filter="data")
    return folder if folder.is_dir() else None


def excesses(tacho, kit):
    """[(kind, s, e, d)], shares of a step."""
    rows = []
    for kind in read_kinds().values():
        folder = None if kind.beside else folder_of(kind.program, kit)
        if not folder:
            continue
        runs = [folder / f"r{rank}.tacho" for rank in range(kind.ranks)]
        info = json.loads(subprocess.run([tacho, "info", "--json", *runs], check=True, capture_output=True, text=True).stdout)
        if info.get("control_steps") and info.get("record_cost_step_pct"):
            rows.append((kind, *(info[key] / 100 for key in
                                 ("record_cost_step_pct", "record_excess_pct", "record_excess_error_pct"))))
    return rows


def log_likelihood(rows, k, c):
    """Of a recording, in the mean."""
    variances = [error ** 2 + c ** 2 + (k * stated) ** 2 for _, stated, _, error in rows]
    return sum(-0.5 * math.log(2 * math.pi * variance) - (excess - stated) ** 2 / (2 * variance)
               for variance, (_, stated, excess, _) in zip(variances, rows)) / len(rows)


def fit(rows):
    """The most likely k, by quarters, and c, by thousandths; and the k whose likelihood over all rows, each with the c that is best
    for it, is within exp(-1/2) of that: about 68 %."""
    steps = [step / 4 for step in range(0, 160)]
    shares = [step / 1000 for step in range(0, 60)]
    best_of = {k: max((log_likelihood(rows, k, c), c) for c in shares) for k in steps}
    best = max(steps, key=lambda k: best_of[k])
    near = [k for k in steps if best_of[k][0] >= best_of[best][0] - 0.5 / len(rows)]
    return best, best_of[best][1], near[0], near[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tacho", type=pathlib.Path, default=SOURCE_DIR / "build/default/bin/tacho")
    parser.add_argument("--work", type=pathlib.Path, default=SOURCE_DIR / "build/kit", help="where the kit's are unpacked")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rows = excesses(options.tacho, options.work)
    print(f"{'kind':18} {'half':6} {'stated %':>8} {'showed %':>8} {'+-':>5} {'times':>6} {'off by, of itself':>18}")
    for kind, stated, excess, error in rows:
        print(f"{kind.name:18} {kind.half:6} {100 * stated:8.2f} {100 * excess:8.2f} {100 * error:5.2f} "
              f"{excess / stated:6.1f} {(excess - stated) / stated:10.1f} +- {error / stated:.1f}")
    now = float(re.search(r"#define STATED_ERROR\s+([\d.]+)", SOURCE.read_text()).group(1))
    for half in ("tuned", "aside", "both"):
        of_half = [row for row in rows if half in (row[0].half, "both")]
        if not of_half:
            print(f"{half}: no recordings")
            continue
        best, share, low, high = fit(of_half)
        shorter = sum(excess < -2 * error for _, _, excess, error in of_half)
        likely = ", ".join(f"{k:g}: {log_likelihood(of_half, k, share):.2f}" for k in (0, now / 2, now, now * 2, now * 4))
        print(f"{half}, {len(of_half)} recordings, {shorter} of which are shorter than control steps by more than two errors: most "
              f"likely {best:g} [{low:g}, {high:g}] beside {100 * share:.1f} % of a step; log likelihood of a recording with that "
              f"share, by STATED_ERROR (now {now:g}): {likely}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
