"""The configurations: three models of different balance, and what is changed about each; and a job of
more ranks than there are cores, whose ranks wait instead of computing.

One thing at a time around a base, and the corners where several change at once. FULL is every
combination of a model's rates, buckets and latencies.
"""

import itertools
from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Case:
    model: str
    options: tuple  # of examples/ddp_train.py
    steps: int
    rate_mbit: float
    bucket_mb: float
    latency_ms: float
    ranks: int = 2

    @property
    def name(self):
        ranks = f"-{self.ranks}ranks" if self.ranks != 2 else ""
        return f"{self.model}{ranks}-{self.rate_mbit:g}mbit-{self.bucket_mb:g}mb-{self.latency_ms:g}ms"

    def as_json(self):
        return {**asdict(self), "options": list(self.options), "name": self.name}


def case_of_json(row):
    return Case(row["model"], tuple(row["options"]), row["steps"], row["rate_mbit"],
                row["bucket_mb"], row["latency_ms"], row["ranks"])


@dataclass(frozen=True)
class Model:
    base: Case
    rates_mbit: tuple
    buckets_mb: tuple
    latencies_ms: tuple
    corners: tuple  # (rate, bucket, latency), or with a number of ranks behind
    about: str
    waits_of: str = ""  # the model whose base's recording says how long ranks wait instead of computing

    def cases(self, is_full):
        """The base first."""
        if is_full:
            settings = list(itertools.product(self.rates_mbit, self.buckets_mb, self.latencies_ms))
        else:
            base = (self.base.rate_mbit, self.base.bucket_mb, self.base.latency_ms)
            settings = [(rate, *base[1:]) for rate in self.rates_mbit]
            settings += [(base[0], bucket, base[2]) for bucket in self.buckets_mb]
            settings += [(*base[:2], latency) for latency in self.latencies_ms]
            settings += self.corners
        if is_full:
            settings += [corner for corner in self.corners if len(corner) > 3]
        cases = [replace(self.base, rate_mbit=rate, bucket_mb=bucket, latency_ms=latency,
                         ranks=ranks[0] if ranks else self.base.ranks)
                 for rate, bucket, latency, *ranks in settings]
        return list(dict.fromkeys([self.base, *cases]))

    def source(self, case, cases):
        """Whose recording predicts `case`: the base's; the base itself is predicted from the case
        that has the highest rate and the smallest buckets, most unlike it."""
        if case != self.base:
            return self.base
        others = [other for other in cases if other != case and other.latency_ms == case.latency_ms]
        return max(others, key=lambda other: (other.ranks == case.ranks, other.rate_mbit, -other.bucket_mb))


# Sized for a core a rank of some 60 GFLOP/s and steps of 80 to 400 ms.
MODELS = {
    "cnn": Model(
        Case("cnn", ("--width", "96", "--batch", "16"), 30, 500, 25, 0),
        (250, 500, 1000), (1, 2, 3, 25), (0, 2),
        ((1000, 1, 0), (250, 1, 2), (1000, 25, 2), (500, 2, 2)),
        "convolutional: most of a step computes, 4.8 MB of gradients"),
    "mlp": Model(
        Case("mlp", ("--width", "1024", "--layers", "5", "--batch", "64"), 30, 1000, 25, 0),
        (500, 1000, 2000), (1, 4, 10, 25), (0, 2),
        ((2000, 1, 0), (500, 1, 2), (2000, 25, 2), (1000, 4, 2)),
        "fully connected: most of a step communicates, 18 MB of gradients in few large tensors"),
    "transformer": Model(
        Case("transformer", ("--width", "256", "--layers", "4", "--batch", "16"), 30, 1000, 25, 0),
        (500, 1000, 2000), (1, 2, 5, 25), (0, 2),
        ((2000, 1, 0), (500, 1, 2), (2000, 25, 2), (1000, 2, 2)),
        "transformer encoder: computing and communicating about as long, 12.6 MB of gradients"),
    "waits": Model(
        Case("waits", (), 20, 200, 25, 0),
        (100, 200), (1, 25), (0,),
        ((200, 25, 0, 4), (200, 25, 0, 8), (200, 1, 0, 4), (200, 1, 0, 8), (100, 25, 0, 4), (100, 1, 0, 8)),
        "two, four and eight hosts at a switch, on fewer cores: ranks wait as long as a rank of cnn computed, "
        "and give gradients of the same sizes", "cnn"),
}

# One model small enough to go round in seconds: the machinery, not the figures.
QUICK_MODELS = {
    "mlp": Model(
        Case("mlp", ("--width", "256", "--layers", "2", "--batch", "16"), 10, 100, 25, 0),
        (100, 200), (25,), (0, 1),
        ((200, 0.1, 1),),
        "fully connected, small: for a look at the kit itself"),
    "waits": Model(
        Case("waits", (), 10, 100, 25, 0), (100,), (25,), (0,), ((100, 25, 0, 3),),
        "three hosts whose ranks wait instead of computing", "mlp"),
}
