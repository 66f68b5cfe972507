"""An asynchronous parameter server: rank 0 adds what comes, from whom it comes, and answers that worker alone."""

import torch
import torch.distributed as dist

from job_steps import Job, flatten, unflatten


def serve(job, flat):
    """Each worker sends once a step."""
    change = torch.empty_like(flat)
    for _ in job.steps():
        for _ in range(job.n_ranks - 1):
            worker = dist.recv(change)
            flat += change / (job.n_ranks - 1)
            dist.send(flat, worker)


def work(job, model, parameters):
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    for _ in job.steps():
        with torch.no_grad():
            before = flatten(parameters)
        optimizer.zero_grad()
        model(job.samples()).square().mean().backward()
        optimizer.step()
        change = flatten(parameters) - before
        dist.send(change, 0)
        dist.recv(change, 0)
        with torch.no_grad():
            unflatten(change, parameters)


def main():
    with Job(__doc__) as job:
        model = job.stack()
        parameters = list(model.parameters())
        if job.rank == 0:
            serve(job, flatten(parameters))
        else:
            work(job, model, parameters)


if __name__ == "__main__":
    main()
