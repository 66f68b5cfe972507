"""Gossip: after its own step, each rank takes the mean of its parameters and those of its neighbours in a ring."""

import torch
import torch.distributed as dist

from job_steps import Job, flatten, unflatten


def main():
    with Job(__doc__) as job:
        model = job.stack()
        parameters = list(model.parameters())
        optimizer = torch.optim.SGD(parameters, lr=0.01)
        right, left = (job.rank + 1) % job.n_ranks, (job.rank - 1) % job.n_ranks
        for _ in job.steps():
            optimizer.zero_grad()
            model(job.samples()).square().mean().backward()
            mine = flatten(parameters)
            other = torch.empty_like(mine)
            works = [dist.isend(mine, right), dist.irecv(other, left)]
            for work in works:
                work.wait()
            with torch.no_grad():
                unflatten((mine + other) / 2, parameters)
            optimizer.step()


if __name__ == "__main__":
    main()
