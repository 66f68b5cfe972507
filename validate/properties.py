#!/usr/bin/env python3
"""Ask every property of every what-if of every trace there is, and write docs/properties.md.

    properties.py                     all traces
    properties.py --largest MIB RUN...

The traces are those in $TACHO_SHARED/data, or in ../shared/data beside the source, and in tests/data: each file and folder of
ranks that can be replayed. Exit 1: some property fails.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys

from round_trip import SOURCE_DIR, candidates

PROGRAM = SOURCE_DIR / "build/default/validate/ask_properties"
BESIDE = SOURCE_DIR / "tests/data/two_ranks"
CLASSES = ["identity", "inverse", "composition", "limit", "monotony", "commutation"]
RESULTS = ["holds", "fails", "refused"]


def size_of(path):
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def ask(path, seconds):
    """[(class, key, result, message)], or why not."""
    try:
        done = subprocess.run([PROGRAM, BESIDE, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds,
                              check=False)
    except subprocess.TimeoutExpired:
        return f"not asked in {seconds} s"
    if done.returncode == 2:
        return None  # not a trace, or nothing to replay
    if done.returncode != 0:
        return f"ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()[:200]}"
    return [line.split("\t", 3) for line in done.stdout.decode(errors="replace").splitlines() if line.count("\t") >= 3]


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def tables(counts, names):
    """Markdown of counts[name][result], in the order of `names`."""
    lines = [row("", *RESULTS), row("---", *["---"] * len(RESULTS))]
    lines += [row(name, *(counts[name][result] for result in RESULTS)) for name in names]
    total = [sum(counts[name][result] for name in names) for result in RESULTS]
    return "\n".join(lines + [row("all", *total)])


def page(answers, left_out):
    by_class, by_key = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    failures = []
    for path, lines in answers:
        for kind, key, result, message in lines:
            by_class[kind][result] += 1
            by_key[f"`{key}`"][result] += 1
            if result == "fails":
                failures.append(row(path, kind, f"`{key}`", message.replace("|", "/")))
    parts = [(pathlib.Path(__file__).parent / "properties_head.md").read_text(),
             f"{len(answers)} recordings were asked.\n", "## By property\n", tables(by_class, CLASSES),
             "\n## By change\n", "Of two changes that commute, the first counts here.\n", tables(by_key, sorted(by_key))]
    if failures:
        parts += ["\n## What fails\n", row("recording", "property", "change", "what came out"), row(*["---"] * 4), *failures]
    if left_out:
        parts += ["\n## What was not asked\n", *(f"- {path}: {why}" for path, why in left_out)]
    return "\n".join(parts) + "\n", len(failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--largest", type=float, default=1.5, metavar="MIB", help="leave larger traces out")
    parser.add_argument("--seconds", type=int, default=120, help="for each trace")
    parser.add_argument("--jobs", type=int, default=max(1, min(4, os.cpu_count() or 1)))
    parser.add_argument("--output", type=pathlib.Path, default=SOURCE_DIR / "docs/properties.md")
    options = parser.parse_args()
    shared = pathlib.Path(os.environ.get("TACHO_SHARED") or SOURCE_DIR.parent / "shared") / "data"
    roots = [root for root in (SOURCE_DIR / "tests/data", shared) if root.is_dir()]
    found = [(path, path.relative_to(root)) for root in roots for path in candidates(root)]
    runs = [(path, path.name) for path in options.runs] or found
    asked = [(path, name) for path, name in runs if size_of(path) <= options.largest * 2**20]
    answers, left_out = [], [(name, f"larger than {options.largest:g} MiB") for path, name in runs
                             if size_of(path) > options.largest * 2**20 and path.is_file()]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (_, name), lines in zip(asked, pool.map(lambda run: ask(run[0], options.seconds), asked)):
            if isinstance(lines, str):
                left_out.append((name, lines))
            elif lines:
                answers.append((name, lines))
                print(f"{name}: {collections.Counter(line[2] for line in lines)}", flush=True)
    text, n_failures = page(answers, left_out)
    options.output.write_text(text)
    print(f"{len(answers)} recordings, {n_failures} failures, {options.output}")
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
