"""Tensor parallel layers of DTensor: a column-wise and a row-wise linear layer in each block."""

import torch
import torch.distributed as dist
from told import STEPS, Told, batch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


dist.init_process_group("gloo")
torch.manual_seed(1)
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
model = nn.Sequential(*(Block(128) for _ in range(3)))
for block in model:
    parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, foreach=False)
told = Told()
for step in range(STEPS):
    x = torch.randn(32, 128, generator=torch.Generator().manual_seed(step))  # the same at all ranks
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    told.step(loss)
told.end()
dist.destroy_process_group()
