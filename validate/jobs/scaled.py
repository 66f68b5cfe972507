"""DistributedDataParallel that sends its gradients in half precision, scaled by the largest of all ranks, by a hook of two all-reduces."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from job_steps import Job

BUCKET_MB = 1000


def scaled_hook(group, bucket):
    """The largest gradient of all ranks first, then all of them in float16, in shares of it."""
    gradients = bucket.buffer()
    largest = gradients.abs().max().reshape(1)

    def send(future):
        scale = future.value()[0].clamp(min=1e-12) * dist.get_world_size()
        halves = (gradients / scale).to(torch.float16)
        return dist.all_reduce(halves, group=group, async_op=True).get_future().wait()[0].to(gradients.dtype) * scale

    def divide(future):
        return gradients.copy_(future.value()).div_(dist.get_world_size())

    return dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=group, async_op=True).get_future().then(send).then(divide)


def main():
    # All in one bucket: with several, gloo's two workers call the hook's steps in another order on each rank.
    dist._DEFAULT_FIRST_BUCKET_BYTES = BUCKET_MB << 20
    with Job(__doc__) as job:
        model = DistributedDataParallel(job.stack(), bucket_cap_mb=BUCKET_MB)
        model.register_comm_hook(None, scaled_hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
        job.train(model, optimizer)


if __name__ == "__main__":
    main()
