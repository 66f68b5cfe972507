"""A framework's own profiler (XLA's, of TensorFlow and JAX), run for some steps and laid into the run.

The profile is an XSpace, in traces/HOST-PID-N/ of the run, beside trace.ini, which says whose it is.
Which steps: those of --steps, as the agent counts them; without it, those after the first two (in
which programs are compiled), until there are 20, or for 10 s, but 3 at least: profilers keep all
events in memory until they are stopped.

(1) One profiler can run in a process at a time. Before the job starts one, this one is stopped
    (give_way); where the job's is running, this one waits for a later step.
(2) A folder appears under its name when it is whole.
"""

import atexit
import mmap
import os
import shutil
import threading
import time

from . import agent

_FIRST = 2
_STEPS = 20
_LEAST_STEPS = 3
_SECONDS = 10

TRACES = "traces"  # trace/trace_layout.h: TRACE_ADDED_FOLDER
FACTS = "trace.ini"  # TRACE_ADDED_FILE
_START_TIME = b"profile_start_time"  # a stat of XSpaces
_ANCHOR = "tacho_clock"
_ANCHORS = 4


def host():
    return os.environ.get("TACHO_TEST_HOST") or os.uname().nodename


def signal_path(name):
    """Where processes of a run that have steps tell those that have none what to do."""
    return os.path.join(os.environ["TACHO_RUN_DIR"], TRACES, name)


def signal(name):
    os.makedirs(os.path.dirname(signal_path(name)), 0o700, exist_ok=True)
    os.close(os.open(signal_path(name), os.O_WRONLY | os.O_CREAT, 0o600))


def write_facts(folder, facts):
    """Say in `folder` whose trace it has, and what `facts`, key -> value, say of it."""
    lines = ["[trace]", "host=%s" % host(), "pid=%d" % os.getpid()]
    lines += ["%s=%s" % (key, str(value).replace("\n", " ")) for key, value in facts.items()]
    with open(os.path.join(folder, FACTS), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def draw_anchor(draw):
    """Have draw(name) draw regions in the profile that has just been started: the first takes long. Returns when
    the middle of the last was."""
    for _ in range(_ANCHORS):
        before_ns = time.time_ns()
        draw(_ANCHOR)
        middle_ns = (before_ns + time.time_ns()) // 2
    return middle_ns


def anchor_facts(path, anchor_ns):
    """What trace.ini says of an XSpace with that anchor: nothing where it tells itself when its times begin, as those of
    TensorFlow from 2.16 on do."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as space:
            if space.find(_START_TIME) >= 0:
                return {}
    except (OSError, ValueError):  # there is none, or it is empty
        return {}
    return {"anchor": _ANCHOR, "anchor_ns": anchor_ns}


def lay_in(write, facts):
    """Lay what write(path) writes, an XSpace, into the run, with what `facts`, key -> value, say of it, and
    what it returns."""
    traces = os.path.join(os.environ["TACHO_RUN_DIR"], TRACES)
    name = "%s-%d" % (host(), os.getpid())
    number = 0
    unfinished = os.path.join(traces, ".%s-unfinished" % name)
    shutil.rmtree(unfinished, ignore_errors=True)  # of an earlier one that failed
    os.makedirs(unfinished, 0o700)
    told = write(os.path.join(unfinished, "profile.xplane.pb"))
    write_facts(unfinished, {**facts, **(told or {})})
    while os.path.exists(os.path.join(traces, "%s-%d" % (name, number))):
        number += 1
    os.rename(unfinished, os.path.join(traces, "%s-%d" % (name, number)))


class Window:
    """Runs `profiler` for the steps that are wanted. A profiler has start(), which raises where another
    one runs, stop(path), which writes the XSpace there unless it is None and returns what trace.ini says of
    it (or None), and begin_step(number) and end_step(), called while it runs; its AFTER is how many more
    steps it must see begin after the last.
    `facts()` gives what trace.ini says beside the process and the steps."""

    def __init__(self, profiler, facts=dict):
        self.profiler = profiler
        self.facts = facts
        self.lock = threading.RLock()
        self.is_running = False
        self.is_over = False
        self.is_asked_for = False
        self.n_ended = 0  # steps, as the agent was told
        self.first = 0  # step that is in the profile
        self.last = 0  # that has begun
        self.end = None  # the first that is not wanted any more
        self.start_s = 0.0
        self.counts_steps = agent.counts_steps()
        if self.counts_steps:
            self.is_asked_for = True
            agent.watch_recording(self._ask)
        os.register_at_fork(after_in_child=self._leave)
        atexit.register(self.give_way)

    def _ask(self, is_recording):
        self.is_asked_for = is_recording

    def _leave(self):
        """A forked child: the profiler's threads are not in it."""
        self.is_over = True
        self.is_running = False

    def _choose(self, number):
        """Whether step `number` is wanted where nobody has said which are."""
        n = number - self.first
        if not self.is_running:
            return number >= _FIRST
        seconds = time.monotonic() - self.start_s
        return n < _STEPS and (n < _LEAST_STEPS or seconds < _SECONDS)

    def _is_wanted(self, number):
        if not self.counts_steps:
            return self._choose(number)
        while self.n_ended < number:
            self.n_ended += 1
            agent.step_end()
        return self.is_asked_for

    def begin_step(self, number):
        """Step `number` begins, and the one before it ends."""
        with self.lock:
            if self.is_over or not agent.records_all():
                return
            self.last = number
            if self.is_running:
                self.profiler.end_step()
            is_wanted = self._is_wanted(number)
            if self.is_running and not is_wanted:
                self._end(number)
            elif is_wanted and not self.is_running:
                self._start(number)
            if self.is_running:
                self.profiler.begin_step(number)

    def _end(self, number):
        """The last step has ended, but its profiler may need to see how the next one begins."""
        if self.end is None:
            self.end = number
        if number >= self.end + self.profiler.AFTER:
            self._stop(self.end)
            self.is_over = not self.counts_steps

    def restart(self):
        """What was counted were no steps: begin anew, without what was recorded."""
        with self.lock:
            if self.is_running:
                self.is_running = False
                self.profiler.stop(None)
            self.is_over = False

    def _start(self, number):
        try:
            self.profiler.start()
        except Exception:
            return  # the job's own is running: (1)
        self.is_running = True
        self.first = number
        self.end = None
        self.start_s = time.monotonic()
        agent.mark("profiler", number, 1, "start")
        signal(".profiling")

    def _stop(self, end):
        """Steps from `first` up to `end`, which has not begun or is not whole, are in the profile."""
        self.is_running = False
        agent.mark("profiler", self.first, 0, "stop")
        signal(".profiled")
        lay_in(
            self.profiler.stop,
            {"first_step": self.first, "steps": end - self.first, **self.facts()},
        )

    def give_way(self):
        """Stop at once: the job wants to profile, or ends."""
        with self.lock:
            if not self.is_running:
                return
            try:
                self.profiler.end_step()
                self._stop(self.last if self.end is None else self.end)
            except Exception:
                pass


class ModuleInPlace:
    """Stands for a module, but for the attributes that it is given."""

    def __init__(self, module, **own):
        self.__dict__.update(_module=module, **own)

    def __getattr__(self, name):
        return getattr(self._module, name)

    def __setattr__(self, name, value):
        setattr(self._module, name, value)


class ProfilerModule(ModuleInPlace):
    """Stands for a module that makes profiling sessions, and tells before the job has one made. Attributes
    are looked up without a frame of this file in the job's tracebacks."""

    def __init__(self, module, tell):
        super().__init__(module, _tell=tell)

    def __getattr__(self, name):
        if name == "ProfilerSession":
            self._tell()
        return getattr(self._module, name)
