#!/usr/bin/env python3
"""Mutation testing: does some test fail when a line of the source is wrong?

    mutate.py                                       50 mutants of each stage, drawn by seed 1
    mutate.py --stages graph --count 20 --seed 7
    mutate.py --files 'src/*/ring_steps.c' --count 0        all of a file

A mutant is drawn by chance, compiled, and put in the place of its object (test_bed.py); then the tests that reach its line run,
the cheapest first, until one fails. What came of each is kept in build/mutation/results.jsonl, so that a run that was stopped
goes on where it was, and after a change of tests only survivors are tried again. The source is never changed.

A mutant that the compiler refuses, or makes the same code of, is not counted, and another is drawn. Those that survive are
listed. tests/mutation/survivors.txt explains those that are known. Exit 1: fewer than --least percent have died, or one
that survived is not explained and --explained was given.
"""
import argparse
import dataclasses
import fcntl
import json
import os
import pathlib
import random
import re
import subprocess
import sys

import mutants
import test_bed

SOURCE_DIR = test_bed.SOURCE_DIR
STAGES = ["correlate", "analyze", "graph", "edit", "replay", "predict"]
KILLED = ("killed", "sanitizer")
COUNTED = KILLED + ("survived", "not reached")


def say(text):
    print(text, file=sys.stderr, flush=True)


class Results:
    """A line of JSON for each mutant that was tried; the last one of a mutant counts."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except ValueError:
                    continue  # cut
                self.known[record["id"]] = record

    def keep(self, record):
        self.known[record["id"]] = record
        with open(self.path, "a", encoding="utf-8") as opened:
            opened.write(json.dumps(record) + "\n")


class Explanations:
    """survivors.txt: blocks of `file: function`, `- before`, `+ after` and a reason."""

    def __init__(self, path):
        self.reasons, self.used = {}, set()
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
        for block in re.split(r"\n\s*\n", text.strip()):
            if not block.strip():
                continue
            found = re.fullmatch(r"\S+: (\w+)\n- ([^\n]*)\n\+ ([^\n]*)\n((?:equivalent|untested): .+)", block.strip(), re.DOTALL)
            if not found:
                raise SystemExit(f"mutate.py: {path.name}: not a place, two lines and a reason:\n{block}")
            function, before, after, reason = found.groups()
            self.reasons[function, before.strip(), after.strip()] = " ".join(reason.split())

    def reason(self, record):
        return self.reasons.get((record["function"], record["before"], record["after"]), "")


class Trial:
    def __init__(self, bed, options, code_lines):
        self.bed, self.options, self.code_lines = bed, options, code_lines
        self.originals = {}  # (file, options): object code
        self.kills = {}  # (file, test): mutants of this file that it has killed

    def of(self, mutant):
        file = SOURCE_DIR / mutant.file
        text = self.options.texts[mutant.file]  # as it was when the mutant was drawn
        changed = mutant.apply(text)
        compiled = self.bed.scratch / "mutant.o"
        try:
            self.bed.compile(file, changed, ["-O1", "-ftrivial-auto-var-init=pattern", *test_bed.REFUSED], compiled)
        except test_bed.Refused:
            return {"status": "refused"}
        tests = self._tests_of(mutant)
        self.bed.use([compiled])
        record = self._try(mutant, tests, {}, "killed")
        if record:
            return record
        if self._code(file, changed) == self._code(file, text):
            return {"status": "same code"}
        if not tests:
            return {"status": "not reached"}
        return self._with_sanitizers(mutant, file, text, changed, tests) or {"status": "survived"}

    def _tests_of(self, mutant):
        name = test_bed.name_of(SOURCE_DIR / mutant.file)
        has_code = self.code_lines.get(name, 0)
        line = mutant.line
        while line > mutant.statement_line and not has_code >> line & 1:
            line -= 1
        if not has_code >> line & 1:  # a table that is static has none: the code behind it
            line = mutant.line
            while has_code >> line > 0 and not has_code >> line & 1:
                line += 1
        tests = [test for test in self.bed.tests if test.lines.get(name, 0) >> line & 1]
        # Those that have killed others of this file come first.
        tests.sort(key=lambda test: (test.seconds + 0.01) / (1 + self.kills.get((mutant.file, test.name), 0)))
        chosen, total = [], 0
        for test in tests:
            total += test.seconds
            if total > self.options.budget and chosen:
                break
            chosen.append(test)
        return chosen

    def _try(self, mutant, tests, changes, status, patience=5, **more):
        for test in tests:
            failure = self.bed.run(test, patience * test.seconds + 2, changes, **more)
            if failure:
                key = (mutant.file, test.name)
                self.kills[key] = self.kills.get(key, 0) + 1
                return {"status": status, "by": test.name, "how": failure}
        return None

    def _code(self, file, text):
        """What the compiler makes of it in a build that is shipped."""
        key = (file, text)
        if key not in self.originals:
            output = self.bed.scratch / "code.o"
            self.bed.compile(file, text, ["-O2", "-w"], output)
            self.originals[key] = output.read_bytes()
        return self.originals[key]

    def _with_sanitizers(self, mutant, file, text, changed, tests):
        """The project's tests run under the address and undefined behaviour sanitizers too; here the one file does."""
        preload = [test_bed.checked(["cc", f"-print-file-name={name}"]).strip() for name in ("libasan.so", "libubsan.so")]
        changes = {"LD_PRELOAD": " ".join(preload), "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1"}
        flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        programs = [test for test in tests if not test.is_script][: self.options.sanitized]
        compiled = self.bed.scratch / "sanitized.o"
        unlimited = {"memory": test_bed.resource.RLIM_INFINITY, "patience": 30}
        self.bed.compile(file, changed, ["-O1", "-g", "-w", *flags], compiled)
        self.bed.use([compiled], flags)
        record = self._try(mutant, programs, changes, "sanitizer", **unlimited)
        if record:  # but not of the code as it is
            self.bed.compile(file, text, ["-O1", "-g", "-w", *flags], compiled)
            self.bed.use([compiled], flags)
            killer = [test for test in programs if test.name == record["by"]]
            if self._try(mutant, killer, changes, "sanitizer", **unlimited):
                say(f"{record['by']} fails under sanitizers without a mutant")
                return None
        return record


def draw(options):
    """{stage: its mutants, in the order of chance}"""
    drawn = {}
    options.texts = {}
    for stage in options.stages:
        folder = SOURCE_DIR / "src" / stage
        files = sorted(folder.rglob("*.c"))
        if options.files:
            files = [file for file in files if any(file.match(pattern) for pattern in options.files)]
        every = []
        for file in files:
            name = str(file.relative_to(SOURCE_DIR))
            options.texts[name] = file.read_text(encoding="utf-8")
            every += mutants.mutants_of(name, options.texts[name])
        random.Random(f"{options.seed} {stage}").shuffle(every)
        drawn[stage] = (files, every)
    return drawn


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--stages", default=",".join(STAGES), help="folders of src/, between commas")
    parser.add_argument("--files", action="append", metavar="PATTERN", help="only files like this, 'src/*/ring_*.c'")
    parser.add_argument("--count", type=int, default=50, help="mutants of each stage; 0: all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--json", metavar="FILE", help="write what came of each mutant")
    parser.add_argument("--list", action="store_true", help="only list the mutants that are drawn")
    parser.add_argument("--again", action="store_true", help="try all, also those that are known")
    parser.add_argument("--samples", action="store_true", help="with the traces in ../shared/data, which not everybody has")
    parser.add_argument("--budget", type=float, default=12, help="seconds of tests for a mutant at most, the cheapest first")
    parser.add_argument("--sanitized", type=int, default=5, help="test programs to run under sanitizers for a survivor")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT")
    parser.add_argument("--explained", action="store_true", help="fail where a survivor is not in survivors.txt")
    parser.add_argument("--build", default="build/default", help="folder in which the project was built")
    options = parser.parse_args(words)
    options.stages = options.stages.split(",")
    return options


def try_stage(stage, every, trial, results, options, tests_digest):
    counted, tried = 0, []
    for mutant in every:
        if options.count and counted == options.count:
            break
        known = results.known.get(mutant.id)
        is_final = known and (known["status"] in ("killed", "sanitizer", "refused", "same code") or known["tests"] == tests_digest)
        if not is_final or options.again:
            known = dataclasses.asdict(mutant) | {"stage": stage, "tests": tests_digest} | trial.of(mutant)
            results.keep(known)
        # Where the line stands now, also of one that is known.
        tried.append(known)
        counted += known["status"] in COUNTED
        if known["status"] in ("survived", "not reached"):
            say(f"{stage} {counted}: {mutant.file}:{mutant.line}: {known['status']}\n  - {mutant.before}\n  + {mutant.after}")
        elif counted % 10 == 0 and known["status"] in COUNTED:
            say(f"{stage} {counted}")
    return tried


def report(tried, explanations):
    """Print the survivors and the table. Returns the percentage that died, and how many survived unexplained."""
    alive = [record for record in tried if record["status"] in ("survived", "not reached")]
    unexplained = 0
    for record in alive:
        reason = explanations.reason(record)
        unexplained += not reason
        print(f"{record['file']}: {record['function']}\n- {record['before']}\n+ {record['after']}")
        print(f"{reason or record['status'] + ', line ' + str(record['line'])}\n")
    print("| stage | mutants | died | of these by sanitizers only | survived | of these equivalent | not explained | died % |")
    print("|---|---|---|---|---|---|---|---|")
    stages = [stage for stage in STAGES if any(record["stage"] == stage for record in tried)]
    stages += sorted({record["stage"] for record in tried} - set(stages))
    share = 0
    for stage in [*stages, "all"]:
        here = [record for record in tried if stage in (record["stage"], "all") and record["status"] in COUNTED]
        died = [record for record in here if record["status"] in KILLED]
        left = [explanations.reason(record) for record in here if record["status"] not in KILLED]
        share = 100 * len(died) / len(here) if here else 100
        print(f"| {stage} | {len(here)} | {len(died)} | {sum(one['status'] == 'sanitizer' for one in died)} | {len(left)} "
              f"| {sum(reason.startswith('equivalent') for reason in left)} | {left.count('')} | {share:.1f} |")
    refused = sum(record["status"] == "refused" for record in tried)
    same = sum(record["status"] == "same code" for record in tried)
    print(f"\nNot counted: {refused} that the compiler refused, {same} of which it made the same code.")
    return share, unexplained


def main(words):
    options = parse(words)
    drawn = draw(options)
    if options.list:
        for _, every in drawn.values():
            for mutant in every[: options.count or None]:
                print(f"{mutant.file}: {mutant.function}: {mutant.kind}\n- {mutant.before}\n+ {mutant.after}\n")
        return 0
    os.nice(10)
    build = (SOURCE_DIR / options.build).resolve()
    if not (build / "build.ninja").exists():
        raise SystemExit("mutate.py: nothing is built. First:  tools/build.sh default")
    bed = test_bed.TestBed(build, options.samples)
    bed.work.mkdir(exist_ok=True)
    with open(bed.work / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit("mutate.py: another one is running here") from None
        try:
            bed.prepare(say)
            # All stages, so that what was measured serves the next run too.
            files = {file for stage in STAGES for file in (SOURCE_DIR / "src" / stage).rglob("*.c")}
            files.update(file for stage_files, _ in drawn.values() for file in stage_files)
            code_lines = bed.measure(sorted(files), say)
            digest = test_bed.hashlib.sha256("".join(test.digest for test in bed.tests).encode()).hexdigest()[:16]
            trial = Trial(bed, options, code_lines)
            results = Results(bed.work / "results.jsonl")
            tried = []
            for stage, (_, every) in drawn.items():
                tried += try_stage(stage, every, trial, results, options, digest)
        except KeyboardInterrupt:
            bed.stop()
            say("mutate.py: stopped; the same command goes on from here")
            return 130
        finally:
            bed.stop()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as output:
            json.dump(tried, output, indent=1)
    share, unexplained = report(tried, Explanations(test_bed.HERE / "survivors.txt"))
    return int(share < options.least or (options.explained and unexplained > 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
