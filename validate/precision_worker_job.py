#!/usr/bin/env python3
"""Two ranks that train with DistributedDataParallel, the second with more samples than the first: precision_worker_job.py JOB [--steps N]

JOB is
  mlp      eight wide linears with a GELU behind each
  tokens   residual blocks over tokens: a norm, a linear to twice the width, a GELU, a linear back; an average over the tokens

Without RANK it starts both, each on a core of its own, and prints one line of JSON: of each rank ns of each step."""

import argparse
import json
import os
import subprocess
import sys
import time

N_RANKS = 2
SAMPLES = {"mlp": (48, 96), "tokens": (6, 16)}  # of a rank
SKIPPED = 4
PORT = 20000


def start(arguments):
    port = str(PORT + os.getpid() % 10000)
    cores = sorted(os.sched_getaffinity(0))
    ranks = []
    for rank in range(N_RANKS):
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(N_RANKS),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
        core = {cores[rank % len(cores)]}
        ranks.append(subprocess.Popen([sys.executable, __file__, arguments.job, "--steps", str(arguments.steps)], env=environment, text=True,
                                      stdout=subprocess.PIPE, preexec_fn=lambda core=core: os.sched_setaffinity(0, core)))
    lines = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit(1)
    print(json.dumps([json.loads(line) for line in lines]))


def make_mlp(nn, width=512, depth=8):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers, nn.Linear(width, 10)), (width,)


def make_tokens(nn, width=256, depth=6, n_tokens=16):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.up = nn.Linear(width, 2 * width)
            self.down = nn.Linear(2 * width, width)

        def forward(self, x):
            return x + self.down(nn.functional.gelu(self.up(self.norm(x))))

    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
            self.head = nn.Linear(width, 10)

        def forward(self, x):
            return self.head(self.blocks(x).mean(1))

    return Tokens(), (n_tokens, width)


def train(arguments):
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.distributed.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    model, shape = {"mlp": make_mlp, "tokens": make_tokens}[arguments.job](nn)
    model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=2)
    samples = SAMPLES[arguments.job][rank]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(samples, *shape)
    target = torch.randint(10, (samples,))
    times, last = [], None
    for _ in range(arguments.steps):
        loss = nn.functional.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        now = time.perf_counter_ns()
        if last is not None:
            times.append(now - last)
        last = now
    torch.distributed.barrier()
    print(json.dumps(times[SKIPPED:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=list(SAMPLES))
    parser.add_argument("--steps", type=int, default=30)
    arguments = parser.parse_args()
    if "RANK" in os.environ:
        train(arguments)
    else:
        start(arguments)


if __name__ == "__main__":
    main()
