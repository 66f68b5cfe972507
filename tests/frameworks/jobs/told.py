"""What the jobs of the matrix share: ranks, data that is the same in every run, and what they tell.

A rank writes a line for each of its steps, with the loss to the last bit, into a file of its own, and at its end how
long steps took. The runner compares the first, and takes the medians of the second. Jobs are written as users write
them: nothing here knows tacho.
"""

import contextlib
import os
import time

import torch

RANK = int(os.environ.get("RANK", 0))
WORLD = int(os.environ.get("WORLD_SIZE", 1))
STEPS = int(os.environ.get("FRAMEWORK_STEPS", 20))
WARM_STEPS = 4


class Told:
    def __init__(self):
        self.times = []
        rank = os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0"))  # Lightning sets the latter
        self.file = open(os.path.join(os.environ.get("FRAMEWORK_OUT", "."), "rank-%s.txt" % rank), "w")
        self.last = time.perf_counter()

    def step(self, loss):
        """A step has ended."""
        value = float(loss.detach()) if isinstance(loss, torch.Tensor) else float(loss)
        now = time.perf_counter()
        self.times.append(now - self.last)
        print("step %d loss %s" % (len(self.times) - 1, value.hex()), file=self.file, flush=True)
        self.last = time.perf_counter()

    def end(self):
        times = sorted(self.times[WARM_STEPS:]) or [0]
        print("median_ms %.4f" % (1000 * times[len(times) // 2]), file=self.file)
        self.file.close()


def batch(step, n, *shape):
    """The step's samples of this rank."""
    generator = torch.Generator().manual_seed(1000 * step + RANK)
    return torch.randn(n, *shape, generator=generator)


def classes(step, n, n_classes):
    generator = torch.Generator().manual_seed(77 + 1000 * step + RANK)
    return torch.randint(0, n_classes, (n,), generator=generator)


def mlp(width=256, n_layers=4, n_classes=10):
    layers = []
    for _ in range(n_layers):
        layers += [torch.nn.Linear(width, width), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, n_classes))


def train(model, optimizer, autocast=contextlib.nullcontext):
    """The loop as PyTorch's tutorials have it; the forward pass under `autocast()`."""
    told = Told()
    for step in range(STEPS):
        with autocast():
            loss = torch.nn.functional.cross_entropy(model(batch(step, 32, 256)), classes(step, 32, 10))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        told.step(loss)
    told.end()
