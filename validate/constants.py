#!/usr/bin/env python3
"""What depends on each number in the model: predictions with half of it, and with twice it.

    constants.py              ask all recordings, write validate/constants.tsv, validate/constants_kit.md, docs/constants.md
    constants.py --kit        the kit's recordings alone; nothing is written
    constants.py --kit --only STATED_ERROR --values 0 1000
                              the kit with these values of a constant in the place of half and twice

Each constant that tools/list-constants.sh lists as fitted or as a rule is made a variable in copies of the sources, in a
scratch folder (build/constants, where answers stay: run again to go on). One program (ask_constants.c) then asks each recording
for its predictions, with each constant as it is, halved and doubled. Of a share from a half to 1, twice is half as far from 1; of a
factor from 1 to 2, both are of how far it is from 1. Sizes of arrays cannot be varied, and stay out.

Recordings are those of the kit, where they are unpacked (build/kit) or in the repository, and the traces that
docs/properties.md is about: files and folders of ranks in tests/data and in $TACHO_SHARED/data, or ../shared/data beside the
source.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import statistics
import shutil
import subprocess
import sys

from kinds import BASE, LATENCIES_MS, RATES_MBIT, read_kinds
from properties import size_of
from round_trip import SOURCE_DIR, candidates
from stated_cost import folder_of

ROOMS = ["graph", "cost", "replay", "edit", "predict"]
BUILD = SOURCE_DIR / "build/default"
# What is asked of every recording; what it has nothing for is refused, and does not count.
CHANGES = ["", "bandwidth=0.5x", "bandwidth=2x", "latency=+2ms", "ranks=4", "bucket_mb=1", "bucket_mb=25", "partition_mb=1",
           "scale:loader=0.5", "accumulate=24", "batch=2x", "cores=2", "workers=2", "device=flops:2,bytes:1.5", "device=A100",
           "fuse:kernel~.", "precision=fp16", "scale:op~.=0.5", "scale:kernel~.=0.5", "drop:collective~."]
DERIVED_BUT_ASKED = {"GRAPH_MAX_TAKEN"}  # a choice of what to derive it from


class Constant:
    """A constant that can be varied."""

    def __init__(self, file, name, value, source):
        self.file, self.name, self.text = file, name, value
        number = re.sub(r"(?<=\d)[uU]\b", "", value)
        self.value = eval(number, {"__builtins__": {}})  # digits and operators alone: see read_constants()
        self.is_unsigned = number != value
        self.is_whole = isinstance(self.value, int)
        self.is_fitted = source.startswith("fitted")
        self.half, self.twice = self.scaled(0.5), self.scaled(2)

    def scaled(self, factor):
        if not self.is_whole and 1 < self.value < 2:
            return 1 + (self.value - 1) * factor
        if factor == 2 and not self.is_whole and 0.5 <= self.value < 1:
            return (1 + self.value) / 2
        return round(self.value * factor) if self.is_whole else self.value * factor

    def asks(self, number):
        kind = "(unsigned)" if self.is_unsigned else "(int)" if self.is_whole else ""
        return f"({kind}constant_asked({number}))"


def read_constants():
    text = subprocess.run([SOURCE_DIR / "tools/list-constants.sh", "--list"], check=True, capture_output=True, text=True).stdout
    constants = []
    for line in text.splitlines():
        file, name, value, _, source = line.split("\t")
        if re.fullmatch(r"[-+*()<\d.eEu ]+", value) and re.fullmatch(r"\w+", name) and (
                not source.startswith(("derived", "cited")) or name in DERIVED_BUT_ASKED):
            constants.append(Constant(file, name, value, source))
    sources = "".join(path.read_text() for room in ROOMS for path in (SOURCE_DIR / "src" / room).glob("*.[ch]"))
    return [constant for constant in constants if not re.search(rf"\w\[{constant.name}( [+-] \d+)?\](?!\w)", sources)]


# --- the program ------------------------------------------------------------------------------------


def scratch_folder(constants):
    """Its name follows from the sources, and what is asked of them."""
    digest = hashlib.sha256("".join(f"{constant.name} {constant.half} {constant.twice}\n" for constant in constants).encode())
    for path in [*(path for room in ROOMS for path in sorted((SOURCE_DIR / "src" / room).iterdir())),
                 SOURCE_DIR / "validate/ask_constants.c"]:
        digest.update(path.name.encode() + path.read_bytes())
    return SOURCE_DIR / "build/constants" / digest.hexdigest()[:12]


def copy_sources(constants, folder):
    """Copies of the rooms in which constants are asked for."""
    shutil.rmtree(folder, ignore_errors=True)
    for room in ROOMS:
        (folder / room).mkdir(parents=True)
        for path in (SOURCE_DIR / "src" / room).iterdir():
            text = path.read_text()
            for number, constant in enumerate(constants):
                if constant.file == f"{room}/{path.name}":
                    text, n = re.subn(rf"^#define({' '}|\t)+{constant.name}[ \t]+[^/\n]*?(?=\s*(/\*|$))",
                                      f"#define {constant.name} {constant.asks(number)}", text, flags=re.MULTILINE)
                    if n != 1:
                        sys.exit(f"constants.py: {n} definitions of {constant.name} in {path}")
            if path.suffix == ".c":
                text = f'extern double constant_asked(unsigned number);\n#line 1 "{path}"\n{text}'
            (folder / room / path.name).write_text(text)


def commands():
    """How the build compiles each file, and how it links ask_constants."""
    text = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "ask_constants"], check=True, capture_output=True,
                          text=True).stdout
    lines = [line for line in text.splitlines() if " -o " in line]
    compile_of = {}
    for line in lines:
        match = re.search(r" -c (\S+/src/(\w+/\w+\.c))$", line)
        if match:
            compile_of[match.group(2)] = (line, match.group(1))
    link = next(line for line in reversed(lines) if "validate/ask_constants " in line)
    return compile_of, re.sub(r"^: && | && :$", "", link)


def build(constants, folder):
    """The program with constants that can be varied. Returns its path."""
    sources, program = folder / "src", folder / "ask_constants"
    if program.exists():
        return program
    copy_sources(constants, sources)
    subprocess.run(["ninja", "-C", BUILD, "ask_constants"], check=True, stdout=subprocess.DEVNULL)
    compile_of, link = commands()
    objects = []

    def compile_one(room, path):
        line, original = compile_of[f"{room}/{path.name}"]
        output = path.with_suffix(".o")
        line = line.replace(original, str(path))
        line = re.sub(r" -MD .*? -o \S+", f" -o {output}", line)
        line = re.sub(r" -Werror\b", "", line).replace(" -I", f" -I{sources} -I", 1)
        subprocess.run(shlex.split(f"{line} -w"), check=True, cwd=BUILD)
        return output

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for room in ROOMS:
            objects += pool.map(lambda path, room=room: compile_one(room, path), sorted((sources / room).glob("*.c")))
    words = shlex.split(link)
    at = words.index("-o")
    words[at + 1] = str(program)
    words[at:at] = [str(path) for path in objects]
    subprocess.run(words, check=True, cwd=BUILD)
    return program


# --- what is asked ----------------------------------------------------------------------------------


class Question:
    """A recording, and what is asked of it."""

    def __init__(self, name, runs, changes, cases=()):
        self.name, self.runs, self.changes, self.cases = name, runs, changes, cases
        self.base, self.asked, self.changed = {}, collections.defaultdict(set), {}

    def ask(self, program, seconds):
        """Returns why not, or None."""
        name = self.name.replace("/", "_")
        changes, answer = program.parent / f"{name}.changes", program.parent / f"{name}.answer"
        text = "\n".join(self.changes) + "\n"
        if not answer.exists() or changes.read_text() != text:
            changes.write_text(text)
            try:
                done = subprocess.run([program, program.parent / "constants", changes, *self.runs], capture_output=True,
                                      text=True, timeout=seconds, check=False)
            except subprocess.TimeoutExpired:
                return f"not asked in {seconds} s"
            if done.returncode not in (0, 2):
                return f"ended with {done.returncode}"
            answer.write_text(done.stdout)
        for line in answer.read_text().splitlines():
            cells = line.split("\t")
            if cells[0] == "base":
                self.base[int(cells[1])] = number_of(cells[2])
            elif cells[0] == "asked":
                self.asked[int(cells[1])].add(int(cells[2]))
            else:
                self.changed[int(cells[1]), cells[0], int(cells[2])] = number_of(cells[3])
        return None


def number_of(text):
    return None if text == "refused" else float(text)


def kit_questions(measured, kit):
    questions = []
    kinds = read_kinds()

    def link(kind, rate):
        return measured["links"].get(f"{rate}mbit" + ("-switch" if kind.ranks > 2 else ""), rate)

    for kind in kinds.values():
        folder, beside = folder_of(kind.program, kit), folder_of(kind.beside, kit) if kind.beside else None
        if not folder or (kind.beside and not beside):
            continue
        changes, cases = [], []
        for latency in LATENCIES_MS:
            for rate in RATES_MBIT:
                words = [f"jobs={beside}"] if beside else []
                if rate != BASE[0]:
                    words.append(f"bandwidth={link(kind, rate) / link(kind, BASE[0]):.4g}x")
                if latency != BASE[1]:
                    words.append(f"latency=+{latency - BASE[1]:g}ms")
                medians = [statistics.median(run["steps_ms"]) for run in measured["runs"] if run["kind"] == kind.name and
                           (run["rate_mbit"], run["latency_ms"], run.get("work", 1)) == (rate, latency, 1)]
                changes.append(" ".join(words))
                cases.append((kind.half, statistics.median(medians)) if medians else None)
        if not beside:
            changes += ["bucket_mb=1", "batch=2x", "cores=1", "scale:loader=0.5"]
        questions.append(Question(kind.name, [folder / f"r{rank}.tacho" for rank in range(kind.ranks)], changes, cases))
    return questions


def trace_questions(largest_mib):
    shared = pathlib.Path(os.environ.get("TACHO_SHARED") or SOURCE_DIR.parent / "shared") / "data"
    roots = [root for root in (SOURCE_DIR / "tests/data", shared) if root.is_dir()]
    return [Question(str(path.relative_to(root.parent.parent)), [path], CHANGES) for root in roots for path in candidates(root)
            if size_of(path) <= largest_mib * 2**20]


# --- what came out ----------------------------------------------------------------------------------


def effect(questions, number, scale):
    """A cell: of how many predictions that ask for the constant how many change, and by how much."""
    n_asked, changes, n_refused, n_answered = 0, [], 0, 0
    for question in questions:
        for line in question.asked.get(number, ()):
            before = question.base[line]
            after = question.changed.get((number, scale, line), before)
            n_asked += before is not None
            n_refused += before is not None and after is None
            n_answered += before is None and after is not None
            if before and after is not None and after != before:
                changes.append(100 * (after / before - 1))
    if n_asked + n_answered == 0:
        return "not asked for"
    parts = []
    if changes:
        most = max(changes, key=abs)
        parts.append(f"{len(changes)} of {n_asked}: {statistics.fmean(map(abs, changes)):.2g} %, {most:+.2g} % at most")
    else:
        parts.append(f"none of {n_asked}")
    if n_refused:
        parts.append(f"{n_refused} refused")
    if n_answered:
        parts.append(f"{n_answered} no longer refused")
    return "; ".join(parts)


def kit_errors(questions, half, number=None, scale=None):
    """(errors in % of the same configuration, of changed ones) of a half of the kit."""
    same, other = [], []
    for question in questions:
        for line, case in enumerate(question.cases):
            if not case or case[0] != half:
                continue
            predicted = question.changed.get((number, scale, line), question.base.get(line))
            if predicted is not None:
                (other if line else same).append(abs(100 * (predicted / case[1] - 1)))
    return same, other


def summed(errors):
    return " | ".join(f"{statistics.fmean(values):.1f} ({max(values):.1f})" if values else "" for values in errors)


def kit_page(constants, questions):
    lines = ["", "## On both halves of the kit", "",
             "The mean error, and in brackets the worst, in % of what was measured, of what the model as it is now predicts",
             "from the kit's recordings ([validation-kit.md](validation-kit.md) has those of the kinds set aside as they were",
             "predicted before they were measured): *tuned*, the kinds that the model may be changed for, and *aside*, those that",
             "it was not changed for. A constant stands here if half of it or twice it changes one of these predictions by a",
             "thousandth. What brings the error down on one half and up on the other is chance, or fitted to that half.", "",
             "| constant | | tuned, same | changed | aside, same | changed |", "|---|---|---|---|---|---|",
             "| all as they are | | " + summed(kit_errors(questions, "tuned")) + " | " +
             summed(kit_errors(questions, "aside")) + " |"]
    for number, constant in enumerate(constants):
        shown = any(after is None or (question.base[line] and abs(after / question.base[line] - 1) > 1e-3)
                    for question in questions for (asked, _, line), after in question.changed.items()
                    if asked == number and line < len(question.cases))
        for scale, value in (("half", constant.half), ("twice", constant.twice)) if shown else ():
            lines.append(f"| {constant.name} | {value:.12g} | " + " | ".join(
                summed(kit_errors(questions, half, number, scale)) for half in ("tuned", "aside")) + " |")
    return "\n".join(lines) + "\n"


def ask_all(program, constants, questions, options):
    (program.parent / "constants").write_text("".join(
        f"{constant.value!r} {constant.half!r} {constant.twice!r}\n" for constant in constants))
    asked = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        answers = pool.map(lambda question: question.ask(program, options.seconds), questions)
        for question, why_not in zip(questions, answers):
            if why_not:
                print(f"{question.name}: {why_not}", flush=True)
            elif question.base:
                asked.append(question)
                print(f"{question.name}: {len(question.base)} predictions, {len(question.changed)} others", flush=True)
    return asked


def write(constants, questions):
    kit = [question for question in questions if question.cases]
    rows = [(constant.file, constant.name, constant.text, effect(questions, number, "half"), effect(questions, number, "twice"))
            for number, constant in enumerate(constants)]
    here = SOURCE_DIR / "validate"
    (here / "constants.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    n_predictions = sum(value is not None for question in questions for value in question.base.values())
    (here / "constants_head.md").write_text(
        "*Halved* and *doubled* say of how many predictions that ask for a constant how many change, by how much in the mean\n"
        f"of those, and at most. `validate/constants.py` asked for {n_predictions} predictions from {len(questions)} recordings,\n"
        f"of which {len(kit)} are the kit's. Of a share from a half to 1, *doubled* is half as far from 1; of a factor from 1 to 2,\n"
        "*halved* and *doubled* are of how far it is from 1. Empty: not asked, as what is cited or derived.\n")
    (here / "constants_kit.md").write_text(kit_page(constants, kit))
    subprocess.run([SOURCE_DIR / "tools/list-constants.sh", "--write"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", action="store_true", help="the kit's recordings alone; print their table, write nothing")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="with --kit: these constants alone")
    parser.add_argument("--values", nargs=2, type=float, help="with --only: in the place of half and twice")
    parser.add_argument("--work", type=pathlib.Path, default=SOURCE_DIR / "build/kit", help="where the kit's are unpacked")
    parser.add_argument("--largest", type=float, default=0.2, metavar="MIB", help="leave larger traces out")
    parser.add_argument("--seconds", type=int, default=600, help="for each recording")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    constants = [constant for constant in read_constants() if not options.only or constant.name in options.only]
    for constant in constants if options.values else ():
        constant.half, constant.twice = options.values
    if (options.only and not options.kit) or (options.values and not options.only) or not constants:
        parser.error("--only goes with --kit, --values with --only, and the names are those of constants")
    measured = json.loads((SOURCE_DIR / "validate/kit/measured.json").read_text())
    questions = kit_questions(measured, options.work) + ([] if options.kit else trace_questions(options.largest))
    folder = scratch_folder(constants)
    folder.mkdir(parents=True, exist_ok=True)
    program = build(constants, folder)
    print(f"{len(constants)} constants, {len(questions)} recordings or folders", flush=True)
    answered = ask_all(program, constants, questions, options)
    if options.kit:
        print(kit_page(constants, answered))
    else:
        write(constants, answered)
    return 0


if __name__ == "__main__":
    sys.exit(main())
