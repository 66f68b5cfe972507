"""A pipeline: a stage on each rank, micro-batches forward and then backward, by send and recv."""

import torch
import torch.distributed as dist

from job_steps import Job

N_MICRO_BATCHES = 4


def main():
    with Job(__doc__) as job:
        stage = job.stack()
        optimizer = torch.optim.SGD(stage.parameters(), lr=0.01)
        before, after = job.rank - 1, job.rank + 1
        is_last = after == job.n_ranks
        for _ in job.steps():
            optimizer.zero_grad()
            passes = []
            for _ in range(N_MICRO_BATCHES):
                x = job.samples()
                if before >= 0:
                    dist.recv(x, before)
                    x.requires_grad_()
                y = stage(x)
                if not is_last:
                    dist.send(y.detach(), after)
                passes.append((x, y))
            for x, y in passes:
                gradient = torch.empty_like(y)
                if is_last:
                    y.square().mean().backward()
                else:
                    dist.recv(gradient, after)
                    y.backward(gradient)
                if before >= 0:
                    dist.send(x.grad, before)
            optimizer.step()


if __name__ == "__main__":
    main()
