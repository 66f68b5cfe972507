"""Has each operation of the job compute in the precision that is chosen for it: all in one (`tacho record --precision`), or each as a plan
says (plan_precision.py).

Functions of PyTorch that are operations (precision_kinds.py) are replaced by ones that ask which operation this call is
(precision_scopes.py), and call PyTorch's with tensors that were cast (precision_kernels.py). A watch, if there is one, is told of each
operation: precision_flow.py finds out what reads what, precision_statistics.py how large tensors are.

(1) In a step that nobody watches, an operation costs one or two microseconds more, and a module's call two; nothing else is touched.
(2) What is wrong is an error of the job in its first forward pass, or its first backward pass, before any weight changes.
"""

import functools
import os
import sys

from . import precision_kernels as kernels
from . import precision_kinds, precision_scopes
from .precision_scopes import thread

watch = None  # or an object with operation(...), fixed(...), promoted(...) and root_ends(...)
_choose = None  # (scope, kind, ordinal) -> precision
_on_backward = []  # called when a backward pass begins; who returns True is done


class PrecisionError(RuntimeError):
    """The job cannot run as it was asked to."""


def fail(reason):
    raise PrecisionError("tacho: " + reason)


# --- operations -------------------------------------------------------------------------------


def _call_chosen(kind, name, weight_at, function, arguments, named):
    if thread.is_inside:
        return function(*arguments, **named)
    call = thread.stack[-1]
    ordinal = call.counts.get(kind, 0)
    call.counts[kind] = ordinal + 1
    chosen = call.scope.chosen
    key = (kind, ordinal)
    precision = chosen.get(key)
    if precision is None:
        precision = chosen[key] = _choose(call.scope, kind, ordinal)
    thread.is_inside = True
    try:
        if watch is not None:
            return watch.operation(call.scope, kind, ordinal, precision, name, function, arguments, named, weight_at)
        return kernels.run(precision, function, arguments, named)
    finally:
        thread.is_inside = False


def _call_fixed(kind, function, arguments, named):
    if thread.is_inside:
        return function(*arguments, **named)
    thread.is_inside = True
    try:
        if watch is not None:
            call = thread.stack[-1]
            ordinal = call.counts.get(kind, 0)
            call.counts[kind] = ordinal + 1
            return watch.fixed(call.scope, kind, ordinal, function, arguments, named)
        return kernels.to_single(function, arguments, named)
    finally:
        thread.is_inside = False


def _call_promoted(kind, function, arguments, named):
    if watch is None or thread.is_inside:
        return function(*arguments, **named)
    thread.is_inside = True
    try:
        call = thread.stack[-1]
        ordinal = call.counts.get(kind, 0)
        call.counts[kind] = ordinal + 1
        return watch.promoted(call.scope, kind, ordinal, function, arguments, named)
    finally:
        thread.is_inside = False


def _replace(owner, name, make):
    function = getattr(owner, name, None)
    if function is None:
        return  # this PyTorch has none of that name
    replacement = make(function)
    try:
        functools.update_wrapper(replacement, function)
    except AttributeError:
        pass
    setattr(owner, name, replacement)


def _replace_chosen(torch, kind, where, name, weight_at):
    def make(function):
        def operation(*arguments, **named):
            return _call_chosen(kind, name, weight_at, function, arguments, named)

        return operation

    _replace(precision_kinds.place(torch, where), name, make)


def _replace_fixed(torch, kind, where, name):
    def make(function):
        def operation(*arguments, **named):
            return _call_fixed(kind, function, arguments, named)

        return operation

    _replace(precision_kinds.place(torch, where), name, make)


def _replace_promoted(torch, kind, where, name):
    def make(function):
        def operation(*arguments, **named):
            return _call_promoted(kind, function, arguments, named)

        return operation

    _replace(precision_kinds.place(torch, where), name, make)


def _replace_operator(torch):
    """`a @ b`"""
    multiply = torch.matmul

    def __matmul__(self, other):
        return multiply(self, other) if isinstance(other, torch.Tensor) else NotImplemented

    torch.Tensor.__matmul__ = __matmul__


# --- begin and end of passes ------------------------------------------------------------------


def on_backward(begun):
    """Have `begun(what gradients are asked of)` called when a backward pass begins, until it returns True."""
    _on_backward.append(begun)


def _watch_backward(torch):
    autograd = torch.autograd
    own, theirs = {}, {}

    def make(name):
        function = theirs[name] = getattr(autograd, name)

        @functools.wraps(function)
        def pass_begins(*arguments, **named):
            if not thread.is_inside:
                roots = arguments[0] if arguments else named.get("tensors", named.get("outputs"))
                _on_backward[:] = [begun for begun in _on_backward if not begun(roots)]
                if not _on_backward:
                    give_back()
            return function(*arguments, **named)

        own[name] = pass_begins
        setattr(autograd, name, pass_begins)

    def give_back():
        for name, function in own.items():
            if getattr(autograd, name) is function:  # else somebody has put another in its place
                setattr(autograd, name, theirs[name])

    make("backward")
    make("grad")


def _autocasts(torch):
    """Functions that say whether the job uses autocast."""
    try:
        torch.is_autocast_enabled("cpu")
        return [functools.partial(torch.is_autocast_enabled, device) for device in ("cpu", "cuda")]
    except TypeError:  # before PyTorch 2.4
        return [torch.is_autocast_enabled, torch.is_autocast_cpu_enabled]


def _begin_root(torch, begun):
    autocasts = _autocasts(torch)

    def begin(root):
        if any(is_on() for is_on in autocasts):
            fail("the job chooses precisions itself (autocast), so that none can be chosen for it")
        begun(root)

    return begin


def _end_root(result):
    if watch is not None:
        return watch.root_ends(result)
    return kernels.single(result)


# --- who chooses ------------------------------------------------------------------------------


def start(torch, choose, begun=lambda root: None):
    """Have `choose(scope, kind, ordinal)` say what each operation computes in; `begun(root)` is called before a root's forward."""
    global _choose
    _choose = choose
    kernels.install(torch)
    for kind, where, name, weight_at in precision_kinds.CHOSEN:
        _replace_chosen(torch, kind, where, name, weight_at)
    for kind, where, name in precision_kinds.FIXED:
        _replace_fixed(torch, kind, where, name)
    for kind, where, name in precision_kinds.PROMOTED:
        _replace_promoted(torch, kind, where, name)
    _replace_operator(torch)
    precision_scopes.install(torch, _begin_root(torch, begun), _end_root)
    if _on_backward:
        _watch_backward(torch)


def chooser():
    return _choose


def choose_anew(choose):
    """From the next operation on, another one chooses: for who compares plans in one process."""
    global _choose
    _choose = choose
    precision_scopes.forget_choices()


def set_tf32(torch, is_on):
    torch.backends.cuda.matmul.allow_tf32 = is_on
    torch.backends.cudnn.allow_tf32 = is_on


def is_wanted():
    return bool(os.environ.get("TACHO_PRECISION"))


def install(torch):
    """`torch` has just been imported: TACHO_PRECISION says in what all operations compute; TACHO_PRECISION_STATISTICS, how many steps
    statistics are gathered of."""
    from . import precision_steps

    wanted = os.environ["TACHO_PRECISION"]
    if wanted in ("fp32", "tf32"):
        set_tf32(torch, wanted == "tf32")
    begun = precision_steps.begin(torch, wanted)
    start(torch, lambda scope, kind, ordinal: kernels.of_kind(wanted, kind), begun)


def say(text):
    try:
        sys.stderr.write("tacho: %s\n" % text)
        sys.stderr.flush()
    except Exception:
        pass
