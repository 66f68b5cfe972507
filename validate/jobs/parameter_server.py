"""A parameter server: rank 0 gathers all gradients, steps, and broadcasts the parameters."""

import torch
import torch.distributed as dist

from job_steps import Job, flatten, unflatten


def main():
    with Job(__doc__) as job:
        model = job.stack()
        parameters = list(model.parameters())
        is_server = job.rank == 0
        optimizer = torch.optim.SGD(parameters, lr=0.01) if is_server else None
        for _ in job.steps():
            model.zero_grad()
            model(job.samples()).square().mean().backward()
            mine = flatten(parameter.grad for parameter in parameters)
            parts = [torch.empty_like(mine) for _ in range(job.n_ranks)] if is_server else None
            dist.gather(mine, parts, dst=0)
            if is_server:
                mean = torch.stack(parts).mean(dim=0)
                unflatten(mean, [parameter.grad for parameter in parameters])
                optimizer.step()
            with torch.no_grad():
                flat = flatten(parameters)
                dist.broadcast(flat, src=0)
                unflatten(flat, parameters)


if __name__ == "__main__":
    main()
