"""A small job for `tacho doctor`: a little of everything that tacho records, if this Python has it.

What it found goes to standard output, a line each: "NAME<tab>TEXT". It needs nothing but Python.
"""

import os
import sys
import time

SPIN_S = 0.6  # long enough for some tens of samples


def tell(name, text):
    print(name, " ".join(str(text).split()), sep="\t", flush=True)


def spin_for_the_sampler():
    """Keep the processor in Python; doctor looks for this function's name among the samples."""
    end = time.monotonic() + SPIN_S
    total = 0
    while time.monotonic() < end:
        total += sum(range(100))
    return total


def version_of(name):
    """The version of a package that is installed, without importing it; None: it is not."""
    from importlib import util

    if util.find_spec(name) is None:
        return None
    try:
        from importlib import metadata

        for package in (name, name + "-cpu", "intel-" + name):
            try:
                return metadata.version(package)
            except metadata.PackageNotFoundError:
                pass
    except ImportError:
        pass
    return "of unknown version"


def messages():
    import socket

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    sender = socket.create_connection(listener.getsockname())
    receiver, _ = listener.accept()
    for _ in range(4):
        sender.sendall(b"x" * 1024)
        receiver.recv(1024)
    for one in (sender, receiver, listener):
        one.close()


def training(torch):
    """Three steps of a small network: matrix products, a convolution, memory, modules."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 3, 16, 16)).sum().backward()
        optimizer.step()


def product():
    import numpy

    numpy.ones((64, 64)).dot(numpy.ones((64, 64)))


def collective(torch):
    """A process group of this process alone."""
    import tempfile

    import torch.distributed as dist

    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group(
            "gloo", init_method="file://" + os.path.join(folder, "store"), rank=0, world_size=1
        )
        dist.all_reduce(torch.ones(16))
        dist.destroy_process_group()


def attempt(name, function, *arguments):
    try:
        function(*arguments)
        tell(name, "done")
    except Exception as error:  # whatever a broken installation raises
        tell(name + "_error", "%s: %s" % (type(error).__name__, error))


def main():
    tell("python", "%s %s" % (sys.implementation.name, sys.version.split()[0]))
    tell("executable", sys.executable)
    attempt("spin", spin_for_the_sampler)
    attempt("messages", messages)
    for name in ("tensorflow", "jax"):
        version = version_of(name)
        if version:
            tell(name, version)
    if version_of("torch"):
        try:
            import torch
        except Exception as error:
            tell("torch_error", "%s: %s" % (type(error).__name__, error))
            return
        tell("torch", torch.__version__)
        attempt("training", training, torch)
        if torch.distributed.is_available():
            attempt("collective", collective, torch)
    elif version_of("numpy"):
        attempt("numpy", product)


main()
