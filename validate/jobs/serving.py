"""Inference: rank 0 scatters requests, all ranks compute, and it gathers the answers. Nothing is optimized."""

import torch
import torch.distributed as dist

from job_steps import Job


def main():
    with Job(__doc__) as job, torch.no_grad():
        model = job.stack()
        is_front = job.rank == 0
        for _ in job.steps():
            mine = torch.empty(job.options.batch, job.options.width)
            requests = answers = None
            if is_front:
                requests = list(job.samples(job.n_ranks * job.options.batch).chunk(job.n_ranks))
                answers = [torch.empty_like(mine) for _ in range(job.n_ranks)]
            dist.scatter(mine, requests, src=0)
            dist.gather(model(mine), answers, dst=0)


if __name__ == "__main__":
    main()
