"""deepspeed_zero.py STAGE: DeepSpeed's engine with ZeRO of that stage, on processors."""

import sys

import deepspeed
import torch
import torch.distributed as dist
from told import STEPS, Told, batch, classes, mlp

stage = int(sys.argv[-1])
deepspeed.init_distributed(dist_backend="gloo")
torch.manual_seed(1)
model = mlp()
engine, optimizer, _, _ = deepspeed.initialize(model=model, config={
    "train_micro_batch_size_per_gpu": 32,
    "optimizer": {"type": "Adam", "params": {"lr": 0.001, "torch_adam": True}},
    "zero_optimization": {"stage": stage},
    "zero_allow_untested_optimizer": True,
})
told = Told()
for step in range(STEPS):
    loss = torch.nn.functional.cross_entropy(engine(batch(step, 32, 256)), classes(step, 32, 10))
    engine.backward(loss)
    engine.step()
    told.step(loss)
told.end()
dist.destroy_process_group()
