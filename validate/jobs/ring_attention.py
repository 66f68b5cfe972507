"""Ring attention: a rank has a part of the sequence. Keys and values go round the ring, each part while the last is used."""

import torch
import torch.distributed as dist

from job_steps import Job


class Part:
    """Keys and values of a part of the sequence on their way: sent to the right, received from the left."""

    def __init__(self, job, mine):
        self.mine = mine
        self.next = torch.empty_like(mine)
        self.works = [dist.isend(mine, (job.rank + 1) % job.n_ranks), dist.irecv(self.next, (job.rank - 1) % job.n_ranks)]

    def arrived(self):
        for work in self.works:
            work.wait()
        return self.next


def attend(job, layer, queries, part):
    """What the queries find in all parts: sum over the ring."""
    found = torch.zeros_like(queries)
    for place in range(job.n_ranks):
        coming = Part(job, part) if place + 1 < job.n_ranks else None
        found = found + layer(queries + part)
        part = coming.arrived() if coming else part
    return found


def main():
    with Job(__doc__) as job:
        model = job.stack()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in job.steps():
            optimizer.zero_grad()
            state = job.samples()
            for layer in model:
                state = attend(job, layer, state, state.detach())
            state.square().mean().backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
            optimizer.step()


if __name__ == "__main__":
    main()
