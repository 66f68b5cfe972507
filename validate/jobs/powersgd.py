"""DistributedDataParallel that sends its gradients as products of two thin matrices, by PyTorch's PowerSGD hook."""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from job_steps import Job

RANK = 48
BUCKET_MB = 1000
PLAIN_STEPS = 2  # PowerSGD wants some before it begins


def main():
    # All in one bucket: with several, gloo's two workers call the hook's steps in another order on each rank.
    dist._DEFAULT_FIRST_BUCKET_BYTES = BUCKET_MB << 20
    with Job(__doc__) as job:
        model = DistributedDataParallel(job.stack(), bucket_cap_mb=BUCKET_MB)
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=RANK, start_powerSGD_iter=PLAIN_STEPS)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
        job.train(model, optimizer)


if __name__ == "__main__":
    main()
