"""The job that plans are tried on: DistributedDataParallel over gloo, nothing in it made for tacho.

    bucketed.py --model recurrent --cap 25 --steps 20

Each rank prints a line of JSON when it has come to the end of a step: {"rank": 0, "step": 3, "ns": 123, "loss": "0x1.2p+0"}, by
CLOCK_MONOTONIC; the last one also says which buckets DistributedDataParallel had from its second step on, in bytes.
cnn, mlp and transformer are those of examples/ddp_train.py; the others are set aside (optimize_cases.py): nothing may be tuned on them.
"""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))

import ddp_train
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

N_CLASSES = ddp_train.N_CLASSES
N_WORDS = 2000


class Recurrent(nn.Module):
    """A language model: words embedded, LSTMs one after the other, and a word's probability. An LSTM's gradients come all at once."""

    sample_shape = (16,)

    def __init__(self, width=384, n_layers=3):
        super().__init__()
        self.embedding = nn.Embedding(N_WORDS, width)
        self.layers = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(n_layers))
        self.head = nn.Linear(width, N_CLASSES)

    def forward(self, x):
        x = self.embedding((x.abs() * 1000).long() % N_WORDS)
        for layer in self.layers:
            x = layer(x)[0]
        return self.head(x[:, -1])


class MixerBlock(nn.Module):
    def __init__(self, n_tokens, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(n_tokens, 2 * n_tokens), nn.GELU(), nn.Linear(2 * n_tokens, n_tokens))
        self.norm2 = nn.LayerNorm(width)
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    """Perceptrons over tokens and over channels in turn: many small tensors between large ones."""

    def __init__(self, width=256, n_layers=6):
        super().__init__()
        n_tokens = 32
        self.sample_shape = (n_tokens, width)
        self.blocks = nn.Sequential(*(MixerBlock(n_tokens, width) for _ in range(n_layers)))
        self.head = nn.Linear(width, N_CLASSES)

    def forward(self, x):
        return self.head(self.blocks(x).mean(dim=1))


class WideHead(nn.Module):
    """Convolutions, and behind them fully connected layers that hold most of the parameters: the large gradients come first."""

    sample_shape = (3, 32, 32)

    def __init__(self, width=64, n_layers=3):
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        for _ in range(n_layers):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
        layers += [nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU()]
        layers += [nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Linear(2 * width * 16, 768), nn.ReLU(), nn.Linear(768, 512), nn.ReLU(),
                                  nn.Linear(512, N_CLASSES))

    def forward(self, x):
        return self.head(torch.flatten(self.features(x), 1))


MODELS = {**ddp_train.MODELS, "recurrent": Recurrent, "mixer": Mixer, "wide_head": WideHead}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="cnn")
    parser.add_argument("--width", type=int, help="channels or features; default: the model's own")
    parser.add_argument("--layers", type=int, help="blocks or layers; default: the model's own")
    parser.add_argument("--batch", type=int, default=32, help="samples a rank and step")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--cap", type=float, help="bucket_cap_mb; default: PyTorch's")
    return parser.parse_args()


def make_model(arguments):
    sizes = {"width": arguments.width, "n_layers": arguments.layers}
    return MODELS[arguments.model](**{name: n for name, n in sizes.items() if n is not None})


def bucket_sizes(ddp):
    """Bytes of the buckets that were packed anew, in the order in which they are sent."""
    sizes = ddp._get_ddp_logging_data().get("rebuilt_bucket_sizes", "")
    return [int(size) for size in sizes.split(",") if size.strip()]


def main():
    arguments = parse_arguments()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = make_model(arguments)
    caps = {"bucket_cap_mb": arguments.cap} if arguments.cap else {}
    ddp = DistributedDataParallel(model, **caps)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01, momentum=0.9)
    torch.manual_seed(2 + rank)
    samples = torch.randn(arguments.batch, *model.sample_shape)
    labels = torch.randint(N_CLASSES, (arguments.batch,))
    for step in range(arguments.steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(ddp(samples), labels)
        loss.backward()
        optimizer.step()
        line = {"rank": rank, "step": step, "ns": time.monotonic_ns(), "loss": loss.item().hex()}
        if step == arguments.steps - 1:
            line["buckets"] = bucket_sizes(ddp)
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
