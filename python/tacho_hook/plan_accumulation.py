"""Gradients of N passes make an update: DDP sends them in the last pass alone, and optimizers wait for it.

A pass ends with a call of the first optimizer's step(). Of N calls the last makes a step, with the gradients divided by N; zero_grad()
does nothing between. Schedulers of learning rates count calls, as they did. What changes gradients between backward() and step() of a pass
(clipping) sees sums of passes.
"""

import functools
import types

_state = {"calls": 0, "first": None}


def check(n):
    from torch.nn.parallel import DistributedDataParallel

    if not hasattr(DistributedDataParallel, "no_sync"):
        raise ImportError("its DistributedDataParallel has no no_sync()")


def _is_between(n):
    return _state["calls"] % n != 0


def install_forward(cls, n):
    forward = cls.forward

    @functools.wraps(forward)
    def accumulating_forward(self, *arguments, **named):
        import torch

        if torch.is_grad_enabled() and self.training:
            self.require_backward_grad_sync = _state["calls"] % n == n - 1
        return forward(self, *arguments, **named)

    cls.forward = accumulating_forward


def _divide(optimizer, n):
    import torch

    with torch.no_grad():
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.div_(n)


def _wrap(optimizer, n, fail):
    cls = type(optimizer)
    number = {"calls": 0}
    if _state["first"] is None:
        _state["first"] = id(optimizer)

    def step(self, closure=None, **named):
        if closure is not None:
            fail("accumulates gradients, and the job's optimizer computes them itself (a closure)")
        number["calls"] += 1
        if _state["first"] == id(self):
            _state["calls"] = number["calls"]
        if number["calls"] % n != 0:
            return None
        _divide(self, n)
        return cls.step(self, **named)

    def zero_grad(self, *arguments, **named):
        if number["calls"] % n == 0:
            cls.zero_grad(self, *arguments, **named)

    optimizer.step = types.MethodType(step, optimizer)
    optimizer.zero_grad = types.MethodType(zero_grad, optimizer)


def install_optimizers(base, n, fail):
    make = base.__init__

    @functools.wraps(make)
    def __init__(self, *arguments, **named):
        make(self, *arguments, **named)
        if type(self).__name__ == "ZeroRedundancyOptimizer":
            fail("accumulates gradients, which tacho does not do with ZeroRedundancyOptimizer")
        _wrap(self, n, fail)

    base.__init__ = __init__


def after_wrap(ddp, n, fail):
    from torch.cuda.amp import GradScaler

    def unscale_(*arguments):
        fail("accumulates gradients, which tacho does not do with a GradScaler")

    GradScaler.unscale_ = unscale_
    for module in (ddp, ddp.module):
        _keep_between(module, n)


def _keep_between(module, n):
    zero_grad = module.zero_grad

    def kept(*arguments, **named):
        if not _is_between(n):
            zero_grad(*arguments, **named)

    module.zero_grad = kept
