"""What the programs of the kit have in common: options, the process group, a stack of layers, and a line for each step.

    from job_steps import Job

    with Job(__doc__) as job:
        ...
        for _ in job.steps():
            ...

Each rank prints a line of JSON when it has come to the end of a step: {"rank": 0, "step": 3, "ns": 123} by CLOCK_MONOTONIC,
which all processes of a machine share. With --timed its layers wait instead of computing, as they must where ranks
outnumber cores: the parameters, and so what is communicated, stay.
"""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
from torch import nn


class TimedLinear(torch.autograd.Function):
    """Zeros of the result's shape, after a wait; the gradients are zeros, after twice the wait."""

    @staticmethod
    def forward(ctx, x, weight, wait_s):
        ctx.wait_s = wait_s
        ctx.shapes = x.shape, weight.shape
        time.sleep(wait_s)
        return x.new_zeros(*x.shape[:-1], weight.shape[0])

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(2 * ctx.wait_s)
        return tuple(gradient.new_zeros(shape) for shape in ctx.shapes) + (None,)


class TimedLayer(nn.Module):
    def __init__(self, n_in, n_out, wait_s):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_out, n_in))
        self.wait_s = wait_s

    def forward(self, x):
        return TimedLinear.apply(x, self.weight, self.wait_s)


class Job:
    def __init__(self, about):
        parser = argparse.ArgumentParser(description=about.splitlines()[0])
        parser.add_argument("--steps", type=int, default=20)
        parser.add_argument("--batch", type=int, default=256, help="samples a rank and pass")
        parser.add_argument("--width", type=int, default=512, help="features of a layer")
        parser.add_argument("--layers", type=int, default=4)
        parser.add_argument("--timed", action="store_true", help="layers wait instead of computing")
        parser.add_argument("--layer-ms", type=float, default=4, help="forward, with --timed")
        self.options = parser.parse_args()
        self.rank = int(os.environ.get("RANK", "0"))
        self.n_ranks = int(os.environ.get("WORLD_SIZE", "1"))

    def __enter__(self):
        torch.manual_seed(1 + self.rank)
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            dist.barrier()
            dist.destroy_process_group()

    def layer(self, n_in, n_out):
        if self.options.timed:
            return TimedLayer(n_in, n_out, self.options.layer_ms / 1000)
        return nn.Sequential(nn.Linear(n_in, n_out), nn.Tanh())

    def stack(self, n_layers=None, width=None):
        width = width or self.options.width
        return nn.Sequential(*(self.layer(width, width) for _ in range(n_layers or self.options.layers)))

    def samples(self, n=None, width=None):
        return torch.randn(n or self.options.batch, width or self.options.width)

    def steps(self):
        """0, 1, ...: and after the body of each, its line."""
        for step in range(self.options.steps):
            yield step
            line = {"rank": self.rank, "step": step, "ns": time.monotonic_ns()}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

    def train(self, model, optimizer):
        """All steps of a job whose loop has nothing of its own."""
        for _ in self.steps():
            optimizer.zero_grad()
            model(self.samples()).square().mean().backward()
            optimizer.step()


def flatten(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def unflatten(flat, tensors):
    """Copy the numbers of `flat` back into `tensors`."""
    at = 0
    for tensor in tensors:
        tensor.copy_(flat[at:at + tensor.numel()].view_as(tensor))
        at += tensor.numel()
