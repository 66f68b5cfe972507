"""DistributedDataParallel; with `fp16`, by the communication hook that sends gradients in float16; with `bf16`, by one of the
job's own in bfloat16 (PyTorch's asks for CUDA)."""

import sys

import torch
import torch.distributed as dist
from told import mlp, train
from torch.nn.parallel import DistributedDataParallel



def send_bf16(_state, bucket):
    small = bucket.buffer().to(torch.bfloat16).div_(dist.get_world_size())
    summed = dist.all_reduce(small, async_op=True).get_future()
    return summed.then(lambda future: bucket.buffer().copy_(future.value()[0]))


dist.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(mlp())
if "fp16" in sys.argv:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
if "bf16" in sys.argv:
    model.register_comm_hook(None, send_bf16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
train(model, optimizer)
dist.destroy_process_group()
