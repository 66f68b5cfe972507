"""DistributedDataParallel; with `fp16`, by the communication hook that sends gradients in float16."""

import sys

import torch
import torch.distributed as dist
from told import STEPS, Told, batch, classes, mlp
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(mlp())
if "fp16" in sys.argv:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
told = Told()
for step in range(STEPS):
    loss = torch.nn.functional.cross_entropy(model(batch(step, 32, 256)), classes(step, 32, 10))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    told.step(loss)
told.end()
dist.destroy_process_group()
