"""Two models in process groups of their own, one with parameters that a step does not use."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from job_steps import Job


class Branches(nn.Module):
    """Of its two branches each step takes one."""

    def __init__(self, job):
        super().__init__()
        self.trunk = job.stack(2)
        self.branches = nn.ModuleList([job.stack(1), job.stack(1)])

    def forward(self, x, branch):
        return self.branches[branch](self.trunk(x))


def main():
    with Job(__doc__) as job:
        ranks = list(range(job.n_ranks))
        groups = [dist.new_group(ranks), dist.new_group(ranks)]
        body = DistributedDataParallel(Branches(job), process_group=groups[0], bucket_cap_mb=1,
                                       find_unused_parameters=True)
        head = DistributedDataParallel(job.stack(2), process_group=groups[1])
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
        for step in job.steps():
            optimizer.zero_grad()
            head(body(job.samples(), step % 2)).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    main()
