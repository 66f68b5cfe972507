"""Gathered embeddings: every rank compares its samples with those of all ranks (all-gather), then DistributedDataParallel."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from job_steps import Job


def main():
    with Job(__doc__) as job:
        model = DistributedDataParallel(job.stack())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        labels = torch.arange(job.options.batch) + job.rank * job.options.batch
        for _ in job.steps():
            optimizer.zero_grad()
            mine = torch.nn.functional.normalize(model(job.samples()) + 1e-3, dim=1)
            parts = [torch.empty_like(mine) for _ in range(job.n_ranks)]
            dist.all_gather(parts, mine.detach())
            parts[job.rank] = mine
            torch.nn.functional.cross_entropy(mine @ torch.cat(parts).T, labels).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
