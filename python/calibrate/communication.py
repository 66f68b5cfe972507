"""Measure collectives of PyTorch's process group between a job's ranks, by size, for `tacho calibrate communication`.

    communication.py BACKEND MOST_BYTES OPERATIONS

Every rank runs it, in the job's place. Rank 0 tells what was measured on standard output, lines of words between tabs that begin with
"tacho-calibrate". A size's time is the median over its repetitions of the shortest of all ranks' times: who came last to a collective
waited for nobody.
"""

import os
import socket
import sys
import time

WARM_UP = 2
LEAST, MOST = 5, 50  # repetitions of a size ...
SPEND_S = 0.4  # ... that are to take so long in all
FIRST_BYTES = 1024
FACTOR = 4


def launched_as():
    """(rank, size, local rank) as the launcher says; None where it does not."""
    for names in (("RANK", "WORLD_SIZE", "LOCAL_RANK"),
                  ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
                  ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
                  ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")):
        if names[0] in os.environ and names[1] in os.environ:
            return (int(os.environ[names[0]]), int(os.environ[names[1]]), int(os.environ.get(names[2], 0)))
    return None


def choose_backend(torch, wanted, n_ranks):
    if wanted != "auto":
        return wanted
    if torch.cuda.is_available() and torch.cuda.device_count() > 0 and torch.distributed.is_nccl_available():
        n_local = int(os.environ.get("LOCAL_WORLD_SIZE", n_ranks))
        if torch.cuda.device_count() >= min(n_local, n_ranks):
            return "nccl"
    return "gloo"


class Measurement:
    def __init__(self, torch, backend, local_rank):
        self.torch, self.dist = torch, torch.distributed
        self.n_ranks = self.dist.get_world_size()
        self.device = torch.device("cpu")
        if backend == "nccl":
            self.device = torch.device("cuda", local_rank % torch.cuda.device_count())
            torch.cuda.set_device(self.device)

    def tensor(self, n_bytes):
        return self.torch.zeros(max(n_bytes // 4, 1), dtype=self.torch.float32, device=self.device)

    def wait(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)

    def make(self, operation, n_bytes):
        """What does the operation once with so many bytes of input, and how many they are; None: not of that size."""
        dist, n = self.dist, self.n_ranks
        whole = self.tensor(n_bytes)
        elements = whole.numel()
        if operation == "all_reduce":
            return lambda: dist.all_reduce(whole), elements * 4
        if operation == "broadcast":
            return lambda: dist.broadcast(whole, 0), elements * 4
        if operation == "all_gather":
            parts = [self.torch.zeros_like(whole) for _ in range(n)]
            return lambda: dist.all_gather(parts, whole), elements * 4
        elements -= elements % n
        if elements == 0:
            return None
        whole = whole[:elements].contiguous()
        if operation == "reduce_scatter":
            parts = list(whole.view(n, -1).unbind())
            part = self.torch.zeros_like(parts[0])
            return lambda: dist.reduce_scatter(part, parts), elements * 4
        other = self.torch.zeros_like(whole)
        return lambda: dist.all_to_all_single(other, whole), elements * 4

    def times(self, once, count):
        """Seconds of each repetition: the least of all ranks."""
        took = []
        for _ in range(count):
            self.dist.barrier()
            began = time.perf_counter()
            once()
            self.wait()
            took.append(time.perf_counter() - began)
        took = self.torch.tensor(took, dtype=self.torch.float64, device=self.device)
        self.dist.all_reduce(took, op=self.dist.ReduceOp.MIN)
        return sorted(took.tolist())

    def median(self, operation, n_bytes):
        """(bytes, us, count); None: the size is too small, or the backend does not do that."""
        made = self.make(operation, n_bytes)
        if made is None:
            return None
        once, n_bytes = made
        warm = self.times(once, WARM_UP)
        # the same on all ranks, as the times are
        count = min(max(int(SPEND_S / max(warm[-1], 1e-6)), LEAST), MOST)
        took = self.times(once, count)
        middle = (took[(count - 1) // 2] + took[count // 2]) / 2
        return n_bytes, middle * 1e6, count


def is_refused(error):
    """A collective that a backend does not have is an error on every rank, before anything is sent."""
    text = str(error).lower()
    return isinstance(error, (NotImplementedError, AttributeError)) or "not support" in text or "unsupported" in text \
        or "not implemented" in text or "no backend type" in text


def tell(*words):
    print("tacho-calibrate", *words, sep="\t", flush=True)


def measure(measurement, backend, operation, most, rank):
    sizes, n_bytes = [], FIRST_BYTES
    while n_bytes <= most:
        try:
            found = measurement.median(operation, n_bytes)
        except Exception as error:  # what a backend raises is not of one type
            if not is_refused(error):
                raise
            if rank == 0:
                print(f"{backend} has no {operation}: {error}".splitlines()[0], file=sys.stderr)
            return
        if found:
            sizes.append(found)
        n_bytes *= FACTOR
    if rank == 0 and sizes:
        tell("collective", socket.gethostname(), backend, operation, measurement.n_ranks)
        for size, us, count in sizes:
            tell("size", size, f"{us:.3f}", count)


def main():
    wanted, most, operations = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    try:
        import torch
        import torch.distributed as dist
    except ImportError as error:
        sys.exit(f"{sys.executable} has no PyTorch whose collectives could be measured: {error}")
    known = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"]
    chosen = known if operations == "all" else operations.split(",")
    for operation in chosen:
        if operation not in known:
            sys.exit(f"there is no collective '{operation}'; there are {', '.join(known)}")
    launched = launched_as()
    if launched is None and wanted != "mpi":
        sys.exit("no launcher says which rank this is: start ranks by torchrun, mpirun or srun, or with --ranks N")
    rank, n_ranks, local_rank = launched or (0, 1, 0)
    backend = choose_backend(torch, wanted, n_ranks)
    if backend == "mpi":
        dist.init_process_group("mpi")
    else:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29512")
        dist.init_process_group(backend, rank=rank, world_size=n_ranks)
    rank = dist.get_rank()
    if dist.get_world_size() < 2:
        sys.exit("one rank has nobody to speak to: start two or more")
    measurement = Measurement(torch, backend, local_rank)
    for operation in chosen:
        measure(measurement, backend, operation, most, rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
