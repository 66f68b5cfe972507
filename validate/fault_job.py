"""Two ranks that train until they are told to end, or to do something wrong: what the file named by --fault says.

A step is 5 ms of arithmetic and 15 ms of sleep, and an all-reduce of DistributedDataParallel. Rank 1 does what the file says from the
moment on that it is there; "end" ends both.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

BATCH = 8


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fault", required=True)
    parser.add_argument("--compute-ms", type=float, default=5)
    parser.add_argument("--products", type=int, default=0, help="of a step, whatever time they take, in place of --compute-ms")
    parser.add_argument("--sleep-ms", type=float, default=15)
    parser.add_argument("--steps", type=int, default=1_000_000)
    return parser.parse_args()


def asked(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


class Data(Dataset):
    def __init__(self, arguments, rank):
        self.arguments = arguments
        self.rank = rank

    def __len__(self):
        return BATCH * self.arguments.steps

    def __getitem__(self, index):
        if index % BATCH == 0 and self.rank == 1 and asked(self.arguments.fault) == "loader":
            time.sleep(0.05)
        return torch.full((64,), float(index % 7))


def compute(milliseconds, n_products):
    """So much arithmetic as takes that long here when nothing else wants the core, or so many products: by work, not by time."""
    matrix = torch.ones(96, 96)
    began, n = time.perf_counter(), 0
    while not n_products and time.perf_counter() - began < 0.05:
        matrix @ matrix
        n += 1
    n_products = n_products or max(1, round(n * milliseconds / 50))

    def work():
        for _ in range(n_products):
            matrix @ matrix
    return work


def main():
    arguments = parse_arguments()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    work = compute(arguments.compute_ms, arguments.products)
    model = DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    leak = []
    for batch in DataLoader(Data(arguments, rank), batch_size=BATCH):
        fault = asked(arguments.fault)
        if fault == "end":
            break
        optimizer.zero_grad()
        work()
        time.sleep(arguments.sleep_ms / 1000)
        if rank == 1 and fault == "leak":
            leak.append(bytearray(os.urandom(2000)) * 1000)
        elif rank == 1 and fault == "mismatch":
            dist.broadcast(torch.ones(7), 1)
        model(batch).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
