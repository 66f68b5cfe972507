"""docs/validation.md, from results.json and predictions.json alone."""

import statistics
import time

SAME_GOAL = {"mean": 1.5, "worst": 4.0}
CHANGED_GOAL = {"mean": 3.0, "worst": 8.0}
# A part of an error is named as its cause where it is at least this share of it.
NAMED_SHARE = 0.4
# The source's recordings are named where they are this far from their own unrecorded runs.
NAMED_OFF_PCT = 2.0

INTRODUCTION = """# How near the replay comes

*Written by `validate/validate.py` from what it measured; not by hand. `make validate` measures again.*

`tacho replay` predicts the step time of a job with another link, other buckets, or more ranks. Here each prediction
is held against the same job, really run so, without tacho.

## How it is measured

- **Hosts.** Network namespaces, two but for *waits*, each with a host name of its own, joined by a veth pair; `tc tbf`
  limits the rate at both ends (segments of at most {segment_kib:g} KiB, burst {burst_kib:g} KiB). A link with
  latency is two TAP devices under the same `tbf`, and a relay, `validate/latency_relay.c`, that hands each
  frame on a fixed time later{relay}. There is one rank a host, pinned to a core with all its threads,
  `OMP_NUM_THREADS=1`. So what a rank sends and receives, it does on the core that it computes on. The hosts of *waits*
  each have such a pair to a switch, a bridge; there are more of them than cores, which they share.{links}
- **Job.** `examples/ddp_train.py`: PyTorch's DistributedDataParallel over gloo, nothing in it made for this.
  Where ranks outnumber cores (*waits*) `validate/timed_train.py`: the same, but ranks wait instead of computing, as
  long as a recorded rank computed before each of its gradients was there; communication is real.
- **Truth.** {rounds} unrecorded runs of each case, interleaved: each round goes once over all cases.
  A run's figure is, as `tacho replay` counts it, the median over the steps (all but the first) of the mean
  over the ranks, from end of optimizer step to end of optimizer step, by the job's own clock. *Measured* is
  the median of the runs, and in brackets the least and the greatest of them: {coverage}.
- **Predicted.** From recordings by `tacho record` on each host, replayed: of the *same* case,
  unchanged; and of *another* case, with `--what-if` for all in which the two differ. The other one is the
  model's base, and for the base itself the case with the fastest link and the smallest buckets.{recordings}
  Of a recorded run every third part of the steps is left unrecorded (`--control`), which tells the replay what
  recording takes.
  In brackets: between what bounds nine in ten predicted steps lie{of_all}.
- **Error** is predicted against measured, of measured. A mean is of the absolute errors. No case is left out.
"""

PARTS_EXPLAINED = """The error is taken apart, in ms, by critical paths across ranks, which `tacho replay --json` gives: of the
prediction, and of the target's own recordings replayed, each of the recording whose prediction is the median one.
What they differ by in *compute* (operations), *communication* (transfers), *host* (time between operations) and
*wait* is what was predicted wrong. The rest is not the what-if's doing: *step* is by how much the two steps
whose paths these are lie off their medians, *replay* by how much the replay of that recording of the target, which
leaves out what recording took as far as that is known, differs from the recording, and *run* by how much that
recording differs from the unrecorded runs: what recording costs, and what two runs differ by anyway.
Negative: predicted too short.
"""

RELATIVE_EXPLAINED = """
*Beside the recordings' own error*: recordings in slow minutes of the machine, or slowed by recording, make every
prediction from them too long, their own case's first. These rows hold a prediction against the measured step times
as much longer or shorter as the source's own case came out: what the what-ifs, and not the recordings, got wrong.

*From one recording instead of all*: each recording's own prediction, of which the others are the medians. So far can
one be off who records once.

*A run beside the others*: what a perfect prediction of one run would be wrong by. Each unrecorded run takes the place
of the prediction of its own case, and the median of the case's other runs that of what was measured.
"""

INTERVALS_EXPLAINED = """
A prediction comes with intervals. Below stands how often they held what was measured: the median of the unrecorded runs,
and, in the mean over the predictions, each single step of these runs. The interval of the steps is made to hold
nine in ten steps of a run like those recorded; that of the recordings, from the least to the greatest prediction of
one of them, to hold the median of all recordings by the chance given, were they independent. Both know of what differs
between steps and between recordings alone: not of what the model gets wrong.

"""


def median_and_bounds(values):
    return statistics.median(values), min(values), max(values)


def measured_of(data, name):
    """(median, least, greatest) of the runs, or None."""
    values = [run["step_ms"] for run in data["runs"] if run["case"] == name]
    return median_and_bounds(values) if values else None


def error_pct(data, prediction):
    measured = measured_of(data, prediction["case"])
    if "error" in prediction or not measured:
        return None
    return 100 * (prediction["predicted_ms"] - measured[0]) / measured[0]


def error_parts(data, prediction):
    """What the error is made of, in ms; the parts add up to it. None: the target's own recordings
    could not be replayed."""
    if "own_parts_ms" not in prediction:
        return None
    measured_ms = measured_of(data, prediction["case"])[0]
    path = {part: ms - prediction["own_parts_ms"].get(part, 0)
            for part, ms in prediction["parts_ms"].items()}
    parts = dict(path)
    parts["replay"] = prediction["own_replayed_ms"] - prediction["own_recorded_ms"]
    parts["run"] = prediction["own_recorded_ms"] - measured_ms
    parts["step"] = prediction["predicted_ms"] - measured_ms - sum(parts.values())
    return parts


CAUSES = {
    "compute": "operations on the critical path take {longer} than in a run so configured",
    "communication": "transfers on the critical path take {longer} than in a run so configured",
    "host": "time between operations on the critical path is {longer} than in a run so configured",
    "wait": "waits that no work explains are {longer} than in a run so configured",
    "replay": "the target's own recording, replayed unchanged, comes out {longer}, too",
    "run": "recorded runs were {longer} than the unrecorded ones: what recording costs, or another "
           "hour of the machine",
    "step": "the paths compared are of steps that are not quite their runs' medians",
}


def why(data, prediction):
    """A sentence: the parts that make most of the error."""
    parts = error_parts(data, prediction)
    if parts is None:
        return "the target's own recordings cannot be replayed"
    total = sum(parts.values())
    ranked = sorted(parts.items(), key=lambda item: -item[1] * (1 if total > 0 else -1))
    named = [(part, ms) for part, ms in ranked if ms / total >= NAMED_SHARE] or ranked[:1]
    sentences = [CAUSES[part].format(longer="longer" if ms > 0 else "shorter")
                 + f" ({ms:+.1f} of {total:+.1f} ms)" for part, ms in named]
    return "; ".join(sentences) + why_of_source(data, prediction)


def why_of_source(data, prediction):
    """What the recordings that it is predicted from bring with them, where that is much."""
    measured = measured_of(data, prediction["source"])
    if is_same(prediction) or not measured:
        return ""
    off_pct = 100 * (prediction["source_recorded_ms"] / measured[0] - 1)
    if abs(off_pct) < NAMED_OFF_PCT or (off_pct > 0) != (error_pct(data, prediction) > 0):
        return ""
    return (f"; the recordings it is predicted from have themselves steps {abs(off_pct):.1f} % "
            f"{'longer' if off_pct > 0 else 'shorter'} than their configuration's unrecorded runs")


def settings(case):
    ranks = f"{case['ranks']} ranks, " if case["ranks"] != 2 else ""
    return f"{ranks}{case['rate_mbit']:g} Mbit/s, {case['bucket_mb']:g} MB, {case['latency_ms']:g} ms"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def prediction_rows(data, predictions):
    part_names = ("compute", "communication", "host", "wait", "step", "replay", "run")
    rows = []
    for prediction in predictions:
        case = data["cases"][prediction["case"]]
        measured = measured_of(data, prediction["case"])
        row = [settings(case),
               " ".join(f"`{change}`" for change in prediction["what_ifs"]) or "-",
               f"{measured[0]:.1f} [{measured[1]:.1f}, {measured[2]:.1f}]"]
        if "error" in prediction:
            rows.append(row + [f"refused: {prediction['error']}", "-"] + ["-"] * len(part_names))
            continue
        low, high = prediction["interval_ms"]
        parts = error_parts(data, prediction)
        row += [f"{prediction['predicted_ms']:.1f} [{low:.1f}, {high:.1f}]",
                f"**{error_pct(data, prediction):+.1f}**"]
        row += [f"{parts[name]:+.1f}" for name in part_names] if parts else ["-"] * len(part_names)
        rows.append(row)
    header = ["link, buckets, latency", "asked", "measured ms", "predicted ms", "error %"]
    return table(header + list(part_names), rows)


def is_same(prediction):
    return prediction["case"] == prediction["source"]


def changed_kinds(prediction):
    names = {"bandwidth": "rate alone", "latency": "latency alone", "bucket_mb": "buckets alone",
             "ranks": "ranks alone"}
    keys = [change.split("=")[0] for change in prediction["what_ifs"]]
    return names[keys[0]] if len(keys) == 1 else "several at once"


def relative_error_pct(data, prediction):
    """The error less that of the source's own recordings, which every prediction from them inherits."""
    own = [row for row in data["predictions"]
           if is_same(row) and row["case"] == prediction["source"] and "error" not in row]
    error = error_pct(data, prediction)
    if error is None or not own:
        return None
    return 100 * ((1 + error / 100) / (1 + error_pct(data, own[0]) / 100) - 1)


def summary_row(name, data, predictions, goal, error_of=error_pct):
    errors = [error_of(data, prediction) for prediction in predictions]
    known = [abs(error) for error in errors if error is not None]
    refused = len(errors) - len(known)
    goals = [f"<= {goal[key]:g}" if goal else "" for key in ("mean", "worst")]
    return [name, str(len(errors)) + (f" ({refused} refused)" if refused else ""),
            f"{statistics.fmean(known):.2f}" if known else "-", goals[0],
            f"{max(known):.2f}" if known else "-", goals[1]]


def summary(data, models):
    predictions = data["predictions"]
    rows = []
    for is_wanted, name, goal in ((is_same, "same configuration", SAME_GOAL),
                                  (lambda row: not is_same(row), "changed configuration", CHANGED_GOAL)):
        group = [row for row in predictions if is_wanted(row)]
        rows.append(summary_row(f"**{name}**", data, group, goal))
        for model in models:
            rows.append(summary_row(f"- {model}", data, [
                row for row in group if data["cases"][row["case"]]["model"] == model], None))
        for kind in dict.fromkeys(changed_kinds(row) for row in group if row["what_ifs"]):
            rows.append(summary_row(f"- {kind}", data, [
                row for row in group if changed_kinds(row) == kind], None))
    rows.append(summary_row("*changed, beside the recordings' own error*", data, group, None,
                            relative_error_pct))
    for model in models:
        rows.append(summary_row(f"- {model}", data, [
            row for row in group if data["cases"][row["case"]]["model"] == model], None,
            relative_error_pct))
    rows += single_rows(data, predictions)
    rows += run_rows(data, models)
    return (table(["predicted", "cases", "mean error %", "goal", "worst %", "goal"], rows) + RELATIVE_EXPLAINED
            + INTERVALS_EXPLAINED + interval_table(data))


def single_rows(data, predictions):
    """What predictions from one recording alone are off by, where each case has several."""
    rows = []
    for is_wanted, name in ((is_same, "same"), (lambda row: not is_same(row), "changed")):
        errors = [abs(100 * (recording["predicted_step_ms"] / measured_of(data, row["case"])[0] - 1))
                  for row in predictions if is_wanted(row) and len(row.get("recordings", [])) > 1
                  for recording in row["recordings"]]
        if errors:
            rows.append([f"*{name}, from one recording instead of all*", f"{len(errors)} recordings",
                         f"{statistics.fmean(errors):.2f}", "", f"{max(errors):.2f}", ""])
    return rows


def is_within(value, bounds):
    return bounds[0] <= value <= bounds[1]


def measured_steps(data, name):
    """Every step of the case's unrecorded runs: the mean over the ranks."""
    return [statistics.fmean(step) for run in data["runs"] if run["case"] == name
            for step in zip(*run["steps_ms"])]


def held(data, predictions, bounds_of):
    """How many of the intervals hold the measured median, and the mean share of measured steps in them.
    `bounds_of`: the intervals of a prediction."""
    medians, shares = [], []
    for row in predictions:
        steps = measured_steps(data, row["case"])
        for bounds in bounds_of(row):
            medians.append(is_within(measured_of(data, row["case"])[0], bounds))
            shares.append(100 * statistics.fmean(is_within(step, bounds) for step in steps))
    return (f"{sum(medians)} of {len(medians)}", f"{statistics.fmean(shares):.0f} %") if medians else ("-", "-")


def median_is_meant(predictions):
    shares = {round(row["recordings_median_pct"]) for row in predictions if "recordings_median_pct" in row}
    return f"{' or '.join(str(share) for share in sorted(shares))} % of medians" if shares else "-"


def interval_table(data):
    """How often the intervals that go with predictions held what was measured."""
    predictions = [row for row in data["predictions"] if "error" not in row]
    kinds = (("nine in ten steps, of one recording", "90 % of steps",
              lambda row: [(one["low_ms"], one["high_ms"]) for one in row.get("recordings", [])]),
             ("nine in ten steps, of all recordings", "90 % of steps", lambda row: [row["interval_ms"]]),
             ("least to greatest recording", median_is_meant(predictions),
              lambda row: [row["recordings_interval_ms"]] if "recordings_interval_ms" in row else []))
    rows = []
    for name, meant, bounds_of in kinds:
        row = [name, meant]
        for is_wanted in (is_same, lambda prediction: not is_same(prediction)):
            row += held(data, filter(is_wanted, predictions), bounds_of)
        rows.append(row)
    return table(["interval", "meant to hold", "same: held the median", "measured steps in it",
                  "changed: held the median", "measured steps in it"], rows)


def run_rows(data, models):
    """How far one unrecorded run is from the median of the others of its case, as predictions are counted."""
    errors = {name: [] for name in models}
    for name, case in data["cases"].items():
        values = [run["step_ms"] for run in data["runs"] if run["case"] == name]
        for i, value in enumerate(values):
            others = values[:i] + values[i + 1:]
            if others and case["model"] in errors:
                errors[case["model"]].append(abs(100 * (value / statistics.median(others) - 1)))
    rows = [("*a run beside the others*", sum(errors.values(), []))]
    rows += [(f"- {name}", errors[name]) for name in models]
    return [[name, f"{len(known)} runs", f"{statistics.fmean(known):.2f}", "", f"{max(known):.2f}", ""]
            for name, known in rows if known]


def outliers(data, predictions):
    lines = []
    for prediction in predictions:
        goal = (SAME_GOAL if is_same(prediction) else CHANGED_GOAL)["worst"]
        error = error_pct(data, prediction)
        what = (f"**{prediction['case']}**, from " +
                ("its own recordings" if is_same(prediction) else prediction["source"]))
        if error is None:
            lines.append(f"- {what}: refused: {prediction['error']}")
        elif abs(error) > goal:
            lines.append(f"- {what} ({error:+.1f} %): {why(data, prediction)}.")
    return lines


def recording_cost(data):
    """What the recorded runs took beside the unrecorded ones, over all cases."""
    ratios = [100 * (run["step_ms"] / measured_of(data, run["case"])[0] - 1)
              for run in data["recordings"] if measured_of(data, run["case"])]
    return statistics.median(ratios) if ratios else 0.0


def excess_of_recorded_steps(data):
    """What recorded steps took beside the control steps of their own runs."""
    return statistics.median(100 * (run["step_ms"] / run["control_ms"] - 1)
                             for run in data["recordings"] if "control_ms" in run)


def spread(data):
    """Half the range of a case's runs, in percent of their median: the median over the cases, and
    the greatest."""
    halves = []
    for name in data["cases"]:
        measured = measured_of(data, name)
        if measured:
            halves.append(50 * (measured[2] - measured[1]) / measured[0])
    return statistics.median(halves), max(halves)


def recordings_sentence(data):
    """What is made of several."""
    counts = [sum(run["case"] == name for run in data["recordings"]) for name in data["cases"]]
    least, most = min(counts), max(counts)
    times = f"{most}" if least == most else f"{least} to {most}"
    return (f"\n  Each case is recorded {times} times, and all its recordings are given to `tacho replay` together: what is\n"
            "  predicted is the median of what each of them predicts." if most > 1 else "")


def relay_sentence(data):
    runs = [run for run in data["runs"] if run.get("relay") and run["relay"]["frames"]]
    if not runs:
        return ""
    cpu = statistics.median(100 * run["relay"]["cpu_s"] / run["wall_s"] for run in runs)
    late = statistics.median(run["relay"]["mean_late_us"] for run in runs)
    return (f" (measured: {late:.0f} us late in the mean; it takes {cpu:.0f} % of a core, which includes "
            f"the TCP receiving that its writes cause)")


def introduction(data):
    from hosts import BURST_BYTES, SEGMENT_BYTES

    counts = [sum(run["case"] == name for run in data["runs"]) for name in data["cases"]]
    n = min(counts)
    rounds = str(n) if n == max(counts) else f"{n} to {max(counts)}"
    coverage = (f"for {n} runs these hold the true median with a probability of {100 - 100 * 2 ** (1 - n):.1f} %"
                if n > 1 else "of one run")
    return INTRODUCTION.format(segment_kib=SEGMENT_BYTES / 1024, burst_kib=BURST_BYTES / 1024,
                               rounds=rounds, coverage=coverage, relay=relay_sentence(data), links=links_sentence(data),
                               recordings=recordings_sentence(data),
                               of_all=", of all recordings" if recordings_sentence(data) else "")


def links_sentence(data):
    """What links of each rate carry."""
    if not data.get("links"):
        return ""
    links = ", ".join(f"{name.removesuffix('-switch').removesuffix('mbit')}"
                      f"{' at the switch' if name.endswith('-switch') else ''}: {mbit:g}"
                      for name, mbit in sorted(data["links"].items(), key=lambda link: link[1]))
    return (f" A link carries less than its rate. Measured with both ways in use ({hours([{'at': data['links_at']}])}), in "
            f"Mbit/s of what programs send: {links}. `bandwidth` is asked for in proportion to these.")


def hours(runs):
    clock = [time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))
             for at in (min(run["at"] for run in runs), max(run["at"] for run in runs))]
    if clock[0] == clock[1]:
        return f"{clock[0]} UTC"
    return f"{clock[0]} to {clock[1][11:] if clock[1][:10] == clock[0][:10] else clock[1]} UTC"


def machine_sentence(data):
    machine = data["machine"]
    typical, worst = spread(data)
    return (f"Machine: {machine['processor']}, virtual, {machine['cores']} cores, "
            f"{machine['memory_gib']} GiB, Linux {machine['kernel']}, Python {machine['python']}, "
            f"PyTorch {machine['torch']}. Runs of one case differ by ±{typical:.1f} % from each other "
            f"(median over the cases; ±{worst:.1f} % at worst): no prediction can be held to less. A "
            f"recorded run's steps take {recording_cost(data):+.1f} % of an unrecorded one's more (median), "
            f"and {excess_of_recorded_steps(data):+.1f} % more than its own control steps. The "
            f"runs are of {hours(data['runs'])}, the recordings of {hours(data['recordings'])}.\n")


def model_section(data, name, model):
    rows = [row for row in data["predictions"] if data["cases"][row["case"]]["model"] == name]
    options = " ".join(data["cases"][model.base.name]["options"])
    how = "`validate/timed_train.py`" if model.waits_of else f"`--model {name} {options}`"
    runs = [run for run in data["runs"] if data["cases"][run["case"]]["model"] == name]
    text = f"## {name}\n\n{model.about[0].upper()}{model.about[1:]} ({how}). Runs of {hours(runs)}.\n\n"
    text += "From its own recordings:\n\n" + prediction_rows(data, filter(is_same, rows))
    sources = dict.fromkeys(row["source"] for row in rows if not is_same(row))
    for source in sources:
        text += f"\nFrom the recordings of {settings(data['cases'][source])}:\n\n"
        text += prediction_rows(data, [row for row in rows
                                       if row["source"] == source and not is_same(row)])
    return text + "\n"


def write(data, models, is_full):
    """The page's text. Models that are not measured to the end are named as missing."""
    predicted = {data["cases"][row["case"]]["model"] for row in data["predictions"]}
    if not predicted:
        return "# How near the replay comes\n\nNo model is measured to the end yet.\n"
    text = introduction(data) + "\n" + machine_sentence(data) + "\n## Result\n\n"
    text += summary(data, predicted_models := [name for name in models if name in predicted])
    missing = [name for name in models if name not in predicted]
    if missing:
        text += f"\nNot measured to the end: {', '.join(missing)}.\n"
    lines = outliers(data, data["predictions"])
    if lines:
        text += "\nWorse than the goal's worst:\n\n" + "\n".join(lines) + "\n"
    text += "\n" + PARTS_EXPLAINED + "\n"
    for name in predicted_models:
        text += model_section(data, name, models[name])
    return text + after_word(is_full)


def after_word(is_full):
    which = ("Every combination of rate, buckets and latency is here." if is_full else
             "One thing at a time is changed around a base, and several at the corners; `FULL=1 make validate` "
             "measures every combination.")
    return f"""## To measure it again

`make validate` (as root, most of an hour) measures what `build/validation/results.json` does not have yet,
predicts all and writes this page; stopped, it goes on where it was. `make validate-quick` shows in a minute
or two that the kit works here. `validate/validate.py --predict` predicts again without measuring, after a
change to the replay. {which}
"""
