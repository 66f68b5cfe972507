"""ZeroRedundancyOptimizer: each rank keeps the optimizer's state of a part of the parameters, and broadcasts the part."""

import torch
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from job_steps import Job


def main():
    with Job(__doc__) as job:
        model = DistributedDataParallel(job.stack())
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.001)
        job.train(model, optimizer)


if __name__ == "__main__":
    main()
