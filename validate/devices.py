#!/usr/bin/env python3
"""Hold the what-if device=NAME against jobs and kernels that were recorded on both devices.

    devices.py                    write docs/validation-devices.md, and the errors in src/cost/kernel_efficiencies.def
    devices.py --output FILE      write the page to another file, and no errors

Each model is predicted with shares that were fitted without it (device_fit.py). The samples are looked for as there;
without them nothing is done (exit 77). Nothing is timed, so the page is the same each time.
"""

import argparse
import ast
import collections
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

import device_fit as fit

OUTPUT = os.path.join(fit.SOURCE_DIR, "docs/validation-devices.md")
TABLE = os.path.join(fit.SOURCE_DIR, "src/cost/kernel_efficiencies.def")
SIDES = (("H100", "h100"), ("MI300X", "mi300"))
SHORT = {model: model.split("__")[0] for model in fit.PAIRS}
FOLDS = 5  # of a table's shapes
LEAST_TABLE_NS = 200e3  # a table's times have the launch in them: a call of nothing takes up to 60 us
RESNET = "byteps/dpro/data_20200731_resnet50"
Moved = collections.namedtuple("Moved", "ns is_measured")


# --- the program's rule, for tables -------------------------------------------------------------


def find_row(rows, peaks, device, call):
    best, best_fit = None, 0
    for row in rows:
        kind_fit = 2 if row.type == call.type else 1 if row.type == "" else 0
        if row.kind != call.kind or not kind_fit or peaks[row.device]["chip"] != peaks[device]["chip"]:
            continue
        kind_fit += 2 if row.device == device else 0
        if kind_fit > best_fit:
            best, best_fit = row, kind_fit
    return best


def bound(peak, call, operations, nbytes):
    return max(call.flops / (peak[call.type] * operations), call.nbytes / (peak["bytes"] * nbytes))


def move(rows, peaks, call, to):
    """As kernel_efficiency_move() has it; src/cost/kernel_efficiency.c. A check below holds it against the program."""
    before, after = (find_row(rows, peaks, device, call) for device in (call.device, to))
    floors, operations, nbytes, is_measured = [0, 0], [1, 1], [1, 1], False
    if before and after:
        floors = [before.floor_us * 1e3, after.floor_us * 1e3]
        if not all(floors):
            floors = [max(floors)] * 2
        if before.operations and after.operations:
            operations, is_measured = [before.operations, after.operations], True
        if before.bytes and after.bytes:
            nbytes, is_measured = [before.bytes, after.bytes], True
    each = call.time_ns / call.kernels
    if each <= floors[0]:
        return Moved(call.time_ns * floors[1] / floors[0], is_measured)
    ratio = bound(peaks[to], call, operations[1], nbytes[1]) / bound(peaks[call.device], call, operations[0], nbytes[0])
    return Moved(call.kernels * (floors[1] + (each - floors[0]) * ratio), is_measured)


# --- models on both devices ----------------------------------------------------------------------


class Job:
    """A model's trace on one device."""

    def __init__(self, program, data, model, device, folder):
        self.program, self.device = program, device
        self.path = os.path.join(data, f"kineto/tracelens/{folder}/{model}.json.gz")
        self.kernel_ms = self.sum_ms("category = 'kernel'")
        self.host_ms = self.sum_ms("category IN ('op', 'function', 'module')", "self_dur")
        self.step_ms = self.replay(None)[0]

    def sum_ms(self, which, column="dur"):
        return fit.ask(self.program, self.path, f"SELECT sum({column}) / 1e6 AS ms FROM slice WHERE {which}")[0]["ms"]

    def replay(self, what_if):
        """(step ms, kernels' ms or None, of which percent is measured)"""
        words = ["--what-if", what_if] if what_if else []
        done = subprocess.run([self.program, "replay", self.path, "--json", *words], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(f"devices.py: {self.path}: {done.stderr.strip()}")
        answer = json.loads(done.stdout)
        told = re.search(r"kernels take ([\d.e+]+) ms .*?, (\d+) % is of classes measured", " ".join(answer["notes"]))
        return answer["predicted_step_ms"], float(told[1]) if told else None, int(told[2]) if told else None


def percent(predicted, measured):
    return 100 * (predicted / measured - 1)


def pair_rows(program, data, calls, peaks):
    """Rows of the table of models, each as a dictionary of percentages; and the calls' own by class."""
    jobs = {(model, device): Job(program, data, model, device, folder) for model in fit.PAIRS for device, folder in SIDES}
    rows = []
    for model in fit.PAIRS:
        shares = fit.fit_table([call for call in calls if call.model != model], peaks)
        hosts = [jobs[other, "MI300X"].host_ms / jobs[other, "H100"].host_ms for other in fit.PAIRS if other != model]
        host = math.exp(statistics.mean(map(math.log, hosts)))
        with tempfile.NamedTemporaryFile("w", suffix=".ini", encoding="utf-8") as file:
            fit.write_ini(shares, file)
            file.flush()
            for device, to in (("H100", "MI300X"), ("MI300X", "H100")):
                job, truth = jobs[model, device], jobs[model, to]
                speed = 1 / host if to == "MI300X" else host
                by_class = job.replay(f"device={to},efficiency:{file.name}")
                both = job.replay(f"device={to},efficiency:{file.name},host:{speed:.4f}")
                equal_ms = job_equal(job, to)
                rows.append({"model": model, "device": device, "to": to, "step_ms": truth.step_ms, "speed": speed,
                             "same": percent(job.step_ms, truth.step_ms), "class": percent(by_class[0], truth.step_ms),
                             "both": percent(both[0], truth.step_ms), "kernel_ms": truth.kernel_ms,
                             "kernel_same": percent(job.kernel_ms, truth.kernel_ms),
                             "kernel_equal": percent(equal_ms, truth.kernel_ms),
                             "kernel": percent(by_class[1], truth.kernel_ms), "measured": by_class[2]})
    return rows


def job_equal(job, to):
    """Kernels' ms with equal shares, which the program refuses across makers: so they are given as a file that has each
    class reach all of the peaks of both."""
    kinds = "gemm convolution attention batch_norm layer_norm softmax reduction pooling gather move elementwise".split()
    with tempfile.NamedTemporaryFile("w", suffix=".ini", encoding="utf-8") as file:
        for device in (job.device, to):
            for kind in kinds:
                file.write(f"[{device} {kind}]\noperations=1\nbytes=1\n\n")
        file.flush()
        return job.replay(f"device={to},efficiency:{file.name}")[1]


def mean(rows, key):
    return statistics.mean(abs(row[key]) for row in rows)


def worst(rows, key):
    return max(abs(row[key]) for row in rows)


# --- tables of kernels ---------------------------------------------------------------------------


def table_rows(calls, peaks):
    """Of each class in the tables: errors over all pairs of devices; each fifth of the shapes is predicted with shares
    fitted on the others. Shapes are told apart by their innermost size, which is a model's width."""
    of_tables = [call for call in calls if fit.is_of_table(call)]
    widths = sorted({call.model for call in of_tables})
    errors = collections.defaultdict(lambda: ([], [], []))
    for fold in range(FOLDS):
        held_out = set(widths[fold::FOLDS])
        shares = fit.fit_table([call for call in of_tables if call.model not in held_out], peaks)
        of_shape = collections.defaultdict(list)
        for call in of_tables:
            if call.model in held_out:
                of_shape[call.kind, call.name].append(call)
        for (kind, _), group in of_shape.items():
            for call in group:
                for other in group:
                    if other.device == call.device or min(call.time_ns, other.time_ns) < LEAST_TABLE_NS:
                        continue
                    lists = errors[kind]
                    lists[0].append(abs(percent(call.time_ns, other.time_ns)))
                    lists[1].append(abs(percent(move([], peaks, call, other.device).ns, other.time_ns)))
                    lists[2].append(abs(percent(move(shares, peaks, call, other.device).ns, other.time_ns)))
    return {kind: [len(lists[0])] + [(statistics.mean(each), statistics.median(each)) for each in lists]
            for kind, lists in sorted(errors.items())}


def check_rule(program, calls, peaks):
    """The program and move() say the same of a trace of products; else the page would be of another rule."""
    shares = fit.fit_table(calls, peaks)
    chosen = [call for call in calls if call.device == "H100" and call.name.startswith("linear (1,")][:200]
    events, at = [], 10.0
    for i, call in enumerate(chosen):
        m, n, k = map(int, re.findall(r"\d+", call.name)[1:])
        args = {"External id": i + 1, "Input Dims": [[m, k], [k, n]], "Input type": ["float", "float"]}
        events += [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at, "dur": 2, "args": args},
                   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 1,
                    "args": {"External id": i + 1, "correlation": i + 1}},
                   {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": at + 5, "dur": call.time_ns / 1e3,
                    "args": {"External id": i + 1, "correlation": i + 1, "device": 0, "stream": 7}}]
        at += call.time_ns / 1e3 + 10
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": at})
    with tempfile.TemporaryDirectory() as folder:
        trace, table_path = os.path.join(folder, "products.pt.trace.json"), os.path.join(folder, "shares.ini")
        with open(trace, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": events}, file)
        with open(table_path, "w", encoding="utf-8") as file:
            fit.write_ini(shares, file)
        done = subprocess.run([program, "replay", trace, "--json", "--what-if", f"device=L4,efficiency:{table_path}"],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"devices.py: {done.stderr.strip()}")
    told = float(re.search(r"kernels take ([\d.e+]+) ms", " ".join(json.loads(done.stdout)["notes"]))[1])
    ours = sum(move(shares, peaks, call, "L4").ns for call in chosen) / 1e6
    if abs(told / ours - 1) > 1e-3:
        sys.exit(f"devices.py: the program says {told} ms of {len(chosen)} products, this script {ours}")


# --- ResNet-50 of dPRO ----------------------------------------------------------------------------


def read_classes():
    """Classes of TensorFlow's operations: (name, is a part) in order -> class."""
    with open(os.path.join(fit.SOURCE_DIR, "src/trace/kernel_classes.def"), encoding="utf-8") as file:
        return re.findall(r'^OPERATION(_WITH|)\("(\w+)", (\w+)\)', file.read(), re.M)


def class_of(rules, name):
    plain = re.sub(r"_\d+$", "", name.rsplit("/", 1)[-1]).rstrip("_")
    for is_part, word, kind in rules:
        if (word in plain) if is_part else word == plain:
            return kind.lower()
    return "gather" if "Gather" in plain else "move" if "Cast" in plain else "elementwise"


def read_resnet(data, device):
    """(type, batch) -> operation -> ms. From a batch of 2 on there is one more value than names, at a place that is not
    told: where leaving it out changes least against the batch of 1. Batches above 256 repeat the values of 256."""
    names, times, head = {}, {}, None
    folder = os.path.join(data, RESNET, device)
    with open(os.path.join(folder, "name.txt"), encoding="utf-8") as file:
        for line in filter(str.strip, file):
            number_type, text = line.split(":", 1)
            names[number_type] = ast.literal_eval(text)
    with open(os.path.join(folder, "avg.txt"), encoding="utf-8") as file:
        for line in filter(str.strip, file):
            if line.startswith("["):
                times[head] = ast.literal_eval(line)
            else:
                found = re.search(r"(fp\d+): --batch_size (\d+)", line)
                head = (found[1], int(found[2]))
    tables = {}
    for number_type in names:
        first = times[number_type, 1]
        tables[number_type, 1] = dict(zip(names[number_type], first))
        second = times[number_type, 2]

        def change(at):
            left = second[:at] + second[at + 1:]
            return sum(abs(math.log(max(a, 1e-4) / max(b, 1e-4))) for a, b in zip(left, first))

        extra = min(range(len(second)), key=change)
        for batch in (2, 4, 8, 16, 32, 64, 128, 256):
            values = times[number_type, batch]
            tables[number_type, batch] = dict(zip(names[number_type], values[:extra] + values[extra + 1:]))
    return tables


def resnet_rows(data, peaks):
    """[type, batch, from, to, measured ms, no change %, equal shares %, with both's times at batch 1 %]"""
    devices = {"1080ti": "GTX-1080-Ti", "v100": "V100"}
    tables = {device: read_resnet(data, device) for device in devices}
    rules = read_classes()
    rows = []
    for number_type in ("fp32", "fp16"):
        for batch in (8, 32, 128, 256):
            for device, to in (("1080ti", "v100"), ("v100", "1080ti")):
                sums = [0.0] * 4
                here, there = tables[device][number_type, batch], tables[to][number_type, batch]
                least = tables[device][number_type, 1], tables[to][number_type, 1]
                for name in sorted(set(here) & set(there)):
                    kind = class_of(rules, name)
                    is_arithmetic = kind in fit.ARITHMETIC
                    rate = "fp16" if number_type == "fp16" and is_arithmetic else "fp32"
                    key = rate if is_arithmetic else "bytes"
                    ratio = peaks[devices[device]][key] / peaks[devices[to]][key]
                    beyond = max(here[name] - least[0][name], 0)
                    sums = [a + b for a, b in zip(sums, (there[name], here[name], here[name] * ratio,
                                                         least[1][name] + beyond * ratio))]
                rows.append([number_type, batch, devices[device], devices[to], sums[0],
                             *(percent(each, sums[0]) for each in sums[1:])])
    return rows


# --- kernels beside each other ---------------------------------------------------------------------


def contention_rows(program, data):
    """[trace, kernels' overlap %, what the replay says of kernels beside transfers]"""
    rows = []
    for path in ("kineto/megatron_tp8/megatron_kineto_0.json.gz", "kineto/hta/nccl_parser_config/nccl_data.json.gz",
                 "kineto/hta/trace_diff/control/control.json.gz", "kineto/hta/trace_diff/test/test.json.gz",
                 "kineto/hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
                 "kineto/tracelens/b200/eager_trace.json.gz",
                 "kineto/tracelens/mi300/ddp_resnet18_no_pool/train_resnet18.json.gz"):
        beside = fit.ask(program, os.path.join(data, path), """
WITH c AS MATERIALIZED (SELECT s.ts AS ts, s.ts + s.dur AS te, s.track_id AS track FROM slice s
  WHERE s.category = 'collective' AND s.track_id IN (SELECT id FROM gpu_track)),
k AS MATERIALIZED (SELECT s.name || coalesce(o.name || coalesce(extract_arg(o.arg_set_id, 'inputs'), ''), '') AS kind,
  s.dur AS dur, EXISTS (SELECT 1 FROM c WHERE c.ts < s.ts + s.dur AND c.te > s.ts AND c.track <> s.track_id) AS is_beside
  FROM slice s LEFT JOIN slice o ON o.id = kernel_op(s.id) WHERE s.category = 'kernel' AND s.dur >= 5000
  AND kernel_class(s.id) <> 'collective'),
g AS (SELECT kind, sum(is_beside) AS n, sum(NOT is_beside) AS n_alone, median(iif(is_beside, dur, NULL)) AS beside,
  median(iif(is_beside, NULL, dur)) AS alone FROM k GROUP BY kind)
SELECT (SELECT count(*) FROM c) AS transfers, count(*) AS kinds, sum(n) AS kernels,
  sum(n * beside) / sum(n * alone) AS factor, median(beside / alone) AS middle FROM g WHERE n >= 2 AND n_alone >= 2""")[0]
        rows.append([path, beside["transfers"], beside["kinds"], beside["kernels"] or 0, beside["factor"], beside["middle"]])
    return rows


# --- the page -------------------------------------------------------------------------------------


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def signed(value):
    return f"{value:+.1f}"


def write_page(pairs, tables, resnet, contention, out):
    out.write(f"""# How near predictions for other devices come

*Written by `validate/devices.py` from traces and tables that others recorded; not by hand.* Paths are those in the
folder of samples, whose README names the origin of each. What `device=NAME` does is described in [what-if.md](what-if.md);
how the shares are fitted, at the head of `validate/device_fit.py`.

## The same model on an H100 and on an MI300X

Four models (`kineto/tracelens`: inference, one recorded step each) were recorded on both. Each is predicted from either
trace with shares fitted without any trace of that model. *Class*: `device=NAME` alone. *Class and host*: with `host:F`, the
geometric mean over the other three models of the ratio of what operations and Python did by themselves. Errors are percent
of the step that was measured on the other device.

""")
    out.write(table(["model", "from", "to", "measured ms", "no change %", "class %", "host F", "class and host %"],
                    [[SHORT[r["model"]], r["device"], r["to"], f"{r['step_ms']:.2f}", signed(r["same"]), signed(r["class"]),
                      f"{r['speed']:.3f}", signed(r["both"])] for r in pairs] +
                    [["mean of absolute", "", "", "", f"**{mean(pairs, 'same'):.1f}**", f"**{mean(pairs, 'class'):.1f}**", "",
                      f"**{mean(pairs, 'both'):.1f}**"],
                     ["worst", "", "", "", *(f"{worst(pairs, key):.1f}" for key in ("same", "class")), "",
                      f"{worst(pairs, 'both'):.1f}"]]))
    out.write("""
Two of the four models are bound by their host: there, kernels hardly act on the step, and no table of devices can better
what assuming no change gives. So here is the kernels' time by itself, too; *equal*: every class reaches the same share of both
devices' peaks, which was the model before; *measured*: percent of the recorded kernels' time in classes that the other three models
tell.

""")
    out.write(table(["model", "from", "to", "kernels ms", "no change %", "equal %", "class %", "measured %"],
                    [[SHORT[r["model"]], r["device"], r["to"], f"{r['kernel_ms']:.3f}", signed(r["kernel_same"]),
                      signed(r["kernel_equal"]), signed(r["kernel"]), r["measured"]] for r in pairs] +
                    [["mean of absolute", "", "", "", *(f"**{mean(pairs, key):.1f}**" for key in
                                                         ("kernel_same", "kernel_equal", "kernel")), ""]]))
    out.write("""
What this does not show. The four models are all there is: the form of the model (which classes are one, that a call of less
than two floors tells no share, weights by the root of time) was chosen while looking at these eight figures, from about ten
forms whose mean error of the kernels' time was 11 to 16 % (weights by time alone were left out at once, with 66 % and more). Only
the shares themselves are fitted without the model that is predicted. What is farthest off has a reason: of softmax and of large attention one model
each tells anything, so without it nothing is known; and one shape of a product in the largest model (rows of 5185 elements, no multiple
of 8) takes the H100's library four times as long as the roofline, the MI300X's twice. More models on both devices would better
both; so would shares by shape.

## Tables of kernels, between devices of one maker

NeuSight's tables (`costmodel/neusight`, single precision; P4, P100, V100, T4, A100 twice, L4, H100) have the same calls on
several devices. Shapes fall into fifths by their innermost size, a model's width; each fifth is predicted from each device for each
other, call by call, with shares fitted on the other four. The times are of calls, not of kernels, and below about 60 us mostly
the launch: only calls of 200 us and more on both devices count. Errors are absolute, in percent of the measured time.

""")
    out.write(table(["class", "predictions", "no change: mean %", "median %", "equal: mean %", "median %", "class: mean %",
                     "median %"],
                    [[kind, row[0], *(f"{value:.1f}" for each in row[1:] for value in each)] for kind, row in tables.items()]))
    out.write("""
## ResNet-50 on a GTX 1080 Ti and a V100

dPRO's tables (`byteps/dpro/data_20200731_resnet50`) have the mean time of each TensorFlow operation by batch, without shapes.
Operations that both tables name are added up. No kernel of the GTX 1080 Ti was measured otherwise, so only *equal* can be said of
it. *With batch 1*: what each operation takes at a batch of 1 on both devices is taken as known, and only what it takes beyond
that is scaled. That is the library's and the host's part: on the V100's host an operation of a batch of 1 takes two to three
times as long.

""")
    out.write(table(["numbers", "batch", "from", "to", "measured ms", "no change %", "equal %", "with batch 1 %"],
                    [[*row[:4], f"{row[4]:.2f}", *map(signed, row[5:])] for row in resnet] +
                    [["mean of absolute", "", "", "", "",
                      *(f"**{statistics.mean(abs(row[i]) for row in resnet):.1f}**" for i in (5, 6, 7))]]))
    out.write("""
## Kernels beside transfers

A collective's kernel takes processors and bandwidth of memory from kernels on other streams. Kernels of 5 us or more, of one name, operation
and shapes, are compared where a collective's kernel ran beside them and where none did, at least twice each; *factor*: how much longer the time beside is
in all, *middle*: of the median kind.

""")
    out.write(table(["trace", "collectives' kernels", "kinds", "kernels beside", "factor", "middle"],
                    [[row[0], row[1], row[2], row[3], *("" if each is None else f"{each:.3f}" for each in row[4:])]
                     for row in contention]))
    out.write("""
The replay measures this in each recording and plays it with each change ([replay.md](replay.md)). A recording that shows none
gets none: the traces above differ too much, and are too few, to say what another device would show.
""")


def stated_errors(pairs, tables):
    """Lines of the table of shares: of one maker's devices by the tables of kernels, of two makers' by the models."""
    of_tables = [row for kind, row in tables.items()]
    n = sum(row[0] for row in of_tables)
    one = [sum(row[0] * row[i][0] for row in of_tables) / n for i in (1, 2, 3)]
    return (f'EFFICIENCY_ERROR(ONE, MEASURED, {one[2]:.0f}, "calls in tables, of shapes not fitted on")\n'
            f'EFFICIENCY_ERROR(ONE, EQUAL, {one[1]:.0f}, "calls in tables")\n'
            f'EFFICIENCY_ERROR(TWO, MEASURED, {mean(pairs, "kernel"):.0f}, "kernels of models not fitted on")\n'
            f'EFFICIENCY_ERROR(TWO, EQUAL, {mean(pairs, "kernel_equal"):.0f}, "kernels of models")\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(fit.SOURCE_DIR, "build/default/bin/tacho"))
    parser.add_argument("--output", metavar="FILE")
    options = parser.parse_args()
    data = fit.data_folder()
    if not os.path.isdir(data):
        print(f"devices.py: no samples in {data}", file=sys.stderr)
        return fit.EXIT_SKIPPED
    peaks = fit.read_peaks()
    calls = fit.all_calls(options.program, data)
    check_rule(options.program, calls, peaks)
    pairs = pair_rows(options.program, data, calls, peaks)
    tables = table_rows(calls, peaks)
    resnet = resnet_rows(data, peaks)
    with open(options.output or OUTPUT, "w", encoding="utf-8") as file:
        write_page(pairs, tables, resnet, contention_rows(options.program, data), file)
    if not options.output:
        with open(TABLE, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("EFFICIENCY_ERROR(")]
        with open(TABLE, "w", encoding="utf-8") as file:
            file.writelines(lines)
            file.write(stated_errors(pairs, tables))
    return 0


if __name__ == "__main__":
    sys.exit(main())
