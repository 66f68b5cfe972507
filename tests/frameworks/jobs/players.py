"""Several programs in one job, as in reinforcement learning: two ranks learn, started by torchrun; two actors play, each a
program of its own that sends what it played to its learner and gets the learner's weights back."""

import os
import pickle
import subprocess
import sys
from multiprocessing.connection import Client, Listener

import torch

N_OBSERVATIONS = 256


def policy():
    from told import mlp

    return mlp()


def play(address):
    """The program of an actor: plays with the weights that it was sent last."""
    torch.manual_seed(2)
    model = policy()
    with Client(address) as learner:
        while True:
            weights = pickle.loads(learner.recv_bytes())
            if weights is None:
                return
            model.load_state_dict(weights)
            with torch.no_grad():
                seen = torch.randn(32, N_OBSERVATIONS)
                learner.send_bytes(pickle.dumps((seen, model(seen).argmax(dim=1))))


def learn():
    import torch.distributed as dist
    from told import STEPS, Told
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(policy())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    told = Told()
    address = os.path.join(os.environ["FRAMEWORK_OUT"], "actor-%d" % dist.get_rank())
    with Listener(address) as listener:
        hidden = {name: word for name, word in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
        actor = subprocess.Popen([sys.executable, os.path.abspath(__file__), "play", address], env=hidden)
        with listener.accept() as line:
            for _ in range(STEPS):
                line.send_bytes(pickle.dumps(model.module.state_dict()))
                seen, actions = pickle.loads(line.recv_bytes())
                loss = torch.nn.functional.cross_entropy(model(seen), actions)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                told.step(loss)
            line.send_bytes(pickle.dumps(None))
    actor.wait()
    told.end()
    dist.destroy_process_group()


if __name__ == "__main__":
    play(sys.argv[2]) if sys.argv[1:2] == ["play"] else learn()
