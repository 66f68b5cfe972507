"""docs/validation-optimize.md: what plans were said to gain, and what they gained, beside buckets set by hand.

A gain is told with a 95 % interval by bootstrap: the rounds are drawn anew, with putting back, and of each drawn run its steps. The
median of a run's drawn steps is the run's figure, and the mean over the rounds the setting's. Default and plan of one round are drawn
together, so what a slow minute adds to both counts for neither.
"""

import math
import random
import statistics

N_DRAWS = 2000
SEED = 1
POINTS = 3      # between the gain that was said and what was measured
WORTH_PCT = 10  # best possible gain of half the cases, at least

HEAD = """# Does a plan gain what was said?

*Written by `validate/optimize_cases.py page` from what it measured; not by hand.*

Three models that may be tuned on and three that are set aside, at three link rates each. Each of these cases was recorded with PyTorch's own
buckets (`bucket_cap_mb` of 25), `tacho optimize` made a plan of the recording, and plan and predicted gain were committed
(`validate/optimize/plans.json`) before anything was measured. Then the job ran unrecorded, in rounds over all settings: with its own
buckets, with the plan (`tacho apply`), and with `bucket_cap_mb` of {caps}. Caps with which DistributedDataParallel had the
same buckets, by what it says itself, are run as one.

Two hosts in network namespaces, a core and a rank each, gloo, CUBIC ([why](decisions/0038-how-the-kit-is-run.md)). A run with a cap
goes through the three rates, one with a plan is at its own. The first four steps, and three at each rate, are not counted.
*Gain* is how much less a step takes than with the job's own buckets, of these; in brackets are 95 % intervals by
bootstrap over rounds and steps. With few rounds such intervals are rather too narrow.
"""

CONDITIONS = """| condition | set aside | tuned | all |
|---|---|---|---|"""


def figure(run, draw=None):
    """The middle step of a run; with `draw`, of steps drawn from it."""
    steps = run["steps_ms"]
    return statistics.median(draw.choices(steps, k=len(steps)) if draw else steps)


def by_round(cases, model, name, rate):
    """The runs of a setting at the rate: {round: run}."""
    return {run["round"]: run for run in cases.runs_of(model, name) if run["rate_mbit"] == rate}


def gain_of(pairs):
    """How much less the second of each takes, in %."""
    return 100 * (1 - sum(other for _, other in pairs) / sum(base for base, _ in pairs))


def plain_gain(base, other):
    """Of the rounds that have both settings."""
    return gain_of([(figure(base[i]), figure(other[i])) for i in base.keys() & other.keys()])


class Compared:
    """Two settings: how much less a step takes with `other` than with `base`, in %, and its interval; of the rounds that have both."""

    def __init__(self, base, other):
        rounds = sorted(base.keys() & other.keys())
        self.n = len(rounds)
        if not rounds:
            return
        self.gain = plain_gain(base, other)
        draw = random.Random(SEED)
        gains = []
        for _ in range(N_DRAWS):
            drawn = draw.choices(rounds, k=len(rounds))
            gains.append(gain_of([(figure(base[i], draw), figure(other[i], draw)) for i in drawn]))
        gains.sort()
        self.low, self.high = gains[int(0.025 * N_DRAWS)], gains[int(0.975 * N_DRAWS)]

    def __str__(self):
        return f"{self.gain:+.1f} [{self.low:+.1f}, {self.high:+.1f}]"


def beside_chosen(hand, plan):
    """How much less a step takes with the plan than with the cap that was the fastest in the other rounds, in %: whoever tries caps and
    keeps the best has chosen before it counts. 0: there are no other rounds."""
    rounds = sorted(set(plan).intersection(*hand.values()))
    pairs = []
    for held_out in rounds:
        others = [i for i in rounds if i != held_out]
        if not others:
            return 0
        chosen = min(hand, key=lambda cap: sum(figure(hand[cap][i]) for i in others))
        pairs.append((figure(hand[chosen][held_out]), figure(plan[held_out])))
    return gain_of(pairs)


class Result:
    """What was measured of a case; `is_whole` is False where something was not."""

    def __init__(self, cases, model, rate, caps, default):
        self.row = cases.row_of(model, rate)
        self.rate, self.half, self.name = rate, model.half, model.name
        self.is_whole = False
        base = by_round(cases, model, f"cap {default}", rate)
        hand = {cap: by_round(cases, model, f"cap {cap}", rate) for cap in caps}
        if not self.row or not base or not all(runs.keys() & base.keys() for runs in hand.values()):
            return
        self.default_ms = statistics.fmean(figure(run) for run in base.values())
        self.plan = by_round(cases, model, f"plan {rate}", rate) if self.row["plan"] else base
        if not self.plan:
            return
        self.measured = Compared(base, self.plan)
        self.best_cap = max(caps, key=lambda cap: plain_gain(base, hand[cap]))
        self.by_hand = Compared(base, hand[self.best_cap])
        self.beside = Compared(hand[self.best_cap], self.plan)
        self.fair = beside_chosen(hand, self.plan)
        self.losses = {run["loss"] for runs in (base, self.plan) for run in runs.values()}
        self.is_whole = self.measured.n > 0 and self.beside.n > 0

    @property
    def error(self):
        return self.measured.gain - self.row["gain_pct"]

    @property
    def is_slower(self):
        return self.measured.high < 0

    @property
    def is_within(self):
        return abs(self.error) <= POINTS

    @property
    def chance_of_within(self):
        """That what was measured is within POINTS of the true gain: as its interval, of a normal distribution, says."""
        deviation = (self.measured.high - self.measured.low) / (2 * 1.96)
        return math.erf(POINTS / deviation / math.sqrt(2)) if deviation > 0 else 1

    @property
    def is_slower_than_hand(self):
        return self.beside.high < 0

    @property
    def best_gain(self):
        return max(self.measured.gain, self.by_hand.gain)

    def cells(self):
        said = self.row["gain_interval_pct"]
        bounds = f" [{said[0]:+.1f}, {said[1]:+.1f}]" if said and None not in said else ""
        return [self.name, str(self.rate), str(self.measured.n), f"{self.default_ms:.1f}", self.row["change"],
                f"{self.row['gain_pct']:+.1f}{bounds}", str(self.measured), f"{self.error:+.1f}",
                f"{self.best_cap}: {self.by_hand}", str(self.beside)]


def count(results, condition):
    cells = []
    for half in (("aside",), ("tuned",), ("aside", "tuned")):
        chosen = [result for result in results if result.half in half]
        cells.append(f"{sum(condition(result) for result in chosen)} of {len(chosen)}")
    return " | ".join(cells)


def conditions(results):
    return [CONDITIONS,
            f"| best possible gain (plan, or best by hand) at least {WORTH_PCT} % | "
            f"{count(results, lambda r: r.best_gain >= WORTH_PCT)} |",
            f"| the plan is not slower than the default beyond noise | {count(results, lambda r: not r.is_slower)} |",
            f"| measured gain within {POINTS} points of the predicted | {count(results, lambda r: r.is_within)} |",
            f"| at least as fast as the best cap by hand | {count(results, lambda r: r.beside.gain >= 0)} |",
            f"| at least as fast as the cap that was best in the other rounds | {count(results, lambda r: r.fair >= 0)} |",
            f"| not slower than the best cap by hand beyond noise | {count(results, lambda r: not r.is_slower_than_hand)} |",
            f"| the loss of a step is the default's to the last bit | {count(results, lambda r: len(r.losses) == 1)} |"]


def table(results, half):
    lines = ["| model | Mbit/s | rounds | default ms | plan | predicted gain % | measured gain % | measured - predicted | best by hand: gain % | "
             "plan beside that % |", "|---|---|---|---|---|---|---|---|---|---|"]
    return lines + ["| " + " | ".join(result.cells()) + " |" for result in results if result.half == half]


def write(cases, models, caps, default):
    """The page's text. `cases`: optimize_cases.Cases; `caps`: all that were tried by hand, `default` among them."""
    results = [Result(cases, model, rate, cases.caps_of(model), default) for model in models for rate in model.rates]
    whole = [result for result in results if result.is_whole]
    lines = [HEAD.format(caps=", ".join(str(cap) for cap in caps))]
    if not whole:
        return "\n".join([*lines, "No case has been measured yet.", ""])
    machine = cases.measured["machine"]
    lines += [f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}, Python "
              f"{machine['python']}, PyTorch {machine['torch']}. Plans by tacho {', '.join(sorted({r.row['tacho'] for r in whole}))}.", "",
              "## Result", "", *conditions(whole), ""]
    if len(whole) < len(results):
        lines += [f"{len(results) - len(whole)} of {len(results)} cases have not been measured.", ""]
    lines += ["The best cap by hand is the best of what was measured, so chance favours it: a setting of the same speed comes out slower than the "
              "best of several. *Plan beside that*: how much less a step takes with the plan than with it; in the mean "
              f"{statistics.fmean(r.beside.gain for r in whole):+.1f} %. Beside the cap that was the fastest in the other rounds, which chance does not favour, "
              f"it takes {statistics.fmean(r.fair for r in whole):+.1f} % less in the mean.", ""]
    lines += [f"Steps differ from run to run, so what was measured is not the true gain: if each prediction were that, {sum(r.chance_of_within for r in whole):.1f} of "
              f"{len(whole)} could be expected within {POINTS} points, by the intervals of what was measured. In the mean predictions are "
              f"{statistics.fmean(abs(r.error) for r in whole):.1f} points off, and promise {-statistics.fmean(r.error for r in whole):+.1f} too much.", ""]
    for half, title in (("aside", "Set aside"), ("tuned", "Tuned")):
        lines += [f"## {title}", ""]
        lines += [f"- **{model.name}** (`{' '.join(model.options[2:])}`): {model.about}" for model in models if model.half == half]
        lines += ["", *table(whole, half), ""]
    return "\n".join(lines)
