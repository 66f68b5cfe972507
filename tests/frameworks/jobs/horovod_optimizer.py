"""Horovod's DistributedOptimizer: gradients are summed while the backward pass goes on, parameters broadcast at the start."""

import horovod.torch as hvd
import torch
from told import mlp, train

hvd.init()
torch.manual_seed(1)
model = mlp()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
train(model, optimizer)
hvd.shutdown()
