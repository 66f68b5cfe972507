#!/usr/bin/env python3
"""Hold the what-ifs precision= and batch= against tables of operations that were measured on both sides of the change.

    precision_tables.py                    write docs/validation-precision-tables.md
    precision_tables.py --output FILE      write the page to another file
    precision_tables.py --devices 1080ti   of this device alone: the half that the laws were made with
    precision_tables.py --predict FILE     predict the half that was set aside, and hold it against nothing

dPRO's tables have the mean time of each operation of a ResNet on a GTX 1080 Ti and a V100, in fp32 and fp16, by batch. Each becomes the trace
that it sums up, a kernel an operation, one behind the other; tacho predicts from it what another table has. The samples are looked for as
devices.py does; without them nothing is done (exit 77). Nothing is timed, so the page is the same each time.
"""

import argparse
import collections
import csv
import gzip
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

import device_fit as fit
import devices

OUTPUT = os.path.join(fit.SOURCE_DIR, "docs/validation-precision-tables.md")
DEVICES = {"1080ti": "GTX-1080-Ti", "v100": "V100"}
ASIDE = ("v100",)
BATCHES = (8, 32, 128, 256)
PAIRS = ((8, 32), (32, 128), (128, 256), (32, 256), (256, 128), (256, 32), (128, 32), (32, 8))  # from, to
# Shapes are not in the tables. The names are those of a ResNet of eight blocks whose stages have twice the channels and half the picture of the
# one before; the first has 32 channels and a picture of 24 x 24 here. By that its ReLU moves 82 % of what the 1080 Ti's memory can, at a batch of
# 256; with 32 x 32 it would be 145 %. Of a kernel's two times in fp32 and fp16 the ratio hardly depends on it.
PICTURE, CHANNELS, CLASSES, COLOURS = 24, 32, 10, 3
LAUNCH_US = 1.0  # of the host, an operation


# --- the trace of a table -------------------------------------------------------------------------


def stage_of(name):
    """(channels read, channels made, picture read, picture made) of the layer that an operation's name has; None: of none."""
    found = re.search(r"resblock_?(\d)_(\d)/(\w+)", name)
    if not found:
        return (COLOURS, CHANNELS, PICTURE, PICTURE) if "network/conv/" in name else None
    stage, block, part = int(found[1]), int(found[2]), found[3]
    made, size = CHANNELS << stage, PICTURE >> stage
    if stage == 0 or block > 0 or part not in ("conv_0", "conv_init"):
        return made, made, size, size
    return made // 2, made, size * 2, size


def shaped(name, batch):
    """(PyTorch's operation, shapes of its inputs, numbers among them) of a TensorFlow operation; shapes None: they are not known."""
    last = re.sub(r"_\d+$", "", name.rsplit("/", 1)[-1])
    stage = stage_of(name)
    if last == "MatMul":
        rows, wide = batch, CHANNELS << 3
        shapes = [[rows, CLASSES], [CLASSES, wide]] if "_grad/" in name else [[rows, wide], [wide, CLASSES]]
        return "aten::mm", [[wide, rows], [rows, CLASSES]] if name.endswith("MatMul_1") else shapes, []
    if not stage:
        return "aten::mul", None, []
    before, after, size, smaller = stage
    x, y, w = [batch, before, size, size], [batch, after, smaller, smaller], [after, before, 3, 3]
    stride = str([size // smaller] * 2)
    if last == "Conv2D":
        return "aten::convolution", [x, w], ["", "", "", stride, "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
    if last.startswith("Conv2DBackprop"):
        is_input = last.endswith("Input")
        return "aten::convolution_backward", [y, x, w], ["", "", "", "", stride, "[1, 1]", "[1, 1]", "False", "[0, 0]", "1",
                                                         f"[{is_input}, {not is_input}, False]"]
    if last == "Relu":
        return "aten::relu", [y], []
    if last == "ReluGrad":
        return "aten::threshold_backward", [y, y], []
    if last == "BiasAdd":
        return "aten::add", [y, [1, after, 1, 1]], []
    if last == "BiasAddGrad":
        return "aten::sum", [y], []
    if "kernel/Regularizer" in name:
        return "aten::mul", [w], []
    return "aten::mul", [[after]] if "batch_norm" in name and "Cast" not in name else None, []


def phase_of(name):
    if name.startswith("gradients/"):
        return 1
    return 2 if re.match(r"(Adam|cond_1|mul_\d|ArithmeticOptimizer)", name) or "AssignMovingAvg" in name else 0


class Trace:
    """Kineto's JSON of one step: forward pass and optimizer on one thread, the backward pass on autograd's, kernels on one stream."""

    def __init__(self, device, number_type, batch):
        self.device, self.number_type, self.batch = device, number_type, batch
        self.events, self.host, self.stream, self.n = [], 10.0, 0.0, 0

    def add(self, category, name, thread, begin, duration, process=1, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": begin,
                            "dur": duration, "args": args})

    def operation(self, name, ms, phase):
        self.n += 1
        thread = 2 if phase == 1 else 1
        kind, shapes, numbers = shaped(name, self.batch)
        args = {"External id": self.n}
        if shapes:
            types = "c10::Half" if self.number_type == "fp16" else "float"
            args.update({"Input Dims": shapes + [[]] * max(0, len(numbers) - len(shapes)),
                         "Input type": [types] * len(shapes) + [""] * max(0, len(numbers) - len(shapes))})
            if numbers:
                args["Concrete Inputs"] = numbers
        if phase == 1:
            self.add("cpu_op", "autograd::engine::evaluate_function: OfTable", thread, self.host, LAUNCH_US)
        self.add("cpu_op", kind, thread, self.host, LAUNCH_US, **args)
        self.add("cuda_runtime", "cudaLaunchKernel", thread, self.host, LAUNCH_US, **{"External id": self.n, "correlation": self.n})
        begin = max(self.stream, self.host + LAUNCH_US)
        self.add("kernel", name, 7, begin, 1e3 * ms, process=0, **{"External id": self.n, "correlation": self.n, "device": 0, "stream": 7})
        self.stream, self.host = begin + 1e3 * ms, self.host + LAUNCH_US

    def write(self, table, path):
        for phase in range(3):
            begin = self.host
            for name in sorted(name for name in table if phase_of(name) == phase):
                self.operation(name, table[name], phase)
            if phase == 2 and self.host > begin:
                self.add("user_annotation", "Optimizer.step#Adam.step", 1, begin, self.host - begin)
        self.add("user_annotation", "ProfilerStep#1", 1, 0, max(self.stream, self.host) + 10)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": self.device}], "traceEvents": self.events}, file)


# --- predictions ----------------------------------------------------------------------------------

# {kernel: ms}; how many ms less and more all of them may take; how far such predictions were off, a logarithm
Told = collections.namedtuple("Told", "kernels doubt error")
LEAST_LEFT = 0.05  # src/predict/prediction_interval.c


def interval(ms, told):
    """What tacho says of a job whose steps are all alike: docs/replay.md. A table is one step, of which it says none."""
    low, high = (abs(math.log(max(bound / ms, LEAST_LEFT))) for bound in (ms - told.doubt[0], ms + told.doubt[1]))
    return ms * math.exp(-math.hypot(low, told.error)), ms * math.exp(math.hypot(high, told.error))



def replayed(path):
    """{kernel: ms} of the replay in a file that `tacho replay --export` wrote: what was measured is its first process."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    replay = max(event["pid"] for event in events)
    found = collections.Counter()
    for event in events:
        if event.get("ph") == "X" and event["pid"] == replay and event.get("cat") == "kernel":
            found[event["name"]] += event["dur"] / 1e3
    return found


def predict(program, device, number_type, batch, table, what_if):
    return replay(program, Trace(DEVICES[device], number_type, batch), table, what_if)


def replay(program, made, table, what_if):
    with tempfile.TemporaryDirectory() as folder:
        trace, out = os.path.join(folder, "table.pt.trace.json"), os.path.join(folder, "replayed.json")
        made.write(table, trace)
        done = subprocess.run([program, "replay", trace, "--what-if", what_if, "--export", out, "--json"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"precision_tables.py: {what_if}: {done.stderr.strip()}")
        answer = json.loads(done.stdout)
        return Told(replayed(out), answer.get("kernel_doubt_ms", [0, 0]), math.log1p(answer["model_error_pct"] / 100))


class Sums:
    """What a table has, what another one had, and what was predicted, of the operations in both, by class."""

    def __init__(self):
        self.of = collections.defaultdict(lambda: [0.0, 0.0, 0.0])

    def add(self, rules, truth, before, told):
        for name in sorted(set(truth) & set(before)):
            for key in (devices.class_of(rules, name), "all"):
                for i, ms in enumerate((truth[name], before[name], told.get(name, 0.0))):
                    self.of[key][i] += ms

    def errors(self, key="all"):
        truth, before, told = self.of[key]
        return devices.percent(before, truth), devices.percent(told, truth)


def check(name, table, told):
    """Nothing was lost on the way: without a change, each operation takes what the table says."""
    worst = max(abs(told.get(key, 0) - ms) for key, ms in table.items())
    if worst > 1e-3:
        sys.exit(f"precision_tables.py: the trace of {name} is not its table: {worst} ms off")


def predictions(program, tables, devices_asked):
    """(device, what, from, to, told): of each change. From and to are keys of the device's tables."""
    for device in devices_asked:
        of = tables[device]
        for batch in BATCHES:
            told = predict(program, device, "fp32", batch, of["fp32", batch], f"precision=fp16:{DEVICES[device]}")
            yield device, "precision", ("fp32", batch), ("fp16", batch), told
        for number_type in ("fp32", "fp16"):
            for a, b in PAIRS:
                told = predict(program, device, number_type, a, of[number_type, a], f"batch={b / a:g}x")
                yield device, "batch", (number_type, a), (number_type, b), told


class Result:
    """One kind of change: a row each prediction, and sums over them by device and class."""

    def __init__(self, devices_asked):
        self.rows = []
        self.whole = {device: Sums() for device in devices_asked}

    def add(self, rules, tables, device, before, after, told):
        truth, recorded = tables[device][after], tables[device][before]
        own = Sums()
        own.add(rules, truth, recorded, told.kernels)
        if before[0] != after[0] or after[1] > before[1]:
            self.whole[device].add(rules, truth, recorded, told.kernels)
        measured, _, predicted = own.of["all"]
        low, high = interval(predicted, told)
        casts = sum(ms for name, ms in truth.items() if name not in recorded)
        self.rows.append({"device": device, "before": before, "after": after, "measured": measured, "errors": own.errors(),
                          "interval": [devices.percent(low, measured), devices.percent(high, measured)],
                          "held": low <= measured <= high, "casts": casts})


# --- products by number of tokens -------------------------------------------------------------------

TOKENS_FILE = "costmodel/vidur/compute/a100/meta-llama/Llama-2-7b-hf/mlp.csv.gz"
TOKENS_DEVICE = "A100-80GB"
WIDTH, INNER = 4096, 11008
PRODUCTS = {"attn_pre_proj": (WIDTH, 3 * WIDTH), "attn_post_proj": (WIDTH, WIDTH), "mlp_up_proj": (WIDTH, 2 * INNER), "mlp_down_proj": (INNER, WIDTH)}
TOKEN_PAIRS = ((8, 32), (32, 128), (128, 512), (512, 2048), (1024, 2048), (64, 128), (2048, 1024), (2048, 512), (512, 128), (128, 32))


class ProductTrace(Trace):
    """Products of so many tokens, in half precision; and a backward pass of one short kernel, for there must be one."""

    def __init__(self, tokens):
        super().__init__(TOKENS_DEVICE, "fp16", tokens)

    def operation(self, name, ms, phase):
        super().operation(name, ms, phase)
        if name in PRODUCTS:
            k, n = PRODUCTS[name]
            operation = next(event for event in reversed(self.events) if event["cat"] == "cpu_op")
            operation["name"] = "aten::mm"
            operation["args"].update({"Input Dims": [[self.batch, k], [k, n]], "Input type": ["c10::Half"] * 2})


def read_tokens(path):
    """tokens -> product -> ms, on one device."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["num_tensor_parallel_workers"] == "1"]
    return {int(row["num_tokens"]): {name: float(row[f"time_stats.{name}.median"]) for name in PRODUCTS} for row in rows}


def token_result(program, tables):
    rows = []
    for a, b in TOKEN_PAIRS:
        told = replay(program, ProductTrace(a), {**tables[a], "gradients/none": 1e-3}, f"batch={b / a:g}x")
        truth, recorded, predicted = (sum(of[name] for name in PRODUCTS) for of in (tables[b], tables[a], told.kernels))
        low, high = interval(predicted, told)
        rows.append({"before": a, "after": b, "measured": truth, "errors": (devices.percent(recorded, truth), devices.percent(predicted, truth)),
                     "interval": [devices.percent(low, truth), devices.percent(high, truth)], "held": low <= truth <= high})
    return rows


# --- the page -------------------------------------------------------------------------------------


HEAD = """# Tables of a ResNet in fp32 and fp16, and by batch

*Written by `validate/precision_tables.py` from tables that others measured; not by hand.*

dPRO's tables (`byteps/dpro/data_20200731_resnet50` in the folder of samples) have the mean time of each TensorFlow operation of a ResNet on a GTX 1080 Ti
and a V100, in fp32 and fp16, by batch. Above a batch of 256 they repeat one list of numbers, so that is where they end here. `tacho` does not read
them: they have no shapes and no order. The script makes each the trace that it sums up, a kernel an operation, and has
`tacho replay` predict another table from it. Shapes are not told: they are those of a picture of {picture} x {picture} and {channels} channels in the first stage, by which the ReLU
moves 82 % of what the 1080 Ti's memory can.

**The laws of both changes were made while looking at the GTX 1080 Ti's tables**, and two figures are fitted to them: what a device without units for half precision loses by converting
(`src/cost/kernel_split.c`). **The V100's are set aside**: what they are predicted to have was written to `validate/precision_tables_v100.json` and committed before it was compared. It is
not wholly blind: this page's figures for both devices with the laws before these were known.

Errors are percent of the measured time, of the operations that both tables name. *No change*: what changing nothing says. How near the same tables
come from one device to the other is in [validation-devices.md](validation-devices.md). *Interval*: what tacho says of a step that was measured several times, by how far predictions
of the kind were off and by what is not known of kernels' work (`kernel_doubt_ms`); the means have how often what was measured is within, of nine in ten.

"""


TOKENS_HEAD = """
## Products of a language model by number of tokens

Vidur's table (`costmodel/vidur`) has what the four products of a layer of Llama-2 7B take on an A100 with 80 GB in half precision, by the number of tokens. No product in half precision was measured there otherwise, so the
median of other devices counts. Nothing was fitted to it, but that weights are read once whatever the batch was put in because of it. With the laws before, the mean was 69.1 %.

"""


TAIL = """
## What it shows

With the laws before, which scaled all of a kernel but the run's shortest with the batch, and all of it by the roofline with its numbers, the means were 108.9 % by batch and 38.7 % by
precision; now see above. By precision the tuned device is not nearer than changing nothing says, since there half precision gains as much with elementwise kernels as convolutions lose; each class by
itself is. The one that was set aside is nearer. By batch the tuned device is three times nearer than no change, **and the one that was set aside is twice as far off as no change**, though far
nearer than before. All of that is convolutions; the other classes are within 11 %. The reason is known from the tuned half: the convolutions take less time than their operations take at the device's peak, so either the
guessed shapes are too large or the library multiplies less (Winograd's method takes 2.25 times fewer multiplications for 3 x 3 filters), and then the law takes kernels to be full that are not. That was not mended, for it can
only be tried on what was looked at. The intervals hold less often than nine in ten by batch for the same reason. A recording in the other precision (`tacho precision predict`), or at the other batch, needs no such law.
"""


def class_table(whole):
    keys = sorted({key for sums in whole.values() for key in sums.of} - {"all"}) + ["all"]
    rows = []
    for device, sums in whole.items():
        for key in keys:
            if key in sums.of and sums.of[key][0] > 0:
                rows.append([DEVICES[device], key, f"{sums.of[key][0]:.2f}", *map(devices.signed, sums.errors(key))])
    return devices.table(["device", "class", "measured ms", "no change %", "predicted %"], rows)


def mean_rows(result, n_between):
    """Of each device, and of all: the means of absolute errors, and how often the interval held."""
    rows = []
    for device in [*result.whole, None]:
        own = [row for row in result.rows if device in (row["device"], None)]
        errors = [f"**{statistics.mean(abs(row['errors'][i]) for row in own):.1f}**" for i in (0, 1)]
        name = f"mean of absolute, {DEVICES[device] if device else 'all'}"
        rows.append([name, *[""] * n_between, *errors, f"{sum(row['held'] for row in own)} of {len(own)}"])
    return rows


def ends(row):
    """What every row ends with."""
    return [f"{row['measured']:.2f}", *map(devices.signed, row["errors"]), f"{row['interval'][0]:+.0f} to {row['interval'][1]:+.0f}"]


def write_page(results, out):
    out.write(HEAD.format(picture=PICTURE, channels=CHANNELS))
    precision, batch = results["precision"], results["batch"]
    out.write("## From fp32 to fp16: `precision=fp16`\n\n*Casts*: what the table in fp16 has beside, casts nearly all of it; the what-if says that "
              "all is in fp16, so nothing is cast.\n\n")
    rows = [[DEVICES[row["device"]], row["before"][1], *ends(row), f"{row['casts']:.2f}"] for row in precision.rows]
    out.write(devices.table(["device", "batch", "measured ms", "no change %", "predicted %", "interval %", "casts ms"],
                            rows + [[*row, ""] for row in mean_rows(precision, 2)]))
    out.write("\nBy class, over all batches:\n\n" + class_table(precision.whole))
    out.write("\n## From batch to batch: `batch=Fx`\n\n")
    rows = [[DEVICES[row["device"]], row["before"][0], row["before"][1], row["after"][1], *ends(row)] for row in batch.rows]
    out.write(devices.table(["device", "numbers", "from", "to", "measured ms", "no change %", "predicted %", "interval %"],
                            rows + mean_rows(batch, 4)))
    out.write("\nBy class, over the pairs whose batch grows:\n\n" + class_table(batch.whole))
    write_tokens(results["tokens"], out)
    out.write(TAIL)


def write_tokens(rows, out):
    out.write(TOKENS_HEAD)
    errors = [f"**{statistics.mean(abs(row['errors'][i]) for row in rows):.1f}**" for i in (0, 1)]
    out.write(devices.table(["from", "to", "measured ms", "no change %", "predicted %", "interval %"],
                            [[row["before"], row["after"], *ends(row)] for row in rows]
                            + [["mean of absolute", "", "", *errors, f"{sum(row['held'] for row in rows)} of {len(rows)}"]]))


def write_predictions(program, tables, path):
    """Of the half that was set aside: sums over the operations that both tables name, without what they took."""
    rows = []
    for device, _, before, after, told in predictions(program, tables, ASIDE):
        both = set(tables[device][before]) & set(tables[device][after])
        rows.append({"device": DEVICES[device], "from": before, "to": after, "less_and_more_ms": told.doubt,
                     "predicted_ms": round(sum(told.kernels.get(name, 0) for name in both), 6)})
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(fit.SOURCE_DIR, "build/default/bin/tacho"))
    parser.add_argument("--output", metavar="FILE", default=OUTPUT)
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--predict", metavar="FILE")
    options = parser.parse_args()
    data = fit.data_folder()
    if not os.path.isdir(os.path.join(data, devices.RESNET)):
        print(f"precision_tables.py: no {devices.RESNET} in {data}", file=sys.stderr)
        return fit.EXIT_SKIPPED
    tables = {device: devices.read_resnet(data, device) for device in DEVICES}
    if options.predict:
        write_predictions(options.program, tables, options.predict)
        return 0
    asked = options.devices.split(",")
    rules = devices.read_classes()
    results = {what: Result(asked) for what in ("precision", "batch")}
    for device in asked:
        for batch in BATCHES:
            before = tables[device]["fp32", batch]
            check(f"{device} {batch}", before,
                  predict(options.program, device, "fp32", batch, before, "precision=fp32:" + DEVICES[device]).kernels)
    for device, what, before, after, told in predictions(options.program, tables, asked):
        results[what].add(rules, tables, device, before, after, told)
    results["tokens"] = token_result(options.program, read_tokens(os.path.join(data, TOKENS_FILE)))
    with open(options.output, "w", encoding="utf-8") as file:
        write_page(results, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
