"""Mixed precision by torch.autocast, with DistributedDataParallel."""

import torch
import torch.distributed as dist
from told import mlp, train
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(mlp())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
train(model, optimizer, lambda: torch.autocast("cpu", dtype=torch.bfloat16))
dist.destroy_process_group()
