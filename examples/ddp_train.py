"""Train a small network with DistributedDataParallel on synthetic data, on CPUs.

    python3 ddp_train.py --steps 20                  one rank
    tacho record -n 2 -- python3 ddp_train.py        two ranks on this host

Each rank reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun and its like set them.
Same options, same numbers: the loss printed at the end is the same in every run. With --step-times
each rank also prints one line of JSON: its rank, and how long each step took but the first.
"""

import argparse
import json
import os
import sys
import time

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

    def __init__(self, width=48, n_layers=2):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.layer1 = nn.Sequential(*(Block(width) for _ in range(n_layers)))
        self.widen = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.layer2 = nn.Sequential(*(Block(2 * width) for _ in range(n_layers - 1)))
        self.head = nn.Linear(2 * width * 4 * 4, N_CLASSES)

    def forward(self, x):
        x = self.layer1(torch.max_pool2d(self.stem(x), 2))
        x = self.layer2(torch.relu(self.widen(x)))
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 4), 1))


class SmallTransformer(nn.Module):
    def __init__(self, width=128, n_layers=2):
        super().__init__()
        self.sample_shape = (32, width)  # tokens, already embedded
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, n_layers)
        self.head = nn.Linear(width, N_CLASSES)

    def forward(self, x):
        return self.head(self.encoder(x).mean(dim=1))


class Mlp(nn.Module):
    """Large layers, little work on them: most of a step is sending gradients."""

    sample_shape = (256,)

    def __init__(self, width=512, n_layers=4):
        super().__init__()
        layers = [nn.Linear(self.sample_shape[0], width), nn.ReLU()]
        for _ in range(n_layers - 1):
            layers += [nn.Linear(width, width), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(width, N_CLASSES))

    def forward(self, x):
        return self.layers(x)


MODELS = {"cnn": SmallCnn, "mlp": Mlp, "transformer": SmallTransformer}


class Noise(Dataset):
    """Sample i is the same in every run, whoever reads it."""

    def __init__(self, n_samples, shape, read_ms):
        self.n_samples = n_samples
        self.shape = shape
        self.read_ms = read_ms

    def __len__(self):
        return self.n_samples

    def __getitem__(self, index):
        if self.read_ms:
            time.sleep(self.read_ms / 1000)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(self.shape, generator=generator), index % N_CLASSES


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="cnn")
    parser.add_argument("--width", type=int, help="channels or features; default: the model's own")
    parser.add_argument("--layers", type=int, help="blocks or layers; default: the model's own")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32, help="samples a rank and step")
    parser.add_argument("--workers", type=int, default=0, help="data-loader processes a rank")
    parser.add_argument("--read-ms", type=float, default=0,
                        help="milliseconds that a sample takes to be read, as from a slow disk")
    parser.add_argument("--bucket-mb", type=float, default=25, help="DDP's bucket_cap_mb")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step-times", action="store_true", help="print a line of JSON a rank")
    return parser.parse_args()


def make_model(arguments):
    sizes = {"width": arguments.width, "n_layers": arguments.layers}
    return MODELS[arguments.model](**{name: n for name, n in sizes.items() if n is not None})


def train(model, loader):
    """Returns the last step's loss, and when each step ended."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss = torch.zeros(())
    ends_ns = []
    for samples, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(samples), labels)
        loss.backward()
        optimizer.step()
        ends_ns.append(time.monotonic_ns())
    return loss.item(), ends_ns


def main():
    arguments = parse_arguments()
    rank = int(os.environ.get("RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))

    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    model = make_model(arguments)
    data = Noise(arguments.steps * arguments.batch * world_size, model.sample_shape,
                 arguments.read_ms)
    mine = torch.utils.data.Subset(data, range(rank, len(data), world_size))
    loader = DataLoader(mine, batch_size=arguments.batch, num_workers=arguments.workers)
    if world_size > 1:
        torch.distributed.init_process_group("gloo")
        model = DistributedDataParallel(model, bucket_cap_mb=arguments.bucket_mb)
    loss, ends_ns = train(model, loader)
    if world_size > 1:
        torch.distributed.destroy_process_group()
    said = f"rank {rank}: loss {loss:.6f} after {arguments.steps} steps\n"
    if arguments.step_times:
        steps_ms = [round((end - begin) / 1e6, 3) for begin, end in zip(ends_ns, ends_ns[1:])]
        said += json.dumps({"rank": rank, "steps_ms": steps_ms}) + "\n"
    # one write, so that the lines of several ranks stay whole
    sys.stdout.write(said)


if __name__ == "__main__":
    main()
