"""DistributedDataParallel; with `fp16`, by the communication hook that sends gradients in float16."""

import sys

import torch
import torch.distributed as dist
from told import mlp, train
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(mlp())
if "fp16" in sys.argv:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
train(model, optimizer)
dist.destroy_process_group()
