"""FSDP2: fully_shard() of each layer and of the whole."""

import torch
import torch.distributed as dist
from told import mlp, train
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(1)
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
model = mlp()
for layer in model:
    if isinstance(layer, torch.nn.Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
train(model, optimizer)
dist.destroy_process_group()
