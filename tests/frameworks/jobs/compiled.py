"""torch.compile: Inductor's kernels in C++, under DistributedDataParallel."""

import torch
import torch.distributed as dist
from told import STEPS, Told, batch, classes, mlp
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(torch.compile(mlp(n_layers=2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
told = Told()
for step in range(STEPS):
    loss = torch.nn.functional.cross_entropy(model(batch(step, 32, 256)), classes(step, 32, 10))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    told.step(loss)
told.end()
dist.destroy_process_group()
