#!/usr/bin/env python3
"""How much longer kernels take beside collectives, or beside kernels of other streams, in traces that others recorded.

    kernel_contention.py            print what each trace shows, and how well it tells other steps
    kernel_contention.py --all      with each class of each trace

gpu_traces.py writes the same into docs/validation-gpu.md. Nothing is measured. The traces are looked for as there.

A kernel's kind: its rank, name, blocks and threads, and the name and input shapes of the operation that launched it. Kernels of a
kind are compared as graph_contention.c does it: those of which some time lay beside what is asked for (another stream's collective,
or another stream's kernel, of the same device), and those of which none did. By how much the former lasted longer in all, over the
time that they lay beside it, is the share that was taken from them.

Step j is then told from step i: each kernel is given what the one of its kind in the same place took in step i, less the share of
the time that this one lay beside a collective, plus that of the time that it does in step j. The share is told by all steps but j.
Without a share, it is what it took in step i. Where there are no steps, each half of the trace is told from the other one: each kernel
from the mean of its kind.
"""
import argparse
import bisect
import collections
import os
import random
import statistics
import sys

LEAST_KERNEL_NS = 5000  # MIN_DEVICE_NS of src/graph/graph_contention.c, and so the others
LEAST_OF_A_KIND = 8
LEAST_COMPARED_NS = 5_000_000
STALL_TIMES = 8
MOST_TAKEN = 0.75
BESIDE = ("collectives", "kernels")
QUERY = """
SELECT s.rank AS rank, t.device AS device, s.track_id AS track, s.ts AS ts, s.dur AS dur, s.step AS step, s.category AS category,
  s.name AS name, kernel_class(s.id) AS class, kernel_blocks(s.id) AS blocks, kernel_block_threads(s.id) AS threads,
  op.name AS op, extract_arg(op.arg_set_id, 'inputs') AS inputs
FROM slice s JOIN track t ON t.id = s.track_id
LEFT JOIN slice call ON call.id = s.launch_id
LEFT JOIN slice op ON op.id = call.parent_id
WHERE t.type = 'gpu_track' AND s.category IN ('kernel', 'collective') AND NOT s.is_open
"""

Kernel = collections.namedtuple("Kernel", "kind kernel_class step dur_ns beside_ns")


# --- what lay beside what -------------------------------------------------------------------------


class Times:
    """Stretches of time, joined."""

    def __init__(self, rows):
        self.begins, self.ends = [], []
        for begin, end in sorted(rows):
            if self.ends and begin <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.begins.append(begin)
                self.ends.append(end)

    def within(self, begin, end):
        """How much of them lies in [begin, end)."""
        total, i = 0, bisect.bisect_right(self.ends, begin)
        while i < len(self.begins) and self.begins[i] < end:
            total += min(end, self.ends[i]) - max(begin, self.begins[i])
            i += 1
        return total


def is_collective(row):
    return row["category"] == "collective" or row["class"] == "collective"


def find_kernels(rows):
    """The kernels of a trace, [Kernel]; beside_ns has the time beside each of BESIDE."""
    by_device = collections.defaultdict(list)
    for row in rows:
        by_device[row["rank"], row["device"]].append(row)
    kernels = []
    for device, found in by_device.items():
        streams = sorted({row["track"] for row in found})
        times = {(stream, what): Times((row["ts"], row["ts"] + row["dur"]) for row in found if row["track"] != stream and
                                       is_collective(row) == (what == "collectives"))
                 for stream in streams for what in BESIDE}
        for row in sorted(found, key=lambda row: row["ts"]):
            if is_collective(row):
                continue
            kind = (*device, *(row[key] for key in ("name", "blocks", "threads", "op", "inputs")))
            beside = {what: times[row["track"], what].within(row["ts"], row["ts"] + row["dur"]) for what in BESIDE}
            kernels.append(Kernel(kind, row["class"] or "other", row["step"], row["dur"], beside))
    return kernels


# --- what was taken -------------------------------------------------------------------------------


def compare(kernels, what):
    """kind -> (class, time longer, time beside) of kinds of which enough were beside `what`, and enough beside nothing."""
    kinds = collections.defaultdict(lambda: ([], []))
    classes = {}
    for kernel in kernels:
        if kernel.dur_ns < LEAST_KERNEL_NS:
            continue
        classes[kernel.kind] = kernel.kernel_class
        if kernel.beside_ns[what]:
            kinds[kernel.kind][1].append(kernel)
        elif not any(kernel.beside_ns.values()):
            kinds[kernel.kind][0].append(kernel.dur_ns)
    compared = {}
    for kind, (free, beside) in kinds.items():
        if min(len(free), len(beside)) < LEAST_OF_A_KIND:
            continue
        limit = STALL_TIMES * statistics.median(free)
        usual = statistics.fmean(dur for dur in free if dur <= limit)
        beside = [kernel for kernel in beside if kernel.dur_ns <= limit]
        compared[kind] = (classes[kind], sum(kernel.dur_ns - usual for kernel in beside),
                          sum(kernel.beside_ns[what] for kernel in beside))
    return compared


def share_of(rows):
    """Of [(class, longer, beside)]: the share taken, not held within bounds; None: too little was compared."""
    beside = sum(row[2] for row in rows)
    return sum(row[1] for row in rows) / beside if beside >= LEAST_COMPARED_NS else None


def spread_of(rows):
    """The share's 5 and 95 % by drawing kinds at random, with a fixed seed."""
    draw = random.Random(1)
    shares = sorted(share for share in (share_of(draw.choices(rows, k=len(rows))) for _ in range(500)) if share is not None)
    return (shares[len(shares) // 20], shares[-1 - len(shares) // 20]) if shares else (None, None)


def shares_by_class(compared):
    """class -> share, where the class shows it by itself; and "" -> that of all together."""
    rows = list(compared.values())
    shares = {name: share_of([row for row in rows if row[0] == name]) for name in {row[0] for row in rows}}
    shares[""] = share_of(rows)
    return {name: min(max(share, 0), MOST_TAKEN) for name, share in shares.items() if share is not None}


# --- step j from step i ---------------------------------------------------------------------------

RULES = ("no share", "one share", "by class", "class alone")  # by class: else that of all; class alone: else none


def taken(rule, shares, kernel):
    if rule == "no share":
        return 0
    if rule == "one share":
        return shares.get("", 0)
    return shares.get(kernel.kernel_class, 0 if rule == "class alone" else shares.get("", 0))


def by_kind(kernels):
    """kind -> the kernels of it in their order."""
    kinds = collections.defaultdict(list)
    for kernel in kernels:
        kinds[kernel.kind].append(kernel)
    return kinds


def pair_up(before, after):
    """Each kernel of the one step with that in the same place of its kind in the other, where these have as many."""
    return [pair for kind, row in by_kind(after).items() if len(before[kind]) == len(row) for pair in zip(before[kind], row)]


def mean_of(kernels):
    """A kernel that is like those of one kind in the mean."""
    return kernels[0]._replace(dur_ns=statistics.fmean(kernel.dur_ns for kernel in kernels), beside_ns={
        what: statistics.fmean(kernel.beside_ns[what] for kernel in kernels) for what in BESIDE})


def errors_of(pairs, shares):
    """rule -> (sum of |error|, error of the sum, time), of kernels beside collectives for another time than those that they are told
    from; None: there are none."""
    pairs = [(a, b) for a, b in pairs if a.beside_ns["collectives"] != b.beside_ns["collectives"]]
    answer = {}
    for rule in RULES if pairs else ():
        errors = [a.dur_ns + taken(rule, shares, a) * (b.beside_ns["collectives"] - a.beside_ns["collectives"]) - b.dur_ns
                  for a, b in pairs]
        answer[rule] = (sum(map(abs, errors)), sum(errors), sum(b.dur_ns for _, b in pairs))
    return answer or None


def tell_halves(kernels):
    """Without steps: the kernels of either half of the trace from those of their kinds in the other, in the mean."""
    halves, answers = (kernels[:len(kernels) // 2], kernels[len(kernels) // 2:]), []
    for before, after in (halves, halves[::-1]):
        shares = shares_by_class(compare(before, "collectives"))
        usual = {kind: mean_of(row) for kind, row in by_kind(before).items()}
        answer = errors_of([(usual[kernel.kind], kernel) for kernel in after if kernel.kind in usual], shares)
        answers += [(bool(shares), answer)] if answer else []
    return answers


def tell_steps(kernels):
    """For each pair of steps, or of halves: (whether what is told from shows a share, {rule: errors})."""
    kernels = [kernel for kernel in kernels if kernel.dur_ns >= LEAST_KERNEL_NS]
    steps = collections.defaultdict(list)
    for kernel in kernels:
        if kernel.step is not None:
            steps[kernel.step].append(kernel)
    if not steps:
        return tell_halves(kernels)
    answers = []
    for j, after in steps.items():
        shares = shares_by_class(compare([kernel for kernel in kernels if kernel.step != j], "collectives"))
        for i, row in steps.items():
            answer = errors_of(pair_up(by_kind(row), after), shares) if i != j else None
            answers += [(bool(shares), answer)] if answer else []
    return answers


# --- tables ---------------------------------------------------------------------------------------


def look_at(tacho, data, runs):
    """name -> kernels, of the traces in which a device has kernels on several streams, or beside collectives."""
    found = {}
    for run in runs:
        rows = tacho.json("query", os.path.join(data, run), QUERY, "--format", "json")
        kernels = find_kernels(rows) if rows else []
        if any(kernel.beside_ns[what] for kernel in kernels for what in BESIDE):
            found[run] = kernels
    return found


def taken_rows(found, by_class=False):
    """[trace, what, class, kernels beside it, kinds, time beside it in ms, share %, 5 %, 95 %]"""
    rows = []
    for run, kernels in found.items():
        for what in BESIDE:
            n_beside = sum(kernel.beside_ns[what] > 0 and kernel.dur_ns >= LEAST_KERNEL_NS for kernel in kernels)
            compared = list(compare(kernels, what).values())
            names = ["all"] + (sorted({row[0] for row in compared}) if by_class else [])
            for name in names if n_beside else []:
                of_class = [row for row in compared if name in ("all", row[0])]
                share, (low, high) = share_of(of_class), spread_of(of_class)
                beside_ms = sum(row[2] for row in of_class) / 1e6
                rows.append([run, what, name, n_beside if name == "all" else None, len(of_class), beside_ms] +
                            [None if value is None else 100 * value for value in (share, low, high)])
    return rows


def told_rows(found):
    """[trace, half, pairs of steps, with a share, time in ms, mean |error| of a kernel in % for each of RULES, error of their sum]"""
    rows = []
    for number, (run, kernels) in enumerate(found.items()):
        answers = tell_steps(kernels)
        if not answers:
            continue
        total = sum(answer[RULES[0]][2] for _, answer in answers)
        rows.append([run, "aside" if number % 2 else "looked at", len(answers), sum(has for has, _ in answers), total / 1e6] +
                    [100 * sum(answer[rule][0] for _, answer in answers) / total for rule in RULES] +
                    [100 * sum(abs(answer[rule][1]) for _, answer in answers) / total for rule in RULES])
    return rows


TAKEN_HEADS = ["trace", "beside", "class", "kernels", "kinds compared", "ms beside it", "share taken %", "5 %", "95 %"]
TAKEN_FORMATS = ["", "", "", "", "", ".2f", ".1f", ".1f", ".1f"]
TOLD_HEADS = (["trace", "half", "pairs", "of which show a share", "ms"] + [f"each kernel: {rule} %" for rule in RULES] +
              [f"all of a step: {rule} %" for rule in RULES])
TOLD_FORMATS = ["", "", "", "", ".1f"] + [".2f"] * 2 * len(RULES)


def write_section(table, found, out):
    """What docs/validation-gpu.md says of it; `table` as gpu_traces.py has it."""
    out.write("""
## What collectives take from kernels beside them

A collective of devices is a kernel that takes processors and memory bandwidth from kernels beside it on other streams. The replay reads
off a recording how much ([replay.md](replay.md#collectives)). Here `validate/kernel_contention.py` does the same apart from the program, of
every trace in which a device has kernels of several streams at once: it compares kernels of one kind (rank, name, blocks and
threads, and the name and input shapes of the operation that launched them) that lay beside a collective, or beside a kernel, of
another stream with those that lay beside neither. The share taken is by how much the former lasted longer, of the time that they lay
beside it; 5 and 95 % are of kinds drawn at random. It is empty where less than 5 ms can be compared, in which case the replay takes nothing; negative shares count as none.

""")
    out.write(table(TAKEN_HEADS, taken_rows(found, True), TAKEN_FORMATS))
    out.write("""
Then each step is told from each other one, for the kernels that lie beside collectives for longer or shorter in the one than in the
other: each is given what the one of its kind in the same place took, less the share of the time that this lay beside a collective, plus
that of the time that it does itself. The share is told by all steps but the one that is to be told. Where there are no steps, the kernels
of each half of the trace are told from the means of the other half. *Each kernel*: the mean error of a kernel, *all of a step*: that
of their sum, of their time. *Class*: a class of kernels that shows a share by itself has that, and all others that of all (*by class*,
as the replay does), or none (*class alone*). The halves are every other trace; the rule was written before either was looked at, and
not changed since.

""")
    rows = told_rows(found)
    out.write(table(TOLD_HEADS, rows, TOLD_FORMATS))
    shown = [row for row in rows if row[3]]
    first, own = 5, 5 + RULES.index("by class")
    most = max((row[5] for row in taken_rows(found) if row[1] == "kernels"), default=0)
    better = sum(row[own] < row[first] for row in shown)
    out.write(f"""
{len(shown)} of these {len(rows)} traces show a share. With it, kernels are told better in {better} of them; in the mean over them, a kernel is
{statistics.fmean(row[first] for row in shown):.1f} % off without and {statistics.fmean(row[own] for row in shown):.1f} % with it. Of kernels beside other kernels that are no collectives, no trace has more than {most:.1f} ms to
compare, so the replay does not model what these take from each other.
""")


def main():
    import gpu_traces

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(gpu_traces.SOURCE_DIR, "build", "default"))
    parser.add_argument("--all", action="store_true", help="each class of each trace, too")
    options = parser.parse_args()
    data = gpu_traces.find_data()
    if not data:
        print("kernel_contention.py: the traces are not there", file=sys.stderr)
        return gpu_traces.EXIT_SKIPPED
    tacho = gpu_traces.Tacho(os.path.join(options.build, "bin", "tacho"))
    found = look_at(tacho, data, gpu_traces.find_runs(data))
    print(gpu_traces.table(TAKEN_HEADS, taken_rows(found, options.all), TAKEN_FORMATS))
    print(gpu_traces.table(TOLD_HEADS, told_rows(found), TOLD_FORMATS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
