"""DistributedDataParallel that sends its gradients in half precision, by PyTorch's hook."""

import torch
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from job_steps import Job


def main():
    with Job(__doc__) as job:
        model = DistributedDataParallel(job.stack(), bucket_cap_mb=2)
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        job.train(model, optimizer)


if __name__ == "__main__":
    main()
