"""DistributedDataParallel that reads samples by two workers and saves a checkpoint every fifth step while it trains on."""

import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from told import STEPS, Told, mlp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    savers = dist.new_group()  # by a thread of its own: in the group of the gradients both would wait for each other
    torch.manual_seed(1)
    model = DistributedDataParallel(mlp())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(5)
    samples = TensorDataset(torch.randn(4096, 256, generator=generator),
                            torch.randint(0, 10, (4096,), generator=generator))
    loader = DataLoader(samples, batch_size=16, num_workers=2, sampler=DistributedSampler(samples))
    told = Told()
    saving = None
    for step, (x, y) in enumerate(loader):
        if step == STEPS:
            break
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            if saving:
                saving.result()
            saving = checkpoint.async_save({"model": model.module.state_dict()}, process_group=savers,
                                           checkpoint_id=os.path.join(os.environ["FRAMEWORK_OUT"], "checkpoint-%d" % step))
        told.step(loss)
    if saving:
        saving.result()
    told.end()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
