"""torch.compile: spans "torch.compile 0/0" while something is compiled, marks "graph_break" with their number and reason, and
each C++ kernel of Inductor's by its name.

TorchDynamo calls who asks before and behind a compilation. Inductor writes a module for each graph, whose globals are the graph's
kernels; in their place come callables that record the call (probes/agent/named_call.c), so that the code which is generated, and
what it is cached by, is as without tacho.
"""

import sys

from . import agent, modules
from .looked_up import tell_of

_BACKWARD = "LAZY_BACKWARD"  # CallbackTrigger, where PyTorch has one
_MAX_REASON = 200

_open = []  # spans, innermost last; any thread may end one
_breaks = {}  # reason -> how many are told


class _Kept(list):
    """Callbacks that torch._dynamo.reset() does not clear."""

    def clear(self):
        super().clear()
        self.append(self.own)


def _begin(arguments=None, *_):
    modules.leave()
    name = "torch.compile"
    if arguments is not None:
        name += " %s" % getattr(arguments, "compile_id", "")
        if getattr(getattr(arguments, "callback_trigger", None), "name", "") == _BACKWARD:
            name += " backward"
    _open.append(agent.slice_begin(agent.KIND_SPAN, name.encode("utf-8", "replace"), 0))


def _tell_breaks():
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    for reason, n in list(counters.get("graph_break", {}).items()):
        told = _breaks.get(reason, 0)
        if n < told:
            told = 0  # they were reset
        if n > told:
            first_line = (str(reason).strip().splitlines() or [""])[0]
            agent.mark("graph_break", n - told, 0, first_line[:_MAX_REASON])
        _breaks[reason] = n


def _end(*_):
    if _open:
        agent.slice_end(_open.pop())
    _tell_breaks()


def _guarded(function):
    def call(*arguments):
        try:
            function(*arguments)
        except Exception:
            pass

    return call


def _keep(callbacks, function):
    kept = _Kept(callbacks)
    kept.own = _guarded(function)
    kept.append(kept.own)
    return kept


def install(eval_frame):
    """`eval_frame` is torch._dynamo.eval_frame: a module that is compiled is wrapped in an OptimizedModule."""
    tell_of(eval_frame.OptimizedModule, "_initialize", lambda _module: modules.leave())


def install_callbacks(callback):
    """`callback` is torch._dynamo.callback."""
    handler = callback.callback_handler
    handler.start_callbacks = _keep(handler.start_callbacks, _begin)
    handler.end_callbacks = _keep(handler.end_callbacks, _end)


# --- kernels ----------------------------------------------------------------------------------


def _name_kernels(module):
    if not agent.records_all():
        return
    for name, kernel in list(vars(module).items()):
        if name.startswith(("cpp_", "kernel_cpp_")) and callable(kernel):
            setattr(module, name, agent.named_call(kernel, name.encode("utf-8", "replace")))


class _Modules(list):
    """The modules that Inductor has loaded, whole."""

    def append(self, module):
        super().append(module)
        try:
            _name_kernels(module)
        except Exception:
            pass


def install_kernels(codecache):
    """`codecache` is torch._inductor.codecache."""
    codecache.PyCodeCache.modules = _Modules(codecache.PyCodeCache.modules)
