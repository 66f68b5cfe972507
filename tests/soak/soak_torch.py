"""soak_torch.py SECONDS: PyTorch in four threads beside data-loader workers, forked children, a timer's signals and Python's own threads that
come and go. Prints how many operations of one name were called in this process, which the run must have.

Threads draw from generators of their own: the default one has a lock, and a data-loader worker that is forked while a thread holds it waits for it for ever
(PyTorch 1.13, without tacho as well)."""

import os
import signal
import sys
import threading
import time

import torch

END = time.monotonic() + float(sys.argv[1])
N_THREADS = 4
counts = [0] * N_THREADS


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return torch.ones(16) * index


def work(number, net):
    generator = torch.Generator()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    while time.monotonic() < END:
        optimizer.zero_grad()
        net(torch.randn(8, 32, generator=generator)).sum().backward()
        optimizer.step()
        torch.special.erfcx(torch.ones(3))
        counts[number] += 1
        time.sleep(0.005)


def main():
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    nets = [torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)) for _ in range(N_THREADS)]
    threads = [threading.Thread(target=work, args=(number, net)) for number, net in enumerate(nets)]
    for thread in threads:
        thread.start()
    while time.monotonic() < END:
        for batch in torch.utils.data.DataLoader(Squares(), batch_size=8, num_workers=2):
            batch.sum()
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.2)
    for thread in threads:
        thread.join()
    signal.setitimer(signal.ITIMER_REAL, 0)  # Python gives signals back before it ends
    print("operations %d" % sum(counts))


main()
