"""Uneven ranks: the last one has half as many samples again, and all wait for it."""

import torch
from torch.nn.parallel import DistributedDataParallel

from job_steps import Job


def main():
    with Job(__doc__) as job:
        model = DistributedDataParallel(job.stack(), bucket_cap_mb=1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        is_last = job.rank == job.n_ranks - 1
        n_samples = job.options.batch * 3 // 2 if is_last else job.options.batch
        for _ in job.steps():
            optimizer.zero_grad()
            model(job.samples(n_samples)).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    main()
