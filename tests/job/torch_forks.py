"""A job that forks, again and again, while its other threads train and compute; each child runs an operation (torch_forks.sh)."""
import ctypes
import os
import sys
import threading
import time

import torch

N_FORKS = 40
HANGS_AFTER_S = 60

torch.set_num_threads(1)
is_over = False


def train():
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    while not is_over:
        model(torch.ones(4)).sum().backward()
        optimizer.step()


def compute():
    x = torch.ones(4)
    while not is_over:
        x = x + 1


def ends(child):
    deadline = time.monotonic() + HANGS_AFTER_S
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.001)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


libraries = {line.split()[-1] for line in open("/proc/self/maps") if "/libtorch_cpu.so" in line}
if not ctypes.CDLL(None).slow_lock_learn(os.fsencode(libraries.pop())):
    print("unknown")
    sys.exit(0)
torch.ones(2).sum()
threads = [threading.Thread(target=function, daemon=True) for function in (train, compute, compute)]
for thread in threads:
    thread.start()
for number in range(N_FORKS):
    time.sleep(0.005)
    child = os.fork()
    if child == 0:
        torch.ones(2).sum()
        os._exit(0)
    if not ends(child):
        print(f"child {number} hangs")
        os._exit(1)
is_over = True
for thread in threads:
    thread.join()
print("all ended")
