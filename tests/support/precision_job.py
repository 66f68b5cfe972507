"""A job with an operation of each sort, for tests of precision: prints the loss of each step to the last bit.

    precision_job.py [by-hand P] [autocast] [narrow] [steps N] [ddp]

"by-hand P" computes as docs/precision-run.md says an operation in P computes, without tacho; P is a precision, or the name of a file of JSON
that has one for each operation, by "MODULE KIND ORDINAL".
"""

import contextlib
import json
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

words = sys.argv[1:]
by_hand = words[words.index("by-hand") + 1] if "by-hand" in words else None
n_steps = int(words[words.index("steps") + 1]) if "steps" in words else 6
width = 12 if "narrow" in words else 16
LOW = {"bf16": torch.bfloat16, "fp16": torch.float16}
chosen = json.load(open(by_hand)) if by_hand and by_hand not in ("fp32", "bf16", "fp16", "int8") else {}


def precision_of(name):
    if by_hand is None:
        return None
    precision = chosen.get(name, "fp32") if chosen else by_hand
    return "fp32" if precision == "int8" and " linear " not in name else precision


class Int8(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        scales = weight.abs().max(dim=1)[0] / 127
        rows = torch.quantize_per_channel(weight, scales, torch.zeros(len(scales), dtype=torch.long), 0, torch.qint8)
        return torch.ops.quantized.linear_dynamic(x, torch.ops.quantized.linear_prepack(rows, bias))

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        rows = gradient.reshape(-1, gradient.shape[-1])
        bias = rows.sum(0) if ctx.needs_input_grad[2] else None
        return (rows @ weight).view(x.shape), rows.t() @ x.reshape(-1, x.shape[-1]), bias


def run(name, function, *tensors):
    precision = precision_of(name)
    if precision is None:
        return function(*tensors)
    if precision == "int8":
        torch.backends.quantized.engine = "onednn"
        return Int8.apply(*(t.float() for t in tensors), *[None] * (3 - len(tensors)))
    dtype = LOW.get(precision, torch.float32)
    return function(*(t if t.dtype == dtype else t.to(dtype) for t in tensors))


def single(x):
    return x if by_hand is None or x.dtype == torch.float32 else x.float()


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        up = run("feed.up linear 0", F.linear, x, self.up.weight, self.up.bias) if by_hand else self.up(x)
        up = F.relu(up)
        return run("feed.down linear 0", F.linear, up, self.down.weight, self.down.bias) if by_hand else self.down(up)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(16, width)
        self.norm = nn.LayerNorm(width)
        self.feed = Feed()
        self.pictures = nn.Conv1d(width, width, 3, padding=1)

    def forward(self, tokens):
        x = self.words(tokens)
        y = x + self.feed(self.norm(x))  # two tensors meet, perhaps of two types
        scores = run(" matmul 0", torch.matmul, y, y.transpose(1, 2))
        mixed = run(" matmul 1", torch.matmul, F.softmax(single(scores), dim=-1), y)
        if by_hand:
            seen = run("pictures conv1d 0", lambda *t: F.conv1d(*t, padding=1), mixed.transpose(1, 2), self.pictures.weight,
                       self.pictures.bias)
        else:
            seen = self.pictures(mixed.transpose(1, 2))
        logits = run(" linear 0", F.linear, seen.transpose(1, 2), self.words.weight)
        return single(logits)


def main():
    torch.manual_seed(1)
    model = Net()
    if "ddp" in words:
        import torch.distributed as dist

        dist.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(2)
    around = torch.autocast("cpu", torch.bfloat16) if "autocast" in words else contextlib.nullcontext()
    for step in range(n_steps):
        tokens = torch.randint(16, (4, 8), generator=generator)
        optimizer.zero_grad()
        with around:
            logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), tokens.roll(1, 1).flatten())
        loss.backward()
        optimizer.step()
        if os.environ.get("RANK", "0") == "0":
            print(step, loss.item().hex(), flush=True)


if __name__ == "__main__":
    main()
