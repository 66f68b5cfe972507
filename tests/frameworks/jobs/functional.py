"""Functional collectives: gradients gathered into one tensor and reduced by an operation that returns the sum."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from told import STEPS, Told, batch, classes, mlp

dist.init_process_group("gloo")
torch.manual_seed(1)
model = mlp()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
told = Told()
for step in range(STEPS):
    loss = torch.nn.functional.cross_entropy(model(batch(step, 32, 256)), classes(step, 32, 10))
    optimizer.zero_grad()
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    summed = functional.all_reduce(torch.cat([gradient.flatten() for gradient in gradients]), "sum", dist.group.WORLD)
    mean = functional.wait_tensor(summed) / dist.get_world_size()
    for gradient, part in zip(gradients, mean.split([gradient.numel() for gradient in gradients])):
        gradient.copy_(part.view_as(gradient))
    optimizer.step()
    told.step(loss)
told.end()
dist.destroy_process_group()
