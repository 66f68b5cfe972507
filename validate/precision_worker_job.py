#!/usr/bin/env python3
"""Two ranks that train with DistributedDataParallel, the second with more samples than the first: precision_worker_job.py [--steps N]

Without RANK it starts both, each on a core of its own, and prints one line of JSON: of each rank ns of each step."""

import argparse
import json
import os
import subprocess
import sys
import time

N_RANKS = 2
SAMPLES = (48, 96)  # of a rank
WIDTH, LAYERS, SKIPPED = 512, 8, 4
PORT = 20000


def start(arguments):
    port = str(PORT + os.getpid() % 10000)
    cores = sorted(os.sched_getaffinity(0))
    ranks = []
    for rank in range(N_RANKS):
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(N_RANKS),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
        core = {cores[rank % len(cores)]}
        ranks.append(subprocess.Popen([sys.executable, __file__, "--steps", str(arguments.steps)], env=environment, text=True,
                                      stdout=subprocess.PIPE, preexec_fn=lambda core=core: os.sched_setaffinity(0, core)))
    lines = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit(1)
    print(json.dumps([json.loads(line) for line in lines]))


def train(arguments):
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.distributed.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    layers = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.GELU()]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers, nn.Linear(WIDTH, 10)), bucket_cap_mb=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(SAMPLES[rank], WIDTH)
    target = torch.randint(10, (SAMPLES[rank],))
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    arguments = parser.parse_args()
    if "RANK" in os.environ:
        train(arguments)
    else:
        start(arguments)


if __name__ == "__main__":
    main()
