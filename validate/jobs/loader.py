"""A job whose data loader keeps it waiting: each sample takes milliseconds to be read."""

import time

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from job_steps import Job

SAMPLE_S = 0.004
N_SAMPLES = 16  # a step


class SlowDisk(Dataset):
    def __init__(self, n_samples, width):
        self.n_samples = n_samples
        self.width = width

    def __len__(self):
        return self.n_samples

    def __getitem__(self, index):
        time.sleep(SAMPLE_S)
        return torch.full((self.width,), float(index))


def main():
    with Job(__doc__) as job:
        model = DistributedDataParallel(job.stack())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        data = SlowDisk(N_SAMPLES * job.options.steps, job.options.width)
        batches = iter(DataLoader(data, batch_size=N_SAMPLES))
        for _ in job.steps():
            optimizer.zero_grad()
            model(next(batches)).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    main()
