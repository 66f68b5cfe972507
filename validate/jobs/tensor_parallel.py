"""Tensor parallel: each layer's columns and rows are spread over the ranks, activations are summed by all-reduce."""

import torch
import torch.distributed as dist
from torch import nn

from job_steps import Job


class SumForward(torch.autograd.Function):
    """The sum over ranks; the gradient passes through."""

    @staticmethod
    def forward(ctx, x):
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class SumBackward(torch.autograd.Function):
    """x; its gradient is summed over ranks."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        total = gradient.clone()
        dist.all_reduce(total)
        return total


class ParallelBlock(nn.Module):
    def __init__(self, job):
        super().__init__()
        width = job.options.width
        self.columns = job.layer(width, 2 * width // job.n_ranks)
        self.rows = job.layer(2 * width // job.n_ranks, width)

    def forward(self, x):
        return x + SumForward.apply(self.rows(self.columns(SumBackward.apply(x))))


def main():
    with Job(__doc__) as job:
        model = nn.Sequential(*(ParallelBlock(job) for _ in range(job.options.layers)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in job.steps():
            optimizer.zero_grad()
            model(job.samples().requires_grad_()).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    main()
