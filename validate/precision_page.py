"""docs/validation-precision.md: what was predicted of mixed precision beside what was measured."""

import random
import statistics

ABLATIONS = {"no_casts_ms": ["--no-casts"]}  # key in predicted.json -> options of `tacho precision predict`
MAX_DRIFT = 0.10  # of a round's fp32 from the median of all rounds: a round beyond that is left out
N_BOOTSTRAP = 1000

HEAD = """# How near predictions of mixed precision come

*Written by `validate/precision.py page` from what it measured; not by hand.*

Six models ({models}) were recorded in fp32, bf16 and int8 (`tacho record --precision`), and casts were measured (`tacho calibrate casts`). From
that alone, 25 plans of each model were predicted: three uniform ones, regular ones (halves, alternating, one operation, all but one, one kind),
and sixteen at random from a seed (`validate/precision_plans.py`); besides, the plans that `tacho precision plan` found. The predictions were
committed before any plan was run. Then all plans of a model were run in rounds, each plan once a round, in an order that changes, some rounds in one process and
some in the next. *Measured* is the median of the rounds. The models {aside} were set aside: nothing of a prediction was fitted to them.

The machine is not equally fast at all times, so all predictions of a model are multiplied by one number, how long a step in fp32 took
when it was measured by how long it was predicted to take; it is told as *speed*. fp32 is then right by itself, and is not counted. A round whose fp32
is more than {drift:.0f} % off the median of all rounds is left out.
"""


def kept_of(answer):
    """What is kept of the answer of `tacho precision predict --json`. What operations take in the plan's precisions, summed up without casts
    and without what follows them, is the prediction that others are held against (`naive_ms`)."""
    keys = ("predicted_step_ms", "reference_step_ms", "interval_ms", "saved_bytes", "peak_bytes", "measured_pct")
    kept = {key: answer[key] for key in keys if answer.get(key) is not None}
    chosen = [row for row in answer["operations"] if row.get("rule", "chosen") == "chosen"]
    kept["naive_ms"] = answer["reference_step_ms"] + sum(row["predicted_ms"] - row["reference_ms"] for row in chosen)
    return kept


# --- statistics -------------------------------------------------------------------------------


def ranks_of(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for i in order[at:end + 1]:
            ranks[i] = (at + end) / 2
        at = end + 1
    return ranks


def correlation(a, b):
    mean_a, mean_b = statistics.fmean(a), statistics.fmean(b)
    over = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    under = (sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)) ** 0.5
    return over / under if under else float("nan")


def spearman(a, b):
    return correlation(ranks_of(a), ranks_of(b)) if len(a) > 2 else float("nan")


def interval(values, seed):
    """Between which bounds 95 of 100 medians of such rounds lie."""
    rng = random.Random(seed)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(N_BOOTSTRAP))
    return medians[int(0.025 * N_BOOTSTRAP)], medians[int(0.975 * N_BOOTSTRAP)]


# --- one model --------------------------------------------------------------------------------


def times_of(measured, model):
    """{plan: [ms of each round]}, and how many rounds were left out."""
    rounds = [{plan: statistics.median(times) for plan, times in row["times_ms"].items()}
              for row in measured["rounds"] if row["model"] == model]
    if not rounds:
        return {}, 0
    usual = statistics.median(row["fp32"] for row in rounds)
    kept = [row for row in rounds if abs(row["fp32"] / usual - 1) <= MAX_DRIFT]
    return {plan: [row[plan] for row in kept] for plan in rounds[0]}, len(rounds) - len(kept)


class Model:
    def __init__(self, name, predicted, measured, is_aside):
        self.name = name
        self.is_aside = is_aside
        self.rows = {row["plan"]: row for row in predicted["predictions"] if row["model"] == name}
        self.times, self.n_left_out = times_of(measured, name)
        self.n_rounds = len(self.times.get("fp32", []))
        self.refused = [plan for plan, row in self.rows.items() if "error" in row]
        self.speed = None
        if self.n_rounds and "predicted_step_ms" in self.rows.get("fp32", {}):
            self.speed = self.truth("fp32") / self.rows["fp32"]["predicted_step_ms"]

    def truth(self, plan):
        return statistics.median(self.times[plan])

    def plans(self):
        return [plan for plan, row in self.rows.items() if plan in self.times and "error" not in row]

    def errors(self, key="predicted_step_ms"):
        """{plan: error in %} without fp32."""
        base = self.rows["fp32"].get(key)
        if not self.speed or not base:
            return {}
        speed = self.truth("fp32") / base
        return {plan: 100 * (self.rows[plan][key] * speed / self.truth(plan) - 1)
                for plan in self.plans() if plan != "fp32" and key in self.rows[plan]}


def number(value, form="{:.1f}"):
    return "" if value is None or value != value else form.format(value)


def summary_row(model):
    errors = list(model.errors().values())
    if not errors:
        return f"| {model.name} | {'yes' if model.is_aside else ''} | {model.n_rounds} | | | | | | | | |"
    plans = [plan for plan in model.plans() if plan != "fp32"]
    rank = spearman([model.rows[p]["predicted_step_ms"] for p in plans], [model.truth(p) for p in plans])
    without = list(model.errors("no_casts_ms").values())
    naive = list(model.errors("naive_ms").values())
    mean = statistics.fmean(abs(e) for e in errors)
    return "| " + " | ".join([
        model.name, "yes" if model.is_aside else "", f"{model.n_rounds} (-{model.n_left_out})", number(100 * (model.speed - 1), "{:+.1f}"),
        str(len(errors)), f"**{mean:.1f}**", number(max(abs(e) for e in errors)), number(statistics.fmean(errors), "{:+.1f}"),
        number(rank, "{:.3f}"), number(statistics.fmean(abs(e) for e in without)) if without else "",
        number(statistics.fmean(abs(e) for e in naive)) if naive else "",
    ]) + " |"


def plan_rows(model):
    errors, without = model.errors(), model.errors("no_casts_ms")
    for plan in model.plans():
        low, high = interval(model.times[plan], plan)
        row = model.rows[plan]
        told = row["predicted_step_ms"] * model.speed
        yield "| " + " | ".join([
            plan, f"{model.truth(plan):.2f} [{low:.2f}, {high:.2f}]", f"{told:.2f}", number(errors.get(plan), "**{:+.1f}**"),
            number(without.get(plan), "{:+.1f}")]) + " |"


# --- memory, harm, what was found -------------------------------------------------------------


def memory_lines(models, measured, kept):
    later = [f"Predicted by tacho at {kept['tacho']} from recordings of its own, after they had been measured: what the first predictions had twice of attention was mended "
             "then.", ""] if kept else []
    again = {(row["model"], row["plan"]): row["saved_bytes"] for row in kept.get("predictions", []) if "saved_bytes" in row}
    lines = ["## What forward passes keep", "", *later,
             "Bytes that the model keeps for the backward pass, each storage once, without parameters, buffers and the loss (PyTorch's hooks of saved tensors), and as predicted.", "",
             "| model | plans | exact | worst, % |", "|---|---|---|---|"]
    n = 0
    for model in models:
        told = {row["plan"]: row for row in measured["memory"] if row["model"] == model.name}
        pairs = [(again.get((model.name, p), model.rows[p]["saved_bytes"]), told[p]["saved_bytes"]) for p in model.rows
                 if p in told and "saved_bytes" in model.rows[p]]
        if pairs:
            n += 1
            lines.append(f"| {model.name} | {len(pairs)} | {sum(round(a) == b for a, b in pairs)} | "
                         f"{max(abs(100 * (a / b - 1)) for a, b in pairs):.2f} |")
    return lines + [""] if n else []


PEAK_GOAL_PCT = 3


def peak_verdict(errors):
    """errors: {model: [%]}"""
    every = [abs(e) for of in errors.values() for e in of]
    missed = [f"{name} ({max(of, key=abs):+.1f} %)" for name, of in errors.items() if max(map(abs, of)) > PEAK_GOAL_PCT]
    return (f"To pass: within {PEAK_GOAL_PCT} %. {sum(e <= PEAK_GOAL_PCT for e in every)} of {len(every)} plans are; the mean error is "
            f"{statistics.fmean(every):.1f} %" + (f". Worst of models that miss it: {', '.join(missed)}." if missed else "."))


def peak_head(memory):
    """By what, and where: peaks are predicted and measured apart from times."""
    if not memory:
        return []
    machine = memory.get("machine", {})
    bf16 = "" if machine.get("has_bf16", True) else ", which has no instructions for bf16"
    return [f"Predicted by tacho at {memory['tacho']}, later than the times and from recordings of its own (one in each precision). Of models set "
            f"aside predictions were committed before the jobs ran; the others were measured while the model of memory was mended. All ran on {machine.get('processor', 'one machine')}{bf16}: which kernels run, and what scratch they take, is of that "
            "machine. Other jobs ran beside: what is held does not hang on it.", ""]


def peak_lines(models, measured, memory):
    lines = ["## The most that is held", "",
             "What the allocator's probe saw of jobs that `tacho apply` ran with the plan, and as predicted; without what was there before the recorded steps (parameters, what the optimizer keeps).", "",
             *peak_head(memory), "| model | set aside | plan | seen, MB | predicted, MB | error, % |", "|---|---|---|---|---|---|"]
    told = {(row["model"], row["plan"]): row for row in memory.get("predictions", [])}
    errors = {}
    for model in models:
        for row in measured.get("peaks", []):
            peak = told.get((model.name, row["plan"]), model.rows.get(row["plan"], {})).get("peak_bytes")
            if row["model"] == model.name and peak:
                errors.setdefault(model.name, []).append(100 * (peak / row["peak_bytes"] - 1))
                lines.append(f"| {model.name} | {'yes' if model.is_aside else ''} | {row['plan']} | {row['peak_bytes'] / 1e6:.2f} | "
                             f"{peak / 1e6:.2f} | {errors[model.name][-1]:+.1f} |")
    return [*lines, "", peak_verdict(errors), ""] if errors else []


# What each indicator says it predicts; those that are held against come from others, as they coded them.
AIMS = {"loss": "loss_change", "hessian": "loss_change", "direct": "loss_change", "gradient": "gradient_change2",
        "variance": "gradient_change2", "direct-gradient": "gradient_change2"}
HELD_AGAINST = ("wvar", "gvar", "hess")
LEAST_RANK = 0.8


def harm_ranks(predicted, measured, name):
    """{indicator: {"gradient_change2" and "loss_change": Spearman's correlation with it}} of a model's operations and precisions."""
    truth = {(r["module"], r["kind"], r["ordinal"], r["precision"]): r for r in measured["harm"] if r["model"] == name}
    ranks = {}
    for kind, told in predicted.get("indicators", {}).get(name, {}).items():
        rows = [(r["harm"], truth[key]) for r in told
                if (key := (r["module"], r["kind"], r["ordinal"], r["precision"])) in truth and r["harm"] is not None]
        if len(rows) > 2:
            ranks[kind] = {aim: spearman([v for v, _ in rows], [t[aim] for _, t in rows]) for aim in set(AIMS.values())}
    return ranks


def harm_verdicts(ranks):
    """Of each indicator in how many models it orders well enough, in how many better than the others, and in how many both."""
    for kind, aim in AIMS.items():
        own = [of for of in ranks.values() if kind in of]
        good = [of[kind][aim] >= LEAST_RANK for of in own]
        best = [all(of[kind][aim] > of[other][aim] for other in HELD_AGAINST if other in of) for of in own]
        if own:
            yield (f"*{kind}*, of the {'loss' if aim == 'loss_change' else 'gradient'}: {LEAST_RANK} or more in {sum(good)} of {len(own)} models, "
                   f"above {', '.join(HELD_AGAINST)} in {sum(best)}, both in {sum(map(all, zip(good, best)))}.")


def harm_lines(predicted, measured, names):
    """How well indicators order operations by what they do to the loss and to gradients."""
    ranks = {name: of for name in names if (of := harm_ranks(predicted, measured, name))}
    if not ranks:
        return []
    lines = ["## What harm is told to be", "",
             "Spearman's correlation of an indicator with the measured change, over operations and precisions: of the gradient, in brackets of the loss. "
             "What operations do to both was measured after the times, of the weights after five steps and 20 batches. *direct* and *direct-gradient* "
             "are measurements, too (`tacho record --precision-direct`), in other steps of the job, by a model of the loss behind the network; the others are "
             "predicted from the tensors' statistics.", ""]
    shown = sorted({kind for of in ranks.values() for kind in of})
    lines += ["| model | " + " | ".join(shown) + " |", "|---" * (len(shown) + 1) + "|"]
    for name, of in ranks.items():
        cells = [f"{of[kind]['gradient_change2']:.2f} ({of[kind]['loss_change']:.2f})" if kind in of else "" for kind in shown]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", f"To pass: {LEAST_RANK} or more, and above the three others, in most models."]
    return lines + [f"- {verdict}" for verdict in harm_verdicts(ranks)] + [""]


def found_lines(models, measured):
    lines = ["## Plans that tacho found", "",
             "*fastest* is the plan within 1.0 of the fastest; *beaten by* is how many of the 25 plans ran faster by more than both intervals. *held* are "
             "bounds (1.0, 1.1 and 1.5 of the fastest) that the plan kept when it was run, within its interval.", "",
             "| model | fastest, ms | best of the 25, ms | beaten by | held |", "|---|---|---|---|---|"]
    n = 0
    for model in models:
        if "within 1" not in model.times:
            continue
        n += 1
        fastest = model.truth("within 1")
        others = {p: model.truth(p) for p in model.plans() if not p.startswith("within")}
        best = min(others, key=others.get)
        high = interval(model.times["within 1"], "fastest")[1]
        low = interval(model.times["within 1"], "fastest")[0]
        beaten = sum(interval(model.times[p], p)[1] < low for p in others)
        bounds = [(b, f"within {b:g}") for b in (1.0, 1.1, 1.5) if f"within {b:g}" in model.times]
        held = sum(interval(model.times[p], p)[0] <= b * high for b, p in bounds)
        lines.append(f"| {model.name} | {fastest:.2f} | {others[best]:.2f} ({best}) | {beaten} | {held} of {len(bounds)} |")
    return lines + [""] if n else []


def training_lines(measured, names):
    rows = measured["training"]
    if not rows:
        return ["## Losses", "", "Trainings with the plans that tacho found were not measured: where the other parts were, a processor has no "
                "instructions for bf16, a step in it takes some twenty times one in fp32, and 300 steps of each plan and seed hours.", ""]
    lines = ["## Losses", "", "Mean loss of the last 20 of some hundred steps, over the seeds, by plan.", "",
             "| model | steps | seeds | " + " | ".join(plans := sorted({r["plan"] for r in rows})) + " |",
             "|---" * (len(plans) + 3) + "|"]
    for name in names:
        own = [r for r in rows if r["model"] == name]
        if own:
            cells = [[r["last_loss"] for r in own if r["plan"] == plan] for plan in plans]
            lines.append(f"| {name} | {own[0]['steps']} | {len({r['seed'] for r in own})} | "
                         + " | ".join(f"{statistics.fmean(c):.5g}" if c else "" for c in cells) + " |")
    return lines + [""]


def write(predicted, measured, memory, kept, aside):
    """The page's text."""
    names = list(predicted["models"])
    models = [Model(name, predicted, measured, name in aside) for name in names]
    machine = measured.get("machine") or {}
    lines = [HEAD.format(models=", ".join(names), aside=", ".join(n for n in names if n in aside) or "-", drift=100 * MAX_DRIFT)]
    if machine:
        lines += [f"Measured on {machine['processor']}, one thread, PyTorch {machine['torch']}; predictions by tacho at {predicted.get('tacho')}.", ""]
    lines += ["| model | set aside | rounds (left out) | speed, % | plans | mean error, % | worst, % | bias, % | rank correlation | without casts, mean % | naive, mean % |",
              "|---|---|---|---|---|---|---|---|---|---|---|"]
    lines += [summary_row(model) for model in models]
    lines += ["", "*Naive* adds up what operations take in the precisions of the plan, without casts and without what follows operations.",
              "To pass: mean <= 4, worst <= 8, bias within 2, rank correlation >= 0.98, and better than naive.", ""]
    refused = [f"{model.name}: {len(model.refused)}" for model in models if model.refused]
    if refused:
        lines += ["Refused plans: " + ", ".join(refused) + ".", ""]
    lines += memory_lines(models, measured, kept) + peak_lines(models, measured, memory) + harm_lines(predicted, measured, names)
    lines += found_lines(models, measured) + training_lines(measured, names)
    for model in models:
        if model.speed:
            lines += [f"## {model.name}", "", "| plan | measured, ms | predicted, ms | error, % | without casts, % |", "|---|---|---|---|---|"]
            lines += [*plan_rows(model), ""]
    return "\n".join(lines)
