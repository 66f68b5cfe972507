"""Data loaders have as many worker processes as planned. What a worker draws at random differs from what the thread drew."""

import functools
import inspect


def check(n):
    from inspect import signature

    from torch.utils.data import DataLoader

    if "num_workers" not in signature(DataLoader.__init__).parameters:
        raise ImportError("its DataLoader has no num_workers")


def install(module, n, fail, tell):
    make = module.DataLoader.__init__
    signature = inspect.signature(make)

    @functools.wraps(make)
    def __init__(self, *arguments, **named):
        bound = signature.bind(self, *arguments, **named)
        dataset = bound.arguments["dataset"]
        if n > 0 and isinstance(dataset, module.IterableDataset):
            fail("sets loader workers, of which each would read all of an IterableDataset")
        bound.arguments["num_workers"] = n
        if n == 0:
            for name in ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context"):
                bound.arguments.pop(name, None)
        make(*bound.args, **bound.kwargs)
        tell()

    module.DataLoader.__init__ = __init__
