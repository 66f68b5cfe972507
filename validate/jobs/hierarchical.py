"""Gradients in two levels: reduced to a leader in each half of the ranks, summed up between leaders, and broadcast back."""

import torch
import torch.distributed as dist

from job_steps import Job, flatten, unflatten


def main():
    with Job(__doc__) as job:
        middle = job.n_ranks // 2
        halves = [list(range(middle)), list(range(middle, job.n_ranks))]
        groups = [dist.new_group(half) for half in halves]
        leaders = dist.new_group([half[0] for half in halves])
        half, group = next((half, group) for half, group in zip(halves, groups) if job.rank in half)
        model = job.stack()
        parameters = list(model.parameters())
        optimizer = torch.optim.SGD(parameters, lr=0.01)
        for _ in job.steps():
            optimizer.zero_grad()
            model(job.samples()).square().mean().backward()
            gradients = flatten(parameter.grad for parameter in parameters)
            dist.reduce(gradients, dst=half[0], group=group)
            if job.rank == half[0]:
                dist.all_reduce(gradients, group=leaders)
            dist.broadcast(gradients, src=half[0], group=group)
            unflatten(gradients / job.n_ranks, [parameter.grad for parameter in parameters])
            optimizer.step()


if __name__ == "__main__":
    main()
