"""Which operation of the job's model one is: the path of the module that runs it, its kind, and the how many-th of that kind in one call of
the module (docs/precision-run.md).

PyTorch's global forward hooks tell of modules. A root is a module that the job calls itself; all in it is named when it is first called.

(1) Names are the same in every run of a job that calls its roots in the same order, whatever the operations compute in.
(2) A module that was left by an exception stays on the stack, before PyTorch 2.0, until it is called again or the one around it ends; modules
    called meanwhile have their own names.
"""

import threading
import weakref

_WRAPPERS = ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel")


class Scope:
    """A module that was named: `path`; `root` is the name of its root; `chosen` has what its operations compute in, by (kind, ordinal)."""

    __slots__ = ("module", "path", "root", "is_root", "chosen")

    def __init__(self, module, path, root, is_root):
        self.module = module
        self.path = path
        self.root = root
        self.is_root = is_root
        self.chosen = {}


class Root:
    def __init__(self, module, name, is_first):
        self.name = name
        self.kind = type(module).__name__
        self.is_first = is_first
        self.paths = frozenset(path for path, _ in module.named_modules())
        self.module = weakref.ref(module)


class Call:
    """A call of a module that runs: how many operations of each kind it has run."""

    __slots__ = ("scope", "counts")

    def __init__(self, scope, counts):
        self.scope = scope
        self.counts = counts


_outside = Scope(lambda: None, "", "", False)
_scopes = {}  # id(module) -> Scope
roots = []
_handles = []


class _Thread(threading.local):
    def __init__(self):
        self.stack = [Call(_outside, {})]
        self.is_inside = False  # an operation, so that what it calls is none


thread = _Thread()
_begun = []  # called with the root of a call at the bottom of the stack, before its forward
_end_root = None  # called with what a root gives back; what it returns is given back


def _name_of_root(module):
    """ "": it is the first with parameters; else its class, numbered where there are several."""
    if not any(root.is_first for root in roots) and next(module.parameters(), None) is not None:
        return ""
    kind = type(module).__name__
    n = sum(root.kind == kind and not root.is_first for root in roots)
    return "%s#%d:" % (kind, n + 1) if n else kind + ":"


def _adopt(root):
    """Name all in a module that the job calls, unless it has a name."""
    name = _name_of_root(root)
    roots.append(Root(root, name, name == ""))
    for path, module in root.named_modules():
        known = _scopes.get(id(module))
        if known is None or known.module() is not module:
            key = id(module)
            reference = weakref.ref(module, lambda _, key=key: _scopes.pop(key, None))
            _scopes[key] = Scope(reference, name + path, roots[-1], module is root)


def _is_wrapper(module):
    return type(module).__name__ in _WRAPPERS and hasattr(module, "module")


def _is_own(module):
    """One by which modules.py measures what its hooks cost."""
    return type(module).__module__.startswith("tacho_hook")


def _enter(module, _inputs):
    stack = thread.stack
    scope = _scopes.get(id(module))
    if scope is None or scope.module() is not module:
        if _is_wrapper(module) or _is_own(module):
            return
        if len(stack) > 1:  # a module made meanwhile, or hidden from its owner: its operations are of the one around it
            return
        _adopt(module)
        scope = _scopes[id(module)]
    for i in range(1, len(stack)):
        if stack[i].scope is scope:  # it was left by an exception: see (2)
            del stack[i:]
            break
    if len(stack) == 1 and scope.is_root:
        if scope.root.is_first:
            stack[0].counts.clear()
            stack.append(Call(scope, stack[0].counts))
        else:
            stack.append(Call(scope, {}))
        for begun in list(_begun):
            begun(scope.root)
    else:
        stack.append(Call(scope, {}))


def _leave(module, _inputs, result):
    stack = thread.stack
    scope = _scopes.get(id(module))
    if scope is None or not any(call.scope is scope for call in stack):
        return None
    while stack[-1].scope is not scope:
        stack.pop()
    if len(stack) == 2 and scope.is_root:
        result = _end_root(result)
        stack.pop()
        return result
    stack.pop()
    return None


def forget():
    """Modules are named anew: for who has several models in one process, one after the other."""
    _scopes.clear()
    roots.clear()


def forget_choices():
    """What operations compute in is asked anew at their next call."""
    for scope in [_outside, *_scopes.values()]:
        scope.chosen.clear()


def install(torch, begin_root, end_root):
    """Have `begin_root(root)` called before a root's forward, and `end_root(result)` behind it."""
    global _end_root
    _begun.append(begin_root)
    _end_root = end_root
    module = torch.nn.modules.module
    _handles.append(module.register_module_forward_pre_hook(_enter))
    try:
        _handles.append(module.register_module_forward_hook(_leave, always_call=True))
    except TypeError:  # before PyTorch 2.0
        _handles.append(module.register_module_forward_hook(_leave))
