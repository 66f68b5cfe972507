"""DistributedDataParallel with ZeroRedundancyOptimizer: each rank keeps the state of a part of the parameters."""

import torch
import torch.distributed as dist
from told import STEPS, Told, batch, classes, mlp
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(mlp())
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.001)
told = Told()
for step in range(STEPS):
    loss = torch.nn.functional.cross_entropy(model(batch(step, 32, 256)), classes(step, 32, 10))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    told.step(loss)
told.end()
dist.destroy_process_group()
