"""The project's tests, linked so that one source file of the library can be replaced without linking them again.

The library and each test program are linked once more into build/mutation, from the objects of build/default:

    test_x -> libmutant.so, then liblibrary.so

The loader takes a function from the first library that has it. So a mutant is one object, linked as libmutant.so, and all
other code calls the functions of that one. With none, libmutant.so is empty. Nothing outside build/mutation is written.
"""
import bisect
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCE_DIR = HERE.parent.parent
TESTS = re.compile(r"^(unit|cli)/")
# They run the agent, compilers or jobs, or look at documents: nothing that the library could change.
OTHER_TESTS = re.compile(r"^unit/agent|^cli/(record|help|docs)/")
# A variable that is not set is a mistake that the compiler tells everybody; such a mutant is not one.
REFUSED = ["-w", "-Wuninitialized", "-Wmaybe-uninitialized", "-Wreturn-type", "-Wdiv-by-zero"]
MEMORY = 8 << 30
OUTPUT = 64 << 30  # tests make files with holes
CALL_BYTES = 5  # of x86-64; on other processors a block's first line may be taken for one of the block before


class Refused(Exception):
    """The compiler refuses the code."""


class Test:
    def __init__(self, name, command, environment, folder):
        self.name, self.command, self.environment, self.folder = name, command, environment, folder
        self.seconds = 0.0  # of the processor, without mutants
        self.lines = {}  # file name: the lines reached, a bit each
        self.digest = ""

    @property
    def is_script(self):
        return self.name.startswith("cli/")


def checked(command, folder=None):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Refused(done.stdout.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def is_newer(path, others):
    return path.exists() and all(path.stat().st_mtime_ns > other.stat().st_mtime_ns for other in others)


class TestBed:
    def __init__(self, build, with_samples):
        self.build = build
        self.work = build.parent / "mutation"
        self.mutant_library = self.work / "lib" / "libmutant.so"
        self.library = self.work / "lib" / "liblibrary.so"
        self.scratch = self.work / "scratch"
        self.no_samples = self.work / "no_samples"
        self.with_samples = with_samples
        self.running = None
        with open(build / "compile_commands.json", encoding="utf-8") as opened:
            self.commands = {entry["file"]: entry for entry in json.load(opened) if "/src/" in entry["file"]}

    # --- building -----------------------------------------------------------------------------------------------------

    def prepare(self, say):
        shutil.rmtree(self.scratch, ignore_errors=True)
        for folder in ("lib", "tests", "bin", "scratch", "no_samples"):
            (self.work / folder).mkdir(parents=True, exist_ok=True)
        for name in ("lib/tacho", "share"):
            link = self.work / name
            if not link.is_symlink() and (self.build / name).exists():
                link.symlink_to(self.build / name)
        self.tests = self._find_tests()
        self.use_none()
        archives = sorted((self.build / "src").rglob("libtacho_*.a"))
        newest = max(path.stat().st_mtime_ns for path in (SOURCE_DIR / "src").rglob("*.[ch]"))
        if not archives or newest > (self.build / "src/libtacho_core.a").stat().st_mtime_ns:
            raise SystemExit("mutate.py: build/default is older than src/. First:  tools/build.sh default")
        if not is_newer(self.library, archives):
            checked(["cc", "-shared", "-o", self.library, "-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive"])
        programs = sorted({self._program(test) for test in self.tests})
        for program in programs:
            target = self.work / program
            if not is_newer(target, [self.build / program]):
                say(f"linking {program}")
                self._link(program, target)

    def _program(self, test):
        return "bin/tacho" if test.is_script else "tests/" + pathlib.Path(test.command[0]).name

    def _link(self, program, target):
        lines = checked(["ninja", "-C", self.build, "-t", "commands", program]).splitlines()
        words = [word for word in shlex.split(lines[-1]) if word not in (":", "&&")]
        at = next(i for i, word in enumerate(words) if word.endswith("libtacho_core.a"))
        words[at : at + 1] = ["-Wl,--no-as-needed", str(self.mutant_library), str(self.library), f"-Wl,-rpath,{self.work}/lib"]
        words[words.index("-o") + 1] = str(target)
        checked(words, self.build)

    def _find_tests(self):
        listed = json.loads(checked(["ctest", "--test-dir", self.build, "--show-only=json-v1"]))
        tests = []
        for entry in listed["tests"]:
            if not TESTS.match(entry["name"]) or OTHER_TESTS.match(entry["name"]):
                continue
            properties = {one["name"]: one["value"] for one in entry.get("properties", [])}
            environment = dict(os.environ, TMPDIR=str(self.scratch))
            for change in properties.get("ENVIRONMENT_MODIFICATION", []):
                environment.pop(change.partition("=")[0], None)
            environment.update(word.split("=", 1) for word in properties.get("ENVIRONMENT", []))
            if "TACHO" in environment:
                environment["TACHO"] = str(self.work / "bin/tacho")
            if not self.with_samples:
                environment["TACHO_SHARED"] = str(self.no_samples)
            command = list(entry["command"])
            if not entry["name"].startswith("cli/"):
                command[0] = str(self.work / "tests" / pathlib.Path(command[0]).name)
            tests.append(Test(entry["name"], command, environment, properties.get("WORKING_DIRECTORY")))
        return tests

    def compile(self, file, text, options, output):
        """Compile `text`, which stands for the source file, into an object."""
        words = shlex.split(self.commands[str(file)]["command"])
        keep = [word for word in words[1:] if re.match(r"-[DIf]|-std|-isystem", word)]
        for i, word in enumerate(words):
            if word == "-isystem":
                keep[keep.index("-isystem")] = "-isystem" + words[i + 1]
        compiler = next(word for word in words if not word.endswith("ccache"))
        compiler = shutil.which(pathlib.Path(compiler).name) if "ccache" in compiler else compiler
        changed = self.scratch / name_of(file)
        changed.write_text(text, encoding="utf-8")
        checked([compiler, *keep, "-iquote", file.parent, *options, "-c", changed, "-o", output])

    def use(self, objects, options=()):
        """Link the objects as libmutant.so. It is replaced at once: a program that runs keeps the one it has."""
        fresh = self.mutant_library.with_suffix(".new")
        checked(["cc", "-shared", *options, "-o", fresh, *objects])
        fresh.rename(self.mutant_library)

    def use_none(self):
        self.use(["-x", "c", "/dev/null"])

    # --- running ------------------------------------------------------------------------------------------------------

    def run(self, test, seconds, changes=None, memory=MEMORY):
        """Returns why the test failed: "" if it passed, "exit 1", "signal 6", "time". `seconds`: of the processor."""

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        environment = dict(test.environment, **(changes or {}))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(self.scratch / "output", "wb") as output:
            self.running = subprocess.Popen(test.command, cwd=test.folder, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output, start_new_session=True, preexec_fn=limit)
            try:
                status = self.running.wait(10 * seconds + 20)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self.stop()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if status is None or status in (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU):
            return "time"
        if status == 77 and test.is_script:
            return ""
        return "" if status == 0 else f"signal {-status}" if status < 0 else f"exit {status}"

    def stop(self):
        """End whatever the test has left."""
        if self.running:
            try:
                os.killpg(self.running.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.running.wait()
            self.running = None

    # --- which test reaches which line --------------------------------------------------------------------------------

    def measure(self, files, say):
        """How long each test takes, and which lines of the files it reaches; tests that fail are left out. Returns which
        lines have code, by file name, a bit each."""
        compiled = self._compile_for_coverage(files, say)
        self.use(compiled)
        blocks = read_blocks(self.mutant_library)
        same = digest_of([self.mutant_library, self.library])
        kept = []
        for test in self.tests:
            test.digest = digest_of(self._what_makes(test))
            known = self.work / "coverage" / (test.name.replace("/", ".") + ".json")
            try:
                record = json.loads(known.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                record = {}
            key = same + test.digest + str(self.with_samples)
            if record.get("key") != key:
                say(f"measuring {test.name}")
                record = self._measure_test(test, blocks) | {"key": key}
                known.write_text(json.dumps(record), encoding="utf-8")
            if record["failure"]:
                say(f"{test.name} fails without a mutant ({record['failure']}) and is left out")
                continue
            test.seconds = record["seconds"]
            test.lines = {name: int(lines, 16) for name, lines in record["lines"].items()}
            kept.append(test)
        self.tests = kept
        self.use_none()
        return lines_of(blocks.values())

    def _compile_for_coverage(self, files, say):
        objects = self.work / "coverage"
        objects.mkdir(exist_ok=True)
        headers = [*(SOURCE_DIR / "src").rglob("*.h"), *(SOURCE_DIR / "include").rglob("*.h")]
        newest = max(headers, key=lambda path: path.stat().st_mtime_ns)
        runtime = objects / "reached_lines.o"
        checked(["cc", "-O2", "-fPIC", "-c", HERE / "reached_lines.c", "-o", runtime])
        compiled = [runtime]
        for file in files:
            compiled.append(objects / (name_of(file) + ".o"))
            if not is_newer(compiled[-1], [file, newest]):
                say(f"compiling {file.name}")
                options = ["-O0", "-g", "-w", "-fsanitize-coverage=trace-pc"]
                self.compile(file, file.read_text(encoding="utf-8"), options, compiled[-1])
        return compiled

    def _what_makes(self, test):
        if not test.is_script:
            return [self.work / self._program(test)]
        script = pathlib.Path(test.command[-1])
        return [self.work / self._program(test), script, script.with_suffix(".out")]

    def _measure_test(self, test, blocks):
        marks = self.scratch / "reached"
        with open(marks, "wb") as opened:
            opened.truncate(max(blocks, default=0) + 1)
        failure = self.run(test, 300, {"TACHO_REACHED": str(marks)})
        reached = marks.read_bytes()
        lines = lines_of(block for at, block in blocks.items() if reached[at])
        return {"failure": failure, "seconds": self.used, "lines": {name: hex(bits) for name, bits in lines.items()}}


def name_of(file):
    """A name that no other file of the source has."""
    return ".".join(pathlib.Path(file).relative_to(SOURCE_DIR / "src").parts)


def digest_of(paths):
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()[:16]


def lines_of(blocks):
    lines = {}
    for block in blocks:
        for name, line in block:
            lines[name] = lines.get(name, 0) | 1 << line
    return lines


def read_blocks(library):
    """{address behind the call that marks a basic block: set of (file name, line)}"""
    code = checked(["objdump", "-d", "--no-show-raw-insn", library])
    calls = sorted(int(at, 16) for at in re.findall(
        r"call\w*\s+[^\n]*__sanitizer_cov_trace_pc[^\n]*\n\s*([0-9a-f]+):", code))
    table = checked(["objdump", "--dwarf=decodedline", "--wide", library])
    rows = sorted((int(at, 16), name, int(line)) for name, line, at in re.findall(
        r"^(\S+\.c)\s+(\d+)\s+0x([0-9a-f]+)", table, re.MULTILINE))
    blocks = {at: set() for at in calls}
    begins = [at - CALL_BYTES for at in calls]
    for i, (at, name, line) in enumerate(rows):
        end = rows[i + 1][0] if i + 1 < len(rows) else at + 1
        j = max(bisect.bisect_right(begins, at) - 1, 0)
        while j < len(begins) and begins[j] < max(end, at + 1):
            blocks[calls[j]].add((name, line))
            j += 1
    return blocks
