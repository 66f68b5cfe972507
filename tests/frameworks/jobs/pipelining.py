"""torch.distributed.pipelining: a stage a rank, four microbatches, GPipe."""

import torch
import torch.distributed as dist
from told import RANK, STEPS, WORLD, Told, mlp
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

dist.init_process_group("gloo")
torch.manual_seed(1 + RANK)
stage_module = mlp(n_layers=2, n_classes=256)
stage = PipelineStage(stage_module, RANK, WORLD, torch.device("cpu"))
schedule = ScheduleGPipe(stage, 4, loss_fn=torch.nn.functional.mse_loss)
optimizer = torch.optim.SGD(stage_module.parameters(), lr=0.01)
told = Told()
for step in range(STEPS):
    generator = torch.Generator().manual_seed(step)
    x, target = torch.randn(32, 256, generator=generator), torch.randn(32, 256, generator=generator)
    losses = []
    optimizer.zero_grad()
    if RANK == 0:
        schedule.step(x)
    else:
        schedule.step(target=target, losses=losses)
    optimizer.step()
    told.step(sum(losses) / len(losses) if losses else 0.0)
told.end()
dist.destroy_process_group()
