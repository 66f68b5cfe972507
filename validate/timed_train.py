"""A job with the compute of another, as waits, and communication of its own.

    timed_train.py --waits FILE ...

Where ranks outnumber cores, what they compute would take as much longer as there are too few. So each rank waits
instead, as long as a recorded rank computed before each of its gradients was there, and gives
DistributedDataParallel gradients of the same sizes. FILE is JSON: `forward_ms`, and `gradients` in the order in
which they came: `bytes`, and `wait_ms` since the one before (the first: since the forward pass).
"""

import argparse
import json
import os
import sys
import time

import torch
import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel

# A shorter wait would be mostly the time that waking takes; it is added to the next one.
SHORTEST_S = 0.0005
BYTES_OF_FLOAT = 4


def wait_until(moment):
    while (left := moment - time.monotonic()) > 0:
        time.sleep(left)


class Timed(torch.autograd.Function):
    """y = x; the weight's gradient is there after a wait."""

    @staticmethod
    def forward(ctx, x, weight, wait_s):
        ctx.wait_s = wait_s
        ctx.shape = weight.shape
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        if ctx.wait_s:
            wait_until(time.monotonic() + ctx.wait_s)
        return gradient, torch.zeros(ctx.shape), None


class TimedModel(nn.Module):
    def __init__(self, waits):
        super().__init__()
        self.forward_s = waits["forward_ms"] / 1000
        self.waits_s = []
        carried_s = 0.0
        for gradient in waits["gradients"]:
            carried_s += gradient["wait_ms"] / 1000
            is_long = carried_s >= SHORTEST_S
            self.waits_s.append(carried_s if is_long else 0.0)
            carried_s = 0.0 if is_long else carried_s
        # gradients come from the last weight to the first
        self.waits_s.reverse()
        self.weights = nn.ParameterList(
            nn.Parameter(torch.zeros(max(1, gradient["bytes"] // BYTES_OF_FLOAT)))
            for gradient in reversed(waits["gradients"]))

    def forward(self, x):
        wait_until(time.monotonic() + self.forward_s)
        for weight, wait_s in zip(self.weights, self.waits_s):
            x = Timed.apply(x, weight, wait_s)
        return x


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--waits", required=True, help="JSON, see above")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--bucket-mb", type=float, default=25, help="DDP's bucket_cap_mb")
    parser.add_argument("--step-times", action="store_true", help="print a line of JSON a rank")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with open(arguments.waits, encoding="utf-8") as file:
        model = TimedModel(json.load(file))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    model = DistributedDataParallel(model, bucket_cap_mb=arguments.bucket_mb)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    sample = torch.ones(1)
    ends_ns = []
    for _ in range(arguments.steps):
        optimizer.zero_grad()
        model(sample).backward()
        optimizer.step()
        ends_ns.append(time.monotonic_ns())
    torch.distributed.destroy_process_group()
    if arguments.step_times:
        steps_ms = [round((end - begin) / 1e6, 3) for begin, end in zip(ends_ns, ends_ns[1:])]
        sys.stdout.write(json.dumps({"rank": int(os.environ["RANK"]), "steps_ms": steps_ms}) + "\n")


if __name__ == "__main__":
    main()
