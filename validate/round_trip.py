#!/usr/bin/env python3
"""Export every trace there is, read the export, and compare every view of it with those of the trace.

    round_trip.py                     all formats that tacho writes and reads, all traces
    round_trip.py --to perfetto RUN...

The traces are those in $TACHO_SHARED/data, or in ../shared/data beside the source, and in tests/data: each file, CTF folder
and folder of ranks that 'tacho info' reads. Exit 1: something is not the same. The paths of traces, which the text of advice
has in it, are the one thing that may differ.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE_DIR = pathlib.Path(__file__).resolve().parent.parent
FORMATS = {"chrome": "json", "perfetto": "pftrace", "ctf": "ctf"}
JOBS = max(1, min(4, os.cpu_count() or 1))


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def views(program):
    """The names of all views, from the refusal of one that is not there."""
    words = run(program, "report", "--view", "?", SOURCE_DIR / "tests/data/kineto")[2]
    return re.findall(r"\w+", words.partition("there are:")[2])


def candidates(root):
    """Files, and folders that hold several or a CTF trace."""
    for folder, names, files in os.walk(root):
        names.sort()
        path = pathlib.Path(folder)
        if "metadata" in files:
            yield path
            continue
        if len(files) > 1:
            yield path
        yield from (path / name for name in sorted(files))


def answers(program, path, names, trace):
    """Everything that tacho says of the file at `path`, by view, without paths: it is `trace`, or was made of it."""
    said = {}
    for name in names:
        words = ("info", path, "--json") if name == "info" else ("report", path, "--view", name, "--json", "--all")
        status, text, _ = run(program, *words)
        text = re.sub(r'"path":"[^"]*"', "", text).replace(str(path), "RUN")
        text = text.replace(str(trace), "RUN")
        said[name] = (status, text)
    return said


def check(program, path, formats, names):
    """([runs and formats compared], [complaints])"""
    if run(program, "info", path)[0] != 0:
        return 0, []
    expected = answers(program, path, names, path)
    complaints, compared = [], 0
    for target in formats:
        with tempfile.TemporaryDirectory() as folder:
            export = pathlib.Path(folder) / f"run.{FORMATS[target]}"
            status, _, errors = run(program, "export", path, "--to", target, "-o", export)
            compared += 1
            if status != 0:
                complaints.append(f"{path} to {target}: {errors.strip()[:200]}")
                continue
            found = answers(program, export, names, path)
            different = [name for name in names if found[name] != expected[name]]
            if different:
                complaints.append(f"{path} to {target}: {' '.join(different)}")
    return compared, complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--to", action="append", choices=FORMATS, help="only this format")
    parser.add_argument("--tacho", default=str(SOURCE_DIR / "build/default/bin/tacho"), help="the program to ask")
    options = parser.parse_args()
    shared = pathlib.Path(os.environ.get("TACHO_SHARED") or SOURCE_DIR.parent / "shared") / "data"
    roots = [root for root in (SOURCE_DIR / "tests/data", shared) if root.is_dir()]
    runs = options.runs or [path for root in roots for path in candidates(root)]
    names = ["info", *views(options.tacho)]
    compared, complaints = 0, []
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        tasks = [pool.submit(check, options.tacho, path, options.to or list(FORMATS), names) for path in runs]
        for task in tasks:
            one, said = task.result()
            compared += one
            complaints += said
            for line in said:
                print(line, flush=True)
    print(f"{compared} exports compared in {len(names)} views each, {len(complaints)} differ")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
