"""Accelerate: model, optimizer and data loader prepared, the loop as ever."""

import torch
from accelerate import Accelerator
from told import STEPS, Told, mlp
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
accelerator = Accelerator(cpu=True)
model = mlp()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
generator = torch.Generator().manual_seed(5)
samples = TensorDataset(torch.randn(4096, 256, generator=generator),
                        torch.randint(0, 10, (4096,), generator=generator))
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(samples, batch_size=16))
told = Told()
for step, (x, y) in enumerate(loader):
    if step == STEPS:
        break
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    told.step(loss)
told.end()
accelerator.end_training()
