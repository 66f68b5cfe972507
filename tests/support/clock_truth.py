"""For tests: runs whose clocks are known, since all of their ticks are those of one machine.

What a trace's metadata declares of its clock can be right or wrong without any record in it changing.
So of one recording there are two readings: one that declares the truth, and one that declares a clock of
another host that is off. What tacho makes of the second is held against the first, within what tacho
itself claims; nothing here depends on how fast the machine was.
"""

import glob
import json
import re
import subprocess
from fractions import Fraction

CLOCK = re.compile(rb"\b(freq|offset_s|offset) = (\d+);")
MACHINE = re.compile(rb'\b(hostname|boot_id) = "([^"]*)";')


class Metadata:
    """What a process's trace says of its clock and machine."""

    def __init__(self, path):
        self.path = path
        self.text = open(path, "rb").read()
        self.rank = self.integer("rank")
        self.clock = {key.decode(): int(value) for key, value in CLOCK.findall(self.text)}
        self.machine = {key.decode(): value.decode() for key, value in MACHINE.findall(self.text)}
        assert len(self.clock) == 3 and len(self.machine) == 2, path

    def integer(self, key):
        return int(re.search(rb"\b%s = (-?\d+);" % key.encode(), self.text)[1])

    def write(self):
        text = CLOCK.sub(lambda m: b"%s = %d;" % (m[1], self.clock[m[1].decode()]), self.text)
        text = MACHINE.sub(
            lambda m: b'%s = "%s";' % (m[1], self.machine[m[1].decode()].encode()), text)
        open(self.path, "wb").write(text)

    def line(self):
        """Nanoseconds since the epoch at tick 0, and of a tick (docs/trace-format.md)."""
        per_tick = Fraction(10**9, self.clock["freq"])
        return self.clock["offset_s"] * 10**9 + self.clock["offset"] * per_tick, per_tick


def read(*runs):
    """The metadata of the runs' processes, by rank."""
    paths = [path for run in runs for path in glob.glob(run + "/*/metadata")]
    return {metadata.rank: metadata for metadata in map(Metadata, paths)}


def error_line(truth, declared):
    """(base, rate): what `declared` calls base + t * rate is t, in nanoseconds since the epoch, where
    both tell the time of the same ticks."""
    at_0, per_tick = truth.line()
    declared_at_0, declared_per_tick = declared.line()
    rate = declared_per_tick / per_tick
    return declared_at_0 - at_0 * rate, rate


def ask(tacho, command, runs, *options):
    return json.loads(subprocess.run([tacho, command, *runs, *options, "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)


def check_clock(clock, origin_ns, reference, error, evidence):
    """A clock of a run was aligned, to the truth."""
    base, rate = error
    true_ms = float((base + origin_ns * rate - origin_ns) / 10**6)
    true_ppm = float((rate - 1) * 10**6)
    print(f"offset {true_ms:.6f} ms, found {clock['offset_ms']:.6f} ± {clock['uncertainty_us']:.1f} "
          f"us ({clock['inner_uncertainty_us']:.1f} us within); drift {true_ppm:.3f} ppm, found "
          f"{clock['drift_ppm']:.3f} ± {clock['drift_uncertainty_ppm']:.3f}; {clock['bounds']} bounds")
    assert clock["relative_to"] == reference["host"], clock
    # who came last to collectives, and so what they bound, is up to the machine
    assert clock["from"] in (evidence, f"collectives and {evidence}"), clock
    assert clock["bounds"] > 20 and clock["contradicted"] == 0, clock
    assert clock["inner_uncertainty_us"] <= clock["uncertainty_us"] < abs(true_ms) * 500, clock
    # a microsecond in 10^8 is what a double has left of the largest offset
    assert abs(clock["offset_ms"] - true_ms) * 1000 <= clock["uncertainty_us"] + 1e-3, clock
    assert abs(clock["drift_ppm"] - true_ppm) <= clock["drift_uncertainty_ppm"], clock


def check_clocks(info, errors, evidence):
    """The clocks of all ranks but the first were aligned to its clock. Returns them, by rank."""
    reference, clocks = info["clocks"][0], {int(clock["ranks"]): clock for clock in info["clocks"]}
    assert reference["from"] == "reference" and reference["offset_ms"] == 0, reference
    assert sorted(clocks) == [0, *sorted(errors)], clocks
    for rank, error in errors.items():
        check_clock(clocks[rank], info["start_unix_ns"], reference, error, evidence)
    return clocks


def worst_ms(clocks):
    """How wrong times of two ranks can be against each other."""
    return sum(sorted(clock["uncertainty_us"] for clock in clocks.values())[-2:]) / 1000 + 1e-3


def check_steps(steps, true_steps, clocks, origin_off_ms, calls):
    """Each moment of each step is where it was, give or take the uncertainty."""
    off_ms = worst_ms(clocks)
    assert len(steps) == len(true_steps) > 0
    for step, true in zip(steps, true_steps):
        # Both ends of an interval of one rank move alike, but for what drift is left.
        drift_ppm = clocks[true["rank"]]["drift_uncertainty_ppm"]
        left_ms = drift_ppm * 1e-6 * true["duration_ms"] + 1e-3
        for key in "step", "rank", "state":
            assert step[key] == true[key], (step, true)
        assert abs(step["start_ms"] + origin_off_ms - true["start_ms"]) <= off_ms, (step, true)
        assert abs(step["duration_ms"] - true["duration_ms"]) <= left_ms, (step, true)
        if step["state"] != "steady":
            continue
        assert abs(step["compute_ms"] - true["compute_ms"]) <= left_ms, (step, true)
        # Where a collective's waiting ends and its transfer begins is another rank's moment.
        for key in "wait_ms", "communication_ms", "exposed_communication_ms", "idle_ms":
            assert abs(step[key] - true[key]) <= left_ms + calls * off_ms, (key, step, true)


def check_replay(replay, true_replay, off_ms, calls):
    """The step replayed is that of the truth; a rank's own step is as long on any clock."""
    assert abs(replay["measured_step_ms"] / true_replay["measured_step_ms"] - 1) < 1e-3
    for key in "baseline_step_ms", "predicted_step_ms":
        assert abs(replay[key] - true_replay[key]) <= calls * off_ms, (key, replay, true_replay)


def check(tacho, declared, truth, errors, evidence):
    """The runs `declared` tell what the runs `truth` tell, and how wrong the clocks of ranks are: `errors`, by rank."""
    info, true_info = ask(tacho, "info", declared), ask(tacho, "info", truth)
    assert len(true_info["clocks"]) == 1, true_info["clocks"]
    clocks = check_clocks(info, errors, evidence)
    for key in "ranks", "steps", "events", "dropped_events", "kinds":
        assert info[key] == true_info[key], (key, info[key], true_info[key])

    comm, true_comm = (ask(tacho, "report", runs, "--view", "comm") for runs in (declared, truth))
    assert len(comm) == len(true_comm) > 0
    for key in "name", "group", "ranks", "count", "bytes":
        assert sorted(str(row[key]) for row in comm) == sorted(str(row[key]) for row in true_comm)
    steps, true_steps = (ask(tacho, "report", runs, "--view", "step") for runs in (declared, truth))
    calls = sum(row["calls_per_step"] for row in true_comm) + 1
    check_steps(steps, true_steps, clocks,
                (info["start_unix_ns"] - true_info["start_unix_ns"]) / 1e6, calls)
    ops, true_ops = (ask(tacho, "report", runs, "--view", "op") for runs in (declared, truth))
    assert sorted((row["name"], row["phase"], row["count"]) for row in ops) == sorted(
        (row["name"], row["phase"], row["count"]) for row in true_ops)
    replay, true_replay = (ask(tacho, "replay", runs) for runs in (declared, truth))
    check_replay(replay, true_replay, worst_ms(clocks), calls)
