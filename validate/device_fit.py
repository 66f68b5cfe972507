#!/usr/bin/env python3
"""Fit how much of what devices can do at most kernels of each class reach: src/cost/kernel_efficiencies.def.

    device_fit.py                             print the table as an .ini file for device=NAME,efficiency:FILE
    device_fit.py --without MODEL             without the traces of this model (may be given several times)
    device_fit.py --def src/cost/kernel_efficiencies.def
                                              write the table that the program has; errors in it stay

Fitted on traces of PyTorch jobs and on tables of kernels' times, all recorded by others: those in
$TACHO_SHARED/data, or in ../shared/data beside the source; without them nothing is done (exit 77). The program tells
each kernel's class, type and work ("kernel_class" and so on, docs/query.md). A call of an operation that launches k
kernels takes, by the model,

    k floor + max(operations / (peak rate * share of operations), bytes / (bandwidth * share of bytes))

Of each class on each device the three figures are those of the least mean |log(measured / model)|, each distinct call
(operation and shapes) weighted by the square root of its time in all; with a small penalty that decides what the calls
leave open. Answers of the program are kept in
$TMPDIR/tacho-device-fit, by path and size.
"""

import argparse
import collections
import csv
import gzip
import hashlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXIT_SKIPPED = 77
ARITHMETIC = ("gemm", "convolution", "attention")
STREAMING = ("elementwise", "move", "reduction")
LEAST_CALLS, LEAST_MODELS = 10, 2  # a class is fitted on as many distinct calls, or models
TELLS = 2  # floors
TOWARDS_SHARE = 0.5  # a share that the calls do not tell is near this, on every device
RIDGE = 0.02  # what a share costs that is e times as much, against a mean error of 1
PAIRS = ["Falconsai_nsfw_image_detection__1016002", "Qwen_Qwen1.5-0.5B-Chat__1016005",
         "gaunernst_bert-small-uncased__1016001", "google_owlv2-large-patch14-ensemble__1016001"]
# model, device, file in the folder of samples; "MODEL" is one of several of that name on another device
TRACES = [(model, device, f"kineto/tracelens/{folder}/{model}.json.gz")
          for model in PAIRS for device, folder in (("H100", "h100"), ("MI300X", "mi300"))] + [
    ("resnet50", "V100", "kineto/kineto/samples/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz"),
    ("trace_diff test", "V100", "kineto/hta/trace_diff/test/test.json.gz"),
    ("trace_diff control", "A100-40GB", "kineto/hta/trace_diff/control/control.json.gz"),
    ("megatron", "A100-80GB", "kineto/megatron_tp8/megatron_kineto_0.json.gz"),
    ("eager", "B200", "kineto/tracelens/b200/eager_trace.json.gz"),
]
# name in NeuSight's tables -> ours. The tables' times are of calls, so they tell no floor of a kernel.
NEUSIGHT = {"Tesla P4": "P4", "Tesla P100-PCIE-16GB": "P100-PCIe", "Tesla V100-PCIE-32GB": "V100-PCIe",
            "Tesla T4": "T4", "NVIDIA A100-PCIE-40GB": "A100-40GB", "NVIDIA A100 80GB PCIe": "A100-PCIe-80GB",
            "NVIDIA L4": "L4", "NVIDIA H100 80GB HBM3": "H100"}

# One distinct call: `count` times, `time_ns` and `kernels` each.
Call = collections.namedtuple("Call", "model device kind type name count kernels time_ns flops nbytes source")


def data_folder():
    shared = os.environ.get("TACHO_SHARED", os.path.join(SOURCE_DIR, "..", "shared"))
    return os.path.join(shared, "data")


# --- what devices can do at most ----------------------------------------------------------------


def read_peaks():
    """name -> rates: "fp32" ... in operations a ns, "bytes" a ns; where there is no unit, the next wider."""
    peaks = {}
    with open(os.path.join(SOURCE_DIR, "src/cost/devices.def"), encoding="utf-8") as file:
        text = file.read()
    row = r'^DEVICE\("([^"]+)", (\w+), "(\w+)", "[^"]*", ([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+),'
    for name, maker, chip, *figures in re.findall(row, text, re.M):
        fp32, tf32, fp16, bf16, int8, bandwidth = map(float, figures)
        peaks[name] = {"maker": maker, "chip": chip, "fp32": fp32 * 1e3, "tf32": (tf32 or fp32) * 1e3,
                       "fp16": (fp16 or fp32) * 1e3, "bf16": (bf16 or fp32) * 1e3,
                       "int8": (int8 or fp16 or fp32) * 1e3, "bytes": bandwidth}
    return peaks


# --- calls in traces, and in tables --------------------------------------------------------------


def ask(program, path, sql):
    cache = os.path.join(tempfile.gettempdir(), "tacho-device-fit")
    os.makedirs(cache, exist_ok=True)
    key = f"{os.path.realpath(path)} {os.path.getsize(path)} {os.path.getmtime(program)} {sql}"
    kept = os.path.join(cache, hashlib.sha256(key.encode()).hexdigest())
    if not os.path.exists(kept):
        done = subprocess.run([program, "query", path, sql, "--format", "json"], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(f"device_fit.py: {path}: {done.stderr.strip()}")
        with open(kept + ".new", "w", encoding="utf-8") as file:
            file.write(done.stdout)
        os.replace(kept + ".new", kept)
    with open(kept, encoding="utf-8") as file:
        return json.load(file)


def calls_of_trace(program, data, model, device, path):
    """Distinct calls of operations whose kernels and work are known."""
    rows = ask(program, os.path.join(data, path), "SELECT kernel_class(k.id) AS class, kernel_type(k.id) AS type, "
               "kernel_op(k.id) AS op, o.name AS name, extract_arg(o.arg_set_id, 'inputs') AS inputs, k.dur AS dur, "
               "kernel_flops(k.id) AS flops, kernel_bytes(k.id) AS bytes FROM slice k LEFT JOIN slice o ON "
               "o.id = kernel_op(k.id) WHERE k.category = 'kernel' AND k.dur > 0")
    by_call = {}
    for row in rows:
        if row["op"] is not None and row["bytes"]:
            call = by_call.setdefault(row["op"], [row, 0, 0])
            call[1] += 1
            call[2] += row["dur"]
    distinct = {}
    for row, kernels, time_ns in by_call.values():
        key = (row["class"], row["type"], re.sub("cudnn_|miopen_", "", row["name"]), row["inputs"])
        distinct.setdefault(key, []).append((row, kernels, time_ns))
    return [Call(model, device, kind, number_type or "fp32", f"{name} {inputs}", len(group),
                 statistics.mean(kernels for _, kernels, _ in group), statistics.mean(ns for _, _, ns in group),
                 group[0][0]["flops"], group[0][0]["bytes"], path)
            for (kind, number_type, name, inputs), group in distinct.items()]


def calls_of_neusight(data, table, kind):
    """NeuSight's: in single precision, without TensorFloat-32; times in ms."""
    times = {}
    for half in ("train", "test"):
        path = os.path.join(data, f"costmodel/neusight/{half}/{table}.csv.gz")
        if not os.path.exists(path):
            continue
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                shape = tuple(int(row[key]) for key in ("B", "M", "N", "K", "H") if row.get(key))
                times.setdefault((row["Device"], shape), []).append(float(row["Latency"]) * 1e6)
    calls = []
    for (device, shape), measured in times.items():
        if kind == "gemm":
            batch, m, n, k = shape
            weights = k * n * (1 if table == "linear" else batch)
            flops, nbytes = 2 * batch * m * n * k, 4 * (batch * m * k + weights + batch * m * n)
        else:
            elements = shape[0] * shape[1]
            flops, nbytes = (5 if kind == "softmax" else 8) * elements, 8 * elements
        calls.append(Call(f"{table} {shape[-1]}", NEUSIGHT[device], kind, "fp32", f"{table} {shape}", 1, 1,
                          statistics.median(measured), flops, nbytes, f"costmodel/neusight/{table}"))
    return calls


def all_calls(program, data):
    calls = []
    for model, device, path in TRACES:
        calls += calls_of_trace(program, data, model, device, path)
    for table, kind in (("linear", "gemm"), ("bmm", "gemm"), ("softmax", "softmax"), ("ln", "layer_norm")):
        calls += calls_of_neusight(data, table, kind)
    return calls


# --- the fit ------------------------------------------------------------------------------------


def model_ns(figures, call, peak):
    floor, ops_share, bytes_share = figures
    return call.kernels * floor + max(call.flops / (peak[call.type] * ops_share), call.nbytes / (peak["bytes"] * bytes_share))


def weights_of(calls):
    whole = sum(math.sqrt(call.count * call.time_ns) for call in calls)
    return [math.sqrt(call.count * call.time_ns) / whole for call in calls]


def loss(figures, calls, weights, peak):
    return RIDGE * sum(math.log(share / TOWARDS_SHARE) ** 2 for share in figures[1:]) + sum(
        weight * abs(math.log(call.time_ns / model_ns(figures, call, peak))) for call, weight in zip(calls, weights))


def fit(calls, peak, bytes_share=None):
    """(floor ns, share of operations, share of bytes), by descent along one after the other, in steps that shrink. The
    share of bytes stays, where it is given."""
    figures, weights = [2000.0, 0.5, bytes_share or 0.6], weights_of(calls)
    limits = [(100, 1e6), (0.01, 1.0), (0.01, 1.2)]
    best, step = loss(figures, calls, weights, peak), 2.0
    while step > 1.005:
        is_better = False
        for i in range(2 if bytes_share else 3):
            for factor in (step, 1 / step):
                other = list(figures)
                other[i] = min(max(other[i] * factor, limits[i][0]), limits[i][1])
                error = loss(other, calls, weights, peak)
                if error < best - 1e-9:
                    figures, best, is_better = other, error, True
        if not is_better:
            step = math.sqrt(step)
    return figures, best


def thin(calls, most=400):
    """As many of them, evenly by time."""
    calls = sorted(calls, key=lambda call: call.time_ns)
    return [calls[i * len(calls) // most] for i in range(most)] if len(calls) > most else calls


def is_of_table(call):
    return call.source.startswith("costmodel")


def of_one_kind(calls):
    """A table's times are of calls, traces' of kernels: so one of the two, which is the one with more distinct calls."""
    of_tables = [call for call in calls if is_of_table(call)]
    return of_tables if 2 * len(of_tables) > len(calls) else [call for call in calls if not is_of_table(call)]


Row = collections.namedtuple("Row", "device kind type floor_us operations bytes calls source")


def are_enough(calls):
    return len(calls) >= LEAST_CALLS or len({call.model for call in calls}) >= LEAST_MODELS


def fit_streaming(calls, peak):
    """Floor and share of bytes of the kernels that do nothing but move what they read and write, all in one: PyTorch has the
    same kernels for a copy, a sum of two and a sigmoid."""
    of_traces = [call for call in calls if call.kind in STREAMING and not is_of_table(call)]
    if not are_enough(of_traces):
        return None, []
    (floor_ns, _, nbytes), _ = fit(thin(of_traces), peak)
    return (floor_ns, nbytes), of_traces


def fit_class(calls, kind, peak, streaming):
    """(floor ns, share of operations, share of bytes) of one class; a share that is not told is 0. A call of less than TELLS
    floors tells no share. An arithmetic class has the share of bytes of what only streams."""
    share = streaming[1] if streaming and kind in ARITHMETIC else None
    (floor_ns, operations, nbytes), _ = fit(thin(calls), peak, share)
    if all(call.time_ns < TELLS * call.kernels * floor_ns for call in calls):
        operations, nbytes = 0, streaming[1] if streaming else 0
    if is_of_table(calls[0]):
        floor_ns = 0
    return floor_ns, operations if kind in ARITHMETIC else 0, nbytes


def fit_table(calls, peaks):
    """Rows of the table, by device, class and type."""
    groups = {}
    for call in calls:
        if call.kind not in ("other", "collective", "gather"):
            number_type = call.type if call.kind in ARITHMETIC else ""
            groups.setdefault((call.device, call.kind, number_type), []).append(call)
    streaming = {device: fit_streaming([call for call in calls if call.device == device], peaks[device])
                 for device in sorted({call.device for call in calls})}
    rows = []
    for device, kind, number_type in sorted(groups):
        figures, group = streaming[device]
        if kind not in STREAMING:
            group = of_one_kind(groups[device, kind, number_type])
            if not are_enough(group):
                continue
            floor_ns, operations, nbytes = fit_class(group, kind, peaks[device], figures)
        elif figures:
            floor_ns, operations, nbytes = figures[0], 0, figures[1]
        else:
            continue
        if operations or nbytes:
            rows.append(Row(device, kind, number_type, floor_ns / 1e3, operations, nbytes, len(group),
                            "; ".join(sorted({re.sub(r"__\d+|\.json\.gz", "", call.source) for call in group}))))
    return rows


def write_ini(rows, out):
    for row in rows:
        out.write(f"[{' '.join(filter(None, (row.device, row.kind, row.type)))}]\n")
        if row.floor_us:
            out.write(f"floor_us={row.floor_us:.2f}\n")
        if row.operations:
            out.write(f"operations={row.operations:.3f}\n")
        if row.bytes:
            out.write(f"bytes={row.bytes:.3f}\n")
        out.write("\n")


def write_def(rows, path):
    with open(path, encoding="utf-8") as file:
        errors = [line for line in file if line.startswith("EFFICIENCY_ERROR(")]
    with open(path, "w", encoding="utf-8") as out:
        out.write("""/* kernel_efficiencies: what kernels of each class reach on devices. Written by validate/device_fit.py, which says how it is
 * fitted; errors by validate/devices.py. Not by hand.
 *
 * EFFICIENCY(device, class, type of numbers (N_RATES: all), floor in us (0: not known), share of the peak rate of operations
 *            (0: not known), share of the memory's bandwidth, number of distinct calls it was fitted on, their source)
 * EFFICIENCY_ERROR(makers of the two devices (ONE, TWO), ground, mean error in percent, of what)
 * Source: fitted by validate/device_fit.py on the traces and tables that end each row. */
""")
        for row in rows:
            number_type = row.type.upper() or "N_RATES"
            source = '"\n\t   "'.join(part + ("" if i == row.source.count("; ") else "; ")
                                    for i, part in enumerate(row.source.split("; ")))
            out.write(f'EFFICIENCY("{row.device}", {row.kind.upper()}, {number_type}, {row.floor_us:.2f}, '
                      f'{row.operations:.3f}, {row.bytes:.3f}, {row.calls},\n\t   "{source}")\n')
        out.writelines(errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(SOURCE_DIR, "build/default/bin/tacho"))
    parser.add_argument("--without", action="append", default=[], metavar="MODEL")
    parser.add_argument("--def", dest="table", metavar="FILE")
    options = parser.parse_args()
    data = data_folder()
    if not os.path.isdir(data):
        print(f"device_fit.py: no samples in {data}", file=sys.stderr)
        return EXIT_SKIPPED
    calls = [call for call in all_calls(options.program, data) if call.model not in options.without]
    rows = fit_table(calls, read_peaks())
    if options.table:
        write_def(rows, options.table)
    else:
        write_ini(rows, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
