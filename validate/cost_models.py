#!/usr/bin/env python3
"""Hold cost models against calls on devices that they were not trained on: docs/validation-cost.md.

    cost_models.py                    write the page
    cost_models.py --output FILE      write it to another file
    cost_models.py --tune             try parameters of the trees, on the first half of the devices alone

What is predicted are the real tables of NeuSight (costmodel/neusight: eight devices) and calls of real traces (kineto: six devices). Devices
are parted into two halves before anything is trained: sorted by name, the first, third, fifth ... are there to choose parameters on
(--tune), the others are kept aside and are never trained on. The page has both: each device of the first half predicted from the other devices of
that half, and each device kept aside predicted from the first half. The samples are looked for as by device_fit.py; without them nothing
is done (exit 77).
"""

import argparse
import collections
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import zlib

import device_fit as fit

OUTPUT = os.path.join(fit.SOURCE_DIR, "docs/validation-cost.md")
WAYS = ("roofline", "nearest", "trees")
# a call's time has the launch in it, which is the host's: as in devices.py
LEAST_TABLE_US = 200
FOLDS = 5  # of widths: one of them is kept aside
TUNED = [(trees, depth, min_rows, 0.1) for trees in (50, 200) for depth in (3, 5) for min_rows in (20, 200)]
Row = collections.namedtuple("Row", "device op shapes type time_us more", defaults=((),))
MORE = ("kernels", "class", "operations", "bytes")  # of traces, as the program tells them


def halves(devices):
    """(to choose on, kept aside)"""
    devices = sorted(devices)
    return devices[0::2], devices[1::2]


# --- rows ----------------------------------------------------------------------------------------


def shapes_of(table, row):
    """The operation and its shapes, as a framework has them. A linear layer of NeuSight's multiplies [B * M, N] by [N, K] or, as its head
    says, [B, M, N] by [B, N, K]: device_fit.py has the same."""
    b, m, n, k = (int(row.get(key) or 0) for key in ("B", "M", "N", "K"))
    if table == "linear":
        return "aten::mm", f"[[{b * m},{k}],[{k},{n}]]"
    if table == "bmm":
        return "aten::bmm", f"[[{b},{m},{k}],[{b},{k},{n}]]"
    return ("aten::_softmax" if table == "softmax" else "aten::native_layer_norm"), f"[[{b},{int(row['H'])}]]"


def neusight_rows(data):
    times = {}
    for table in ("linear", "bmm", "softmax", "ln"):
        for half in ("train", "test"):
            path = os.path.join(data, f"costmodel/neusight/{half}/{table}.csv.gz")
            if not os.path.exists(path):
                continue
            with fit.gzip.open(path, "rt", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    op, shapes = shapes_of(table, row)
                    times.setdefault((fit.NEUSIGHT[row["Device"]], op, shapes), []).append(float(row["Latency"]) * 1e3)
    return [Row(*key, "fp32", statistics.median(measured)) for key, measured in times.items()
            if statistics.median(measured) >= LEAST_TABLE_US]


def trace_rows(program, data, folder):
    """Distinct calls of each trace, as the program has them."""
    rows = {}
    for number, (_, device, path) in enumerate(fit.TRACES):
        table = os.path.join(folder, f"calls{number}.csv")
        run(program, "train", os.path.join(data, path), "--calls", table, "-o", os.path.join(folder, "unused.json"), "-f")
        with open(table, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = (device, row["op"], row["shapes"], row["type"])
                rows.setdefault(key, []).append((float(row["time_us"]), tuple(row[name] for name in MORE)))
    return [Row(*key, statistics.median(time for time, _ in found), found[0][1]) for key, found in rows.items()]


def write_table(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("device", "op", "shapes", "type", "time_us", *(MORE if rows[0].more else ())))
        for row in rows:
            writer.writerow((*row[:4], f"{row.time_us:.4f}", *row.more))


# --- the program ---------------------------------------------------------------------------------


def run(program, *words):
    done = subprocess.run([program, "cost", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cost_models.py: tacho cost {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


Prediction = collections.namedtuple("Prediction", "device kind measured_us by_way chosen")


def predict(program, folder, trained, asked, options=()):
    """What a model of some rows says of others."""
    paths = [os.path.join(folder, name) for name in ("trained.csv", "asked.csv", "model.json")]
    write_table(paths[0], trained)
    write_table(paths[1], asked)
    run(program, "train", "--table", paths[0], "-o", paths[2], "-f", *options)
    answer = json.loads(run(program, "predict", paths[2], "--table", paths[1], "--json"))
    return [Prediction(row["device"], row["class"], row["measured_us"], {way: row[f"{way}_us"] for way in WAYS}, row["time_us"])
            for row in answer]


def hold_out(program, folder, rows, trained_on, asked_of, options=()):
    """Each device of `asked_of` predicted from those of `trained_on` without it."""
    predictions = []
    for device in asked_of:
        trained = [row for row in rows if row.device in trained_on and row.device != device]
        asked = [row for row in rows if row.device == device]
        if trained and asked:
            predictions += predict(program, folder, trained, asked, options)
    return predictions


def hold_out_widths(program, folder, rows):
    """The calls of a fifth of the widths (the last dimension of the last input), predicted from all others on all devices."""
    def is_aside(row):
        return zlib.crc32(row.shapes.rsplit(",", 1)[1].encode()) % FOLDS == 0

    return predict(program, folder, [row for row in rows if not is_aside(row)], [row for row in rows if is_aside(row)])


# --- figures -------------------------------------------------------------------------------------


def errors(predictions, way):
    """Percent, of calls of which every way tells something."""
    told = [p for p in predictions if all(p.by_way.values())]
    return [100 * abs((p.chosen if way == "chosen" else p.by_way[way]) / p.measured_us - 1) for p in told]


def mean(values):
    return statistics.fmean(values) if values else float("nan")


def figure(values, form):
    return "" if not values else f"{form(values):.1f}"


def table_of(predictions, key, title, out):
    out.write(f"| {title} | calls | roofline: mean % | median % | nearest: mean % | median % | trees: mean % | median % | chosen: mean % | "
              "median % |\n|---|---|---|---|---|---|---|---|---|---|\n")
    groups = {}
    for prediction in predictions:
        groups.setdefault(key(prediction), []).append(prediction)
    for name in sorted(groups) + ["all"]:
        group = predictions if name == "all" else groups[name]
        told = {way: [100 * abs(p.by_way[way] / p.measured_us - 1) for p in group if p.by_way[way]] for way in WAYS}
        told["chosen"] = [100 * abs(p.chosen / p.measured_us - 1) for p in group]
        cells = [f"{figure(told[way], mean)} | {figure(told[way], statistics.median)}" for way in (*WAYS, "chosen")]
        out.write(f"| {name} | {len(group)} | {' | '.join(cells)} |\n")
    out.write("\n")


HEAD = """# How near cost models come

*Written by `validate/cost_models.py` from tables and traces that others recorded; not by hand.* Paths are those in the folder of samples,
whose README names the origin of each. [cost-models.md](cost-models.md) describes the ways. Nothing is timed, so the page is the same each time.

Devices are parted into two halves by the order of their names, before anything is trained: every second one is kept aside. Parameters of
the trees were chosen on the first half alone (`cost_models.py --tune`, and the errors that training itself tells there): of those tried, deeper trees are
better on shapes held out, and on devices held out worse by one point at most. Errors are those of times
of calls, absolute, in percent of the measured time. *chosen* is what `tacho cost predict` answers if it is not told a way: for each class the one that was least off on
devices held out while the model was trained; it never saw the device that is asked for. *roofline* is with shares of the class, the median of those of the devices trained on;
*nearest* is scaled by it.

"""


def write_page(program, data, out, folder):
    out.write(HEAD)
    for heading, text, rows in (
        ("Tables of kernels", "NeuSight's tables (`costmodel/neusight`, single precision): products, batches of them, softmax and layer norm. Calls of "
         f"less than {LEAST_TABLE_US} us are left out, as in [validation-devices.md](validation-devices.md): the times are of calls, and those of short ones the "
         "host's.", neusight_rows(data)),
        ("Calls of traces", "Traces of PyTorch on devices (`kineto`, as listed in `validate/device_fit.py`). A call is all kernels of one operation with its shapes. There are few "
         "models, most of them on one device only, and devices of two makers: what is hardest.", trace_rows(program, data, folder))):
        chosen_on, aside = halves({row.device for row in rows})
        out.write(f"## {heading}\n\n{text}\n\nTo choose on: {', '.join(chosen_on)}. Kept aside: {', '.join(aside)}.\n\n"
                  "Devices kept aside, from all of the others:\n\n")
        held = hold_out(program, folder, rows, chosen_on, aside)
        table_of(held, lambda p: p.kind, "class", out)
        table_of(held, lambda p: p.device, "device", out)
        out.write("Each device of the half to choose on, from the rest of that half:\n\n")
        table_of(hold_out(program, folder, rows, chosen_on, chosen_on), lambda p: p.kind, "class", out)
        if heading == "Tables of kernels":
            out.write("Shapes kept aside instead of devices: the calls with a fifth of all widths (the last dimension), on all eight devices, from those with "
                      "the other widths:\n\n")
            table_of(hold_out_widths(program, folder, rows), lambda p: p.kind, "class", out)
    pairs = [row for row in trace_rows(program, data, folder) if row.device in ("H100", "MI300X")]
    out.write("## From an H100 to an MI300X, and back\n\nThe calls of four models that were recorded on both, from those of the one device alone: "
              "one device tells nothing of how the other maker's libraries use theirs.\n\n")
    table_of(hold_out(program, folder, pairs, ("H100", "MI300X"), ("H100", "MI300X")), lambda p: f"{p.kind}, on {p.device}", "class", out)


def tune(program, data, folder):
    rows = neusight_rows(data)
    chosen_on, _ = halves({row.device for row in rows})
    for trees, depth, min_rows, rate in TUNED:
        options = ("--trees", str(trees), "--depth", str(depth), "--min-rows", str(min_rows), "--rate", str(rate))
        predictions = hold_out(program, folder, rows, chosen_on, chosen_on, options)
        found = {way: errors(predictions, way) for way in WAYS}
        print(f"trees {trees} depth {depth} min-rows {min_rows} rate {rate}:",
              ", ".join(f"{way} {mean(found[way]):.2f} % ({statistics.median(found[way]):.2f})" for way in WAYS), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(fit.SOURCE_DIR, "build/default/bin/tacho"))
    parser.add_argument("--output", default=OUTPUT)
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    data = fit.data_folder()
    if not os.path.isdir(data):
        print(f"cost_models.py: no samples in {data}", file=sys.stderr)
        return fit.EXIT_SKIPPED
    with tempfile.TemporaryDirectory(prefix="tacho-cost-models-") as folder:
        if options.tune:
            tune(options.program, data, folder)
            return 0
        with open(options.output, "w", encoding="utf-8") as out:
            write_page(options.program, data, out, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
