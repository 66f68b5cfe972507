"""docs/validation-kit.md: the kinds of the kit, both halves apart."""

import statistics

import model_error
from kinds import BASE

HEAD = """# How near the replay comes, on jobs that it was not made for

*Written by `validate/kit.py page` from what it measured; not by hand.*

Each kind of job (`validate/kinds.ini`) was recorded at {base_rate} Mbit/s without latency, and predicted from that at other
rates and latencies. It was then run there, unrecorded. *Measured* is the median of the runs, each of which is the median of
its steps; in brackets are the least and the greatest run. A run goes through all rates one after the other, while the job goes
on. *Error* is predicted against measured. {run_so}

`async_server` answers whoever comes first. Who that is decides who comes first in the next step, so the job settles into one of several
orders, and keeps it: runs of it differ by a fifth, and a latency can make it faster, because it brings another order. A replay has the order
of its recording. No prediction from one recording is held to less than that.

`powersgd` was set aside, and predicted worst: 14 % off in the mean, and 25 at worst. Who waited for the all-reduces that its hook queues was not
found. It is now ([0065](decisions/0065-what-hangs-on-an-end.md)), so the kind counts as tuned, and `scaled` took its place. Its first two steps are plain
all-reduces, which the recording has and the measured steps have not.

The kinds **set aside** were predicted before they were measured (`validate/kit/blind.json`, committed before), and the model is
not changed for them. For them, the error is of those predictions. The other kinds are those that the model was **tuned** on.
"""


RUN_SO = """Twice the work is layers that take twice as long (`scale`), or a batch twice as large (`batch`). Connections have
CUBIC, and the jobs go before everything else on the machine ([why](decisions/0038-how-the-kit-is-run.md)). `latency` and `bandwidth` are
asked for as links were measured to have them."""
# of measurements that do not say what controlled congestion
RUN_BEFORE = """**These measurements are from before the kit was run as
[0038](decisions/0038-how-the-kit-is-run.md) says**: connections had BBR, the jobs no priority, and only links were changed. What is 10 % and more
off at 2 ms, and much of the spread of runs, is theirs."""

INTERVALS = """An interval is made of how far the steps and recordings of a prediction differ, and of how far predictions with such a
change are off (`src/predict/model_errors.def`). The latter was fitted to this kit by `validate/model_error.py`: nine in ten medians
are off by no more. How often such intervals hold the median of a kind that they were not fitted to is told by leaving out one kind
after the other, here with today's predictions of all kinds; it should be 85 to 95 %. (In the table of kinds set aside, intervals are
those that were committed with the predictions.)"""


def medians_of(runs, kind, case):
    """Of each run its median step, ms."""
    return [statistics.median(run["steps_ms"]) for run in runs if run["kind"] == kind and case.has(run)]


def table_of(kinds, measured, predictions):
    """Rows of the half's table, and its errors: (is the base, error in %, whether the interval held it)."""
    rows, errors = [], []
    for kind in kinds:
        for case in kind.cases():
            medians = medians_of(measured["runs"], kind.name, case)
            row = next((row for row in predictions if row["kind"] == kind.name and case.has(row)), None)
            if not medians or not row:
                continue
            truth = statistics.median(medians)
            cells = [kind.name, str(case), str(len(medians)), f"{truth:.1f} [{min(medians):.1f}, {max(medians):.1f}]"]
            if "error" in row:
                rows.append([*cells, "refused", "", ""])
                continue
            error = 100 * (row["predicted_ms"] / truth - 1)
            low, high = row["interval_ms"]
            errors.append((case.is_base, error, low <= truth <= high))
            rows.append([*cells, f"{row['predicted_ms']:.1f} [{low:.1f}, {high:.1f}]", f"**{error:+.1f}**",
                         "yes" if low <= truth <= high else "no"])
    return rows, errors


def summary(name, errors):
    lines = []
    for what, chosen in (("same configuration", True), ("changed", False)):
        values = [abs(error) for is_base, error, _ in errors if is_base == chosen]
        held = [is_held for is_base, _, is_held in errors if is_base == chosen]
        if values:
            lines.append(f"| {name}, {what} | {len(values)} | {statistics.fmean(values):.1f} | {max(values):.1f} | "
                         f"{sum(held)} of {len(held)} |")
    return lines


def write(kinds, measured, predicted, blind, folder):
    """The page's text."""
    halves = {
        "tuned": table_of([kind for kind in kinds.values() if not kind.is_aside], measured, predicted["predictions"]),
        "set aside": table_of([kind for kind in kinds.values() if kind.is_aside], measured, blind["predictions"]),
    }
    run_so = RUN_SO if "tcp" in measured["machine"] else RUN_BEFORE
    lines = [HEAD.format(base_rate=BASE[0], run_so=run_so), "| half | cases | mean error % | worst % | interval held the median |",
             "|---|---|---|---|---|"]
    for name, (_, errors) in halves.items():
        lines += summary(name, errors)
    lines += summary("set aside, by today's model",
                     table_of([kind for kind in kinds.values() if kind.is_aside], measured, predicted["predictions"])[1])
    lines += ["", "## Intervals", "", INTERVALS, "", *model_error.markdown(model_error.rows_of(model_error.read_cases(folder)))]
    for name, (rows, _) in halves.items():
        lines += ["", f"## {name.capitalize()}", "",
                  "| kind | run at | runs | measured ms | predicted ms | error % | held |", "|---|---|---|---|---|---|---|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
