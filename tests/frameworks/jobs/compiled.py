"""torch.compile: Inductor's kernels in C++, under DistributedDataParallel."""

import torch
import torch.distributed as dist
from told import mlp, train
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(torch.compile(mlp(n_layers=2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
train(model, optimizer)
dist.destroy_process_group()
