"""What casts between numbers of different widths take on this machine's devices: run by `tacho calibrate casts` in a Python that has PyTorch.

    calibrate_casts.py [--device cpu|cuda] [--rounds N] [--seconds S]

Prints one JSON object (docs/precision-casts.md). Sizes are spread evenly on a logarithmic scale, from 2^8 to 2^24 numbers. All casts of all sizes are
measured once a round, in an order that changes; the figure of each is the median of the rounds, so that what slows the machine down for a while
slows down all of them alike.

(1) One thread, on a processor: what several do depends on what else runs.
(2) A measurement repeats a cast until it takes long enough for the clock, with results made anew each time, as a job makes them.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time

SIZES = [1 << n for n in range(8, 25)]
SIZES += [3 << n for n in range(8, 23)]
LEAST_NS = 50_000  # of a measurement
MAX_REPEATS = 2000
SEED = 1


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="default: cuda where there is one, else cpu")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=120, help="begin no round after this long")
    parser.add_argument("--most", type=int, default=SIZES[16], help="numbers in the largest tensor")
    return parser.parse_args()


class Casts:
    """The casts that this PyTorch has on a device, each a function of a tensor made for it."""

    def __init__(self, torch, kernels, device):
        self.torch = torch
        self.kernels = kernels
        self.device = device
        self.types = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
        self.casts = [(a, b) for a in self.types for b in self.types if a != b]
        if device == "cpu":
            self.casts += [("fp32", "int8"), ("int8", "fp32")]

    def tensor(self, source, n):
        """`n` numbers in the format `source`, as rows of a matrix where they are to be quantised."""
        values = self.torch.randn(n, generator=self.torch.Generator().manual_seed(n)).to(self.device)
        if source == "int8":
            return self.torch.quantize_per_tensor(values, 0.05, 128, self.torch.quint8)
        return values.to(self.types[source])

    def function(self, source, target):
        if target == "int8":
            return self.quantise
        if source == "int8":
            return lambda tensor: tensor.dequantize()
        target_type = self.types[target]
        return lambda tensor: tensor.to(target_type)

    def quantise(self, tensor):
        """As a kernel in int8 quantises what it reads: by the least and the greatest number."""
        least, most = self.torch.aminmax(tensor)
        scale = max((most.item() - least.item()) / 255, 1e-30)
        return self.torch.quantize_per_tensor(tensor, scale, min(255, max(0, round(-least.item() / scale))), self.torch.quint8)

    def wait(self):
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def measure_ns(self, function, tensor, repeats):
        self.wait()
        begin = time.perf_counter_ns()
        for _ in range(repeats):
            function(tensor)
        self.wait()
        return (time.perf_counter_ns() - begin) / repeats


def find_repeats(casts, function, tensor):
    function(tensor)
    took = max(1.0, casts.measure_ns(function, tensor, 1))
    return max(1, min(MAX_REPEATS, int(LEAST_NS / took)))


def measure(casts, sizes, rounds, seconds):
    """{(from, to): {elements: [ns of each round]}}"""
    rng = random.Random(SEED)
    cases = [(pair, n) for pair in casts.casts for n in sizes]
    times = {pair: {n: [] for n in sizes} for pair in casts.casts}
    repeats = {}
    began = time.monotonic()
    for number in range(rounds):
        if number > 2 and time.monotonic() - began > seconds:
            break
        rng.shuffle(cases)
        for pair, n in cases:
            tensor = casts.tensor(pair[0], n)
            function = casts.function(*pair)
            if (pair, n) not in repeats:
                repeats[pair, n] = find_repeats(casts, function, tensor)
            function(tensor)
            times[pair][n].append(casts.measure_ns(function, tensor, repeats[pair, n]))
    return times


def main():
    arguments = parse_arguments()
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from tacho_hook import precision_kernels as kernels
    from tacho_hook import processor_features

    try:
        import torch
    except ImportError:
        sys.exit("this Python (%s) has no PyTorch" % sys.executable)
    device = arguments.device or kernels.devices(torch)[0]
    torch.set_num_threads(1)
    kernels.install(torch)
    casts = Casts(torch, kernels, device)
    sizes = sorted(n for n in SIZES if n <= arguments.most)
    times = measure(casts, sizes, arguments.rounds, arguments.seconds)
    result = {
        "tacho_casts": 1,
        "device": kernels.device_name(torch, device),
        "processor_features": processor_features.read(),
        "torch": torch.__version__,
        "casts": [
            {"from": source, "to": target,
             "samples": [[n, round(statistics.median(times[source, target][n]), 1)] for n in sizes]}
            for source, target in casts.casts
        ],
    }
    json.dump(result, sys.stdout)
    print()


if __name__ == "__main__":
    main()
