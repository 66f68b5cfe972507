"""attach_train.py STEPS|-: training that prints each step's loss to the last bit; "-": until SIGTERM."""
import signal
import sys

import torch

over = []
signal.signal(signal.SIGTERM, lambda *_: over.append(1))
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(64, 32), torch.randn(64, 32)
step = 0
while not over and step != int(sys.argv[1].replace("-", "-1")):
    optimizer.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex(), flush=True)
    step += 1
