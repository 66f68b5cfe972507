"""Train a small network with DistributedDataParallel on synthetic data, on CPUs.

    python3 ddp_train.py --steps 20                  one rank
    tacho record -n 2 -- python3 ddp_train.py        two ranks on this host

Each rank reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun and its like set them.
Same options, same numbers: the loss printed at the end is the same in every run.
"""

import argparse
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two make small operations many times slower

import torch
import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

N_CLASSES = 10


class Block(nn.Module):
    """Two convolutions with a way around them."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(y)))


class SmallCnn(nn.Module):
    sample_shape = (3, 32, 32)

    def __init__(self, channels=48):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.layer1 = nn.Sequential(Block(channels), Block(channels))
        self.widen = nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1)
        self.layer2 = nn.Sequential(Block(2 * channels))
        self.head = nn.Linear(2 * channels * 4 * 4, N_CLASSES)

    def forward(self, x):
        x = self.layer1(torch.max_pool2d(self.stem(x), 2))
        x = self.layer2(torch.relu(self.widen(x)))
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 4), 1))


class SmallTransformer(nn.Module):
    sample_shape = (32, 128)  # tokens, already embedded

    def __init__(self, width=128, n_layers=2):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, n_layers)
        self.head = nn.Linear(width, N_CLASSES)

    def forward(self, x):
        return self.head(self.encoder(x).mean(dim=1))


MODELS = {"cnn": SmallCnn, "transformer": SmallTransformer}


class Noise(Dataset):
    """Sample i is the same in every run, whoever reads it."""

    def __init__(self, n_samples, shape):
        self.n_samples = n_samples
        self.shape = shape

    def __len__(self):
        return self.n_samples

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(self.shape, generator=generator), index % N_CLASSES


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="cnn")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32, help="samples a rank and step")
    parser.add_argument("--workers", type=int, default=0, help="data-loader processes a rank")
    return parser.parse_args()


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss = torch.zeros(())
    for samples, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(samples), labels)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    arguments = parse_arguments()
    rank = int(os.environ.get("RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))

    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = MODELS[arguments.model]()
    data = Noise(arguments.steps * arguments.batch * world_size, model.sample_shape)
    mine = torch.utils.data.Subset(data, range(rank, len(data), world_size))
    loader = DataLoader(mine, batch_size=arguments.batch, num_workers=arguments.workers)
    if world_size > 1:
        torch.distributed.init_process_group("gloo")
        model = DistributedDataParallel(model)
    loss = train(model, loader)
    if world_size > 1:
        torch.distributed.destroy_process_group()
    # one write, so that the lines of several ranks stay whole
    sys.stdout.write(f"rank {rank}: loss {loss:.6f} after {arguments.steps} steps\n")


if __name__ == "__main__":
    main()
