"""DiLoCo: each rank takes steps of its own, and what they changed in all is averaged over ranks and given to an outer optimizer."""

import torch
import torch.distributed as dist

from job_steps import Job, flatten, unflatten

N_INNER = 3


def main():
    with Job(__doc__) as job:
        model = job.stack()
        parameters = list(model.parameters())
        outer = torch.optim.SGD(parameters, lr=0.7, momentum=0.9, nesterov=True)
        for _ in job.steps():
            before = flatten(parameters)
            for _ in range(N_INNER):
                gradients = torch.autograd.grad(model(job.samples()).square().mean(), parameters)
                with torch.no_grad():
                    for parameter, gradient in zip(parameters, gradients):
                        parameter -= 0.01 * gradient
            changes = before - flatten(parameters)
            dist.all_reduce(changes)
            with torch.no_grad():
                unflatten(before, parameters)
            for parameter in parameters:
                parameter.grad = torch.empty_like(parameter)
            unflatten(changes / job.n_ranks, [parameter.grad for parameter in parameters])
            outer.step()


if __name__ == "__main__":
    main()
