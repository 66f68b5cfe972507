"""Fully sharded: a layer's parameters are gathered for each pass of it, and its gradients reduced to their owners.

gloo has no reduce-scatter for tensors of ours, so it is an exchange of all with all, and a sum.
"""

import torch
import torch.distributed as dist
from torch import nn

from job_steps import Job


def reduce_scatter(job, gradient):
    parts = torch.empty_like(gradient)
    dist.all_to_all_single(parts, gradient)
    return parts.view(job.n_ranks, -1).mean(dim=0)


class ShardedLayer(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job = job
        self.layer = job.layer(job.options.width, job.options.width)
        for parameter in self.layer.parameters():
            if parameter.dim() < 2:
                parameter.requires_grad_(False)
        self.weight = next(p for p in self.layer.parameters() if p.dim() == 2)
        self.shard = nn.Parameter(self.weight.detach().reshape(job.n_ranks, -1)[job.rank].clone())

    def gather(self):
        parts = [torch.empty_like(self.shard) for _ in range(self.job.n_ranks)]
        dist.all_gather(parts, self.shard.detach())
        # autograd is not to see that what it kept for the backward pass was written again: it is the same
        self.weight.data.copy_(torch.cat(parts).view_as(self.weight))

    def forward(self, x):
        self.gather()
        return self.layer(x)

    def reduce(self):
        self.shard.grad = reduce_scatter(self.job, self.weight.grad.reshape(-1))
        self.weight.grad = None


def main():
    with Job(__doc__) as job:
        layers = [ShardedLayer(job) for _ in range(job.options.layers)]
        optimizer = torch.optim.Adam([layer.shard for layer in layers], lr=0.001)
        for _ in job.steps():
            optimizer.zero_grad()
            passes = []
            x = job.samples()
            for layer in layers:
                x = x.detach().requires_grad_()
                y = layer(x)
                passes.append((layer, x, y))
                x = y
            gradient = 2 * x.detach() / x.numel()
            for layer, x, y in reversed(passes):
                layer.gather()
                torch.autograd.backward(y, gradient)
                layer.reduce()
                gradient = x.grad
            optimizer.step()


if __name__ == "__main__":
    main()
