"""Two networks against each other, each with its own optimizer, which steps once in each step."""

import torch
from torch.nn.parallel import DistributedDataParallel

from job_steps import Job


def main():
    with Job(__doc__) as job:
        generator = DistributedDataParallel(job.stack(2), broadcast_buffers=False)
        judge = DistributedDataParallel(job.stack(2), broadcast_buffers=False)
        optimizers = [torch.optim.Adam(model.parameters(), lr=0.001) for model in (judge, generator)]
        for _ in job.steps():
            made = generator(job.samples())
            optimizers[0].zero_grad()
            (judge(made.detach()).mean() - judge.module(job.samples()).mean()).backward()
            optimizers[0].step()
            optimizers[1].zero_grad()
            (-judge.module(made).mean()).backward()
            optimizers[1].step()


if __name__ == "__main__":
    main()
