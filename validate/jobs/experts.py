"""A mixture of experts: each rank has one, and samples go to theirs and back by all-to-all."""

import torch
import torch.distributed as dist
from torch import nn

from job_steps import Job


class Exchange(torch.autograd.Function):
    """All to all; so are the gradients."""

    @staticmethod
    def forward(ctx, x):
        result = torch.empty_like(x)
        dist.all_to_all_single(result, x.contiguous())
        return result

    @staticmethod
    def backward(ctx, gradient):
        result = torch.empty_like(gradient)
        dist.all_to_all_single(result, gradient.contiguous())
        return result


class ExpertLayer(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.expert = job.layer(job.options.width, job.options.width)

    def forward(self, x):
        return x + Exchange.apply(self.expert(Exchange.apply(x)))


def main():
    with Job(__doc__) as job:
        model = nn.Sequential(*(ExpertLayer(job) for _ in range(job.options.layers)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in job.steps():
            optimizer.zero_grad()
            model(job.samples().requires_grad_()).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    main()
