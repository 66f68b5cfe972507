#!/usr/bin/env python3
"""What recording takes beside its stated cost: what STATED_ERROR and LEAST_SHARE of src/predict/recording_cost.c are held against.

    stated_cost.py            what the kit's recordings say, and the fit on the tuned half

A run states what its events cost the job; control steps show what recording took. Let s be the stated share of a step, and
e +- d the excess of recorded steps over control steps. What recording takes beside s is m of a step in the mean, and by t more or less
in a job: e is normally distributed around s + m with the variance d^2 + t^2. The m and t of the greatest likelihood over the recordings
of the tuned half are the fit; how likely the recordings of the half set aside are with it, and with what else was thought, shows whether
it holds there. Where s is small, whether it is wrong by several times itself (STATED_ERROR) cannot be told.

Not all of m need be of recording: control steps may be shorter for other reasons. With m and t in the place of both constants,
predictions of the kit from its recordings were further off on both halves.

Recordings: those of the kit that have control steps (validate/kinds.ini), unpacked in build/kit or packed in validate/kit.
"""
import argparse
import json
import math
import pathlib
import re
import statistics
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


def log_likelihood(rows, mean, error, times=0):
    """Of a recording, in the mean, with the stated cost wrong by as many times itself."""
    variances = [own ** 2 + error ** 2 + (times * stated) ** 2 for _, stated, _, own in rows]
    return statistics.fmean(-0.5 * math.log(2 * math.pi * variance) - (excess - stated - mean) ** 2 / (2 * variance)
                            for variance, (_, stated, excess, _) in zip(variances, rows))


def fit(rows):
    """(m, t) of the greatest likelihood, by ten thousandths of a step."""
    shares = [step / 1e4 for step in range(200)]
    return max(((mean, error) for mean in shares for error in shares), key=lambda pair: log_likelihood(rows, *pair))


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
    least, times = (float(re.search(rf"#define {name}\s+([\d.e-]+)", SOURCE.read_text()).group(1))
                    for name in ("LEAST_SHARE", "STATED_ERROR"))
    tuned = fit([row for row in rows if row[0].half == "tuned"])
    for half in ("tuned", "aside", "both"):
        of_half = [row for row in rows if half in (row[0].half, "both")]
        if not of_half:
            print(f"{half}: no recordings")
            continue
        shorter = sum(excess < -2 * error for _, _, excess, error in of_half)
        best = fit(of_half)
        likely = ", ".join(f"{name} {log_likelihood(of_half, *model):.2f}" for name, model in (
            ("fit of the tuned half", tuned), ("half of its error", (tuned[0], tuned[1] / 2)), ("twice", (tuned[0], tuned[1] * 2)),
            ("as in the source", (0, least, times)), ("twice STATED_ERROR", (0, least, 2 * times))))
        print(f"{half}, {len(of_half)} recordings, {shorter} of which are shorter than control steps by more than two errors: most "
              f"likely {100 * best[0]:.2f} +- {100 * best[1]:.2f} % of a step; log likelihood of a recording: {likely}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
