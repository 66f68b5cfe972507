"""torch.compile: the hooks on modules leave before TorchDynamo sees them (modules.py says why)."""

from . import modules
from .looked_up import tell_of


def install(eval_frame):
    """`eval_frame` is torch._dynamo.eval_frame: a module that is compiled is wrapped in an OptimizedModule."""
    tell_of(eval_frame.OptimizedModule, "_initialize", lambda _module: modules.leave())


def install_callbacks(callback):
    """`callback` is torch._dynamo.callback: a function, or a module in its place, is compiled."""
    callback.callback_handler.register_start_callback(lambda *_: modules.leave())
