"""Sparse gradients: of each layer, all ranks gather the largest entries and their places, and add them up."""

import torch
import torch.distributed as dist

from job_steps import Job

KEPT_OF = 16  # one entry in so many


def sparse_sum(job, gradient):
    """The sum over ranks of the largest entries of `gradient`."""
    flat = gradient.reshape(-1)
    places = flat.abs().topk(max(1, flat.numel() // KEPT_OF)).indices
    entries = flat[places]
    all_places = [torch.empty_like(places) for _ in range(job.n_ranks)]
    all_entries = [torch.empty_like(entries) for _ in range(job.n_ranks)]
    works = [dist.all_gather(all_places, places, async_op=True), dist.all_gather(all_entries, entries, async_op=True)]
    for work in works:
        work.wait()
    total = torch.zeros_like(flat)
    for some_places, some_entries in zip(all_places, all_entries):
        total.index_add_(0, some_places, some_entries)
    return total.view_as(gradient)


def main():
    with Job(__doc__) as job:
        model = job.stack(width=1024)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in job.steps():
            optimizer.zero_grad()
            model(job.samples(width=1024)).square().mean().backward()
            for parameter in model.parameters():
                parameter.grad = sparse_sum(job, parameter.grad)
            optimizer.step()


if __name__ == "__main__":
    main()
