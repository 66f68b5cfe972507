"""Accumulation: DistributedDataParallel sends gradients in the last of four passes only (no_sync)."""

import contextlib

import torch
from torch.nn.parallel import DistributedDataParallel

from job_steps import Job

N_PASSES = 4


def main():
    with Job(__doc__) as job:
        model = DistributedDataParallel(job.stack(), bucket_cap_mb=2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in job.steps():
            optimizer.zero_grad()
            for number in range(N_PASSES):
                is_last = number == N_PASSES - 1
                with contextlib.nullcontext() if is_last else model.no_sync():
                    model(job.samples()).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    main()
