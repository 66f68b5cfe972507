"""A slice for the forward of every torch.nn.Module, named by the module's path in its model:
"Net", "Net.layer1.0.conv1 (Conv2d)".

PyTorch's global forward hooks say when a module begins and ends, but not that it was left by an
exception. So an entry remembers the frame of Module._call_impl that called the hook: an open entry
whose frame is no longer among the callers was left, and is ended as soon as that is seen.
"""

import os
import sys
import threading
import time
import weakref

from . import agent, ddp_buckets

_WRAPPERS = ("DistributedDataParallel", "DataParallel")
_MEASURE_BATCHES = 7
_MEASURE_CALLS = 40

_begin = agent.slice_begin
_end = agent.slice_end
_getframe = sys._getframe
_names = {}  # id(module) -> (weak reference, path, label as bytes)
_handles = []  # of the hooks that are in: of the first module's, or of all others'
_is_fork_watched = False
_is_recording_watched = False
_is_compiling = None
_cost_ns = None
_is_cost_told = True
_has_left = False  # for good: the job compiles


class _Thread(threading.local):
    def __init__(self):
        self.open = []  # (slice, id of the frame of _call_impl, path)


_thread = _Thread()


# --- names ------------------------------------------------------------------------------------


def _keep_name(module, path, is_root):
    key = id(module)
    kind = type(module).__name__
    label = path if is_root else "%s (%s)" % (path, kind)
    reference = weakref.ref(module, lambda _: _names.pop(key, None))
    _names[key] = (reference, path, label.encode("utf-8", "replace"))


def _known(module):
    entry = _names.get(id(module))
    return entry if entry is not None and entry[0]() is module else None


def _name_tree(root, path):
    """Name `root` and everything in it that has no name yet."""
    is_first = True
    for inner, module in root.named_modules():
        if is_first or not _known(module):
            _keep_name(module, path + "." + inner if inner else path, is_first and "." not in path)
        is_first = False


def _name(module, outer):
    """The name of a module seen for the first time; `outer` is the path of the one it runs in."""
    kind = type(module).__name__
    if kind in _WRAPPERS and hasattr(module, "module"):
        _keep_name(module, kind, True)
        _name_tree(module.module, type(module.module).__name__)
        if kind == "DistributedDataParallel":
            ddp_buckets.watch(module)
    else:
        _name_tree(module, outer + "." + kind if outer else kind)
    return _known(module)


# --- hooks ------------------------------------------------------------------------------------


def _end_left(entries, frame):
    """End the entries whose call is not among the callers of `frame`."""
    wanted = entries[-1][1]
    caller = frame.f_back
    while caller is not None:
        if id(caller) == wanted:
            return
        caller = caller.f_back
    callers = set()
    caller = frame.f_back
    while caller is not None:
        callers.add(id(caller))
        caller = caller.f_back
    while entries and entries[-1][1] not in callers:
        _end(entries.pop()[0])


def _open(module, frame):
    try:
        entries = _thread.open
        if not _is_cost_told:
            _tell_cost()
        if entries:
            _end_left(entries, frame)
        name = _names.get(id(module))
        if name is None or name[0]() is not module:
            name = _name(module, entries[-1][2] if entries else "")
        if ddp_buckets.watched:
            ddp_buckets.look(module)
        entries.append((_begin(agent.KIND_MODULE, name[2], 0), id(frame), name[1]))
    except Exception:
        pass


def _enter(module, _inputs):
    if _is_compiling is None or not _is_compiling():
        _open(module, _getframe(1))


def _leave(_module, _inputs, _result):
    try:
        if _is_compiling is not None and _is_compiling():
            return
        frame = id(_getframe(1))
        entries = _thread.open
        if not any(entry[1] == frame for entry in reversed(entries)):
            return
        while True:
            entry = entries.pop()
            _end(entry[0])
            if entry[1] == frame:
                return
    except Exception:
        pass


def _take_out(torch_module, pre_hook, hook):
    torch_module._global_forward_pre_hooks.pop(pre_hook.id, None)
    torch_module._global_forward_hooks.pop(hook.id, None)


def _put_in(torch_module, pre_hook, hook):
    torch_module._global_forward_pre_hooks[pre_hook.id] = _enter
    torch_module._global_forward_hooks[hook.id] = _leave


def leave():
    """The job compiles: take the hooks out for good. TorchDynamo would compile them, too, warn of them, and compile all anew when
    they come or go. What is open in this thread ends here."""
    global _has_left
    _has_left = True
    uninstall()
    entries = _thread.open
    while entries:
        _end(entries.pop()[0])


def _watch_recording(torch_module):
    """Between steps, where nothing is recorded, no module shall be slower for it."""
    global _is_recording_watched

    def changed(is_recording):
        if len(_handles) == 2:
            (_put_in if is_recording else _take_out)(torch_module, *_handles)

    if agent.counts_steps() and not _is_recording_watched:
        _is_recording_watched = True
        agent.watch_recording(changed)


# --- what it costs ----------------------------------------------------------------------------


def _batch_ns(call):
    durations = []
    for _ in range(_MEASURE_BATCHES):
        start = time.perf_counter_ns()
        for _ in range(_MEASURE_CALLS):
            call(None)
        durations.append((time.perf_counter_ns() - start) / _MEASURE_CALLS)
    return sorted(durations)[_MEASURE_BATCHES // 2]


def _measure(torch_module, pre_hook, hook):
    """What a module's forward takes longer for the hooks, nanoseconds."""

    class Module(torch_module.Module):
        def forward(self, value):
            return value

    module = Module()
    if not agent.scratch_begin(1 << 13):
        return
    try:
        with_hooks = _batch_ns(module)
        _take_out(torch_module, pre_hook, hook)
        try:
            without = _batch_ns(module)
        finally:
            _put_in(torch_module, pre_hook, hook)
    finally:
        agent.scratch_end()
    global _cost_ns
    _cost_ns = max(0.0, with_hooks - without)
    _tell_cost()


def _tell_cost():
    global _is_cost_told
    _is_cost_told = True
    if _cost_ns is not None:
        agent.cost(agent.KIND_MODULE, _cost_ns)


def _after_fork():
    """The child's trace is its own: nothing is open in it, nothing told, until it runs a module."""
    global _is_cost_told
    _thread.open.clear()
    _is_cost_told = False


def _find_is_compiling():
    global _is_compiling
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    _is_compiling = getattr(compiler, "is_compiling", None)


def uninstall():
    """Take the hooks out. What is open in a thread ends in no recording."""
    for handle in _handles:
        handle.remove()
    _handles.clear()


def install(torch_module):
    """`torch_module` is torch.nn.modules.module, imported by now."""
    global _is_fork_watched
    handles = _handles
    if handles or _has_left:
        return  # they are in already, or are not to come again

    def first(module, _inputs):
        # the first module of all: PyTorch is whole by now
        handles[0].remove()
        if not agent.records_all():
            return  # a rank of which steps and collectives alone are wanted
        handles[:] = [
            torch_module.register_module_forward_pre_hook(_enter),
            torch_module.register_module_forward_hook(_leave),
        ]
        _find_is_compiling()
        try:
            _measure(torch_module, *handles)
            _watch_recording(torch_module)
        except Exception:
            pass
        _open(module, _getframe(1))

    if not _is_fork_watched:
        os.register_at_fork(after_in_child=_after_fork)
    _is_fork_watched = True
    handles.append(torch_module.register_module_forward_pre_hook(first))
