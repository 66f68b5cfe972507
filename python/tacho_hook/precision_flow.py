"""Which operations a forward pass has, and which reads what which has made: precision.json of a run (docs/precision-run.md).

In one forward pass, operations are told as they begin and end (precision.py), and a dispatch mode tells what PyTorch computes between them.
A tensor is known by its storage, so that views are the tensor that they are of; in which operation a storage was written, a table says.

(1) Every tensor in the table is held until the pass is over, so that no storage comes again.
(2) What an operation calls itself, casts too, is not told: the file is the same in every precision.
(3) Besides, in fp32, autograd's graph tells how many bytes the roots keep for the backward pass, without parameters and buffers.
"""

from . import precision_files, processor_features
from . import precision_kernels as kernels
from .precision_scopes import roots, thread

_NAMES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64"}


def _storage(tensor):
    """(address, bytes); None: it has none."""
    try:
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        return (storage.data_ptr(), storage.nbytes()) if storage.data_ptr() else None
    except (RuntimeError, NotImplementedError):
        return None  # sparse, or another kind of tensor


def _key(tensor):
    """A storage's address; None: it has none, or no number in it is floating."""
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return None
    storage = _storage(tensor)
    return storage and storage[0]


def _is_parameter(tensor):
    return tensor.is_leaf and tensor.requires_grad


def _writes(function):
    return any(a.alias_info is not None and a.alias_info.is_write for a in function._schema.arguments)


class Flow:
    """Told of one forward pass: `mode` is to be entered for it; then `content()` is the file."""

    def __init__(self, torch, precision):
        self.torch = torch
        self.precision = precision
        self.operations = []
        self.by_name = {}
        self.counts = {}  # of those that have no number of their own
        self.made = {}  # storage -> the operation that wrote it last
        self.held = []
        self.device = "cpu"
        self.failure = None
        self.mode = self._make_mode()
        self.ends = []  # nodes of autograd that made what roots give back

    # --- operations -------------------------------------------------------------------------

    def _operation(self, module, kind, ordinal, rule, allowed=None):
        name = (module, kind, ordinal)
        number = self.by_name.get(name)
        if number is None:
            number = self.by_name[name] = len(self.operations)
            self.operations.append(
                {"module": module, "kind": kind, "ordinal": ordinal, "rule": rule, "calls": 0, "elements_in": 0,
                 "elements_out": 0, "weight": 0, "input_gradient": False, "allowed": allowed, "inputs": []})
        self.operations[number]["calls"] += 1
        return number

    def _next(self, module, kind, rule, allowed=None):
        """An operation that nobody counts: one more of its kind in the module."""
        ordinal = self.counts.get((module, kind), 0)
        while (module, kind, ordinal) in self.by_name:
            ordinal += 1
        self.counts[module, kind] = ordinal + 1
        return self._operation(module, kind, ordinal, rule, allowed)

    def _maker(self, tensor, key):
        number = self.made.get(key)
        if number is None:
            number = self._next("", "input", "fixed", [_NAMES.get(str(tensor.dtype)[6:], "fp32")])
            self._makes(number, [tensor])
        return number

    def _makers(self, tensors, with_unknown=True):
        """(operation, numbers) of each tensor that is read; before the reading operation is listed."""
        found = []
        for tensor in tensors:
            key = _key(tensor)
            if key is not None and (with_unknown or key in self.made):
                found.append((self._maker(tensor, key), tensor.numel()))
        return found

    def _reads(self, number, found):
        operation = self.operations[number]
        operation["elements_in"] += sum(n for _, n in found)
        # what it reads in a later call may be made behind it: an edge goes forward
        operation["inputs"] += [[maker, n] for maker, n in found if maker < number]

    def _makes(self, number, tensors):
        for tensor in tensors:
            key = _key(tensor)
            if key is not None:
                self.made[key] = number
                self.held.append(tensor)
                self.operations[number]["elements_out"] += tensor.numel()

    # --- what precision.py tells ------------------------------------------------------------

    def operation(self, scope, kind, ordinal, precision, _name, function, arguments, named, weight_at):
        tensors = list(kernels.tensors_of(list(arguments) + list(named.values())))
        tensors += [t for a in arguments if isinstance(a, (list, tuple)) for t in kernels.tensors_of(a)]
        weight = arguments[weight_at] if weight_at is not None and len(arguments) > weight_at else named.get("weight")
        if weight_at is None:
            weights = [t for t in tensors if _is_parameter(t) and _key(t) not in self.made]
            read = [t for t in tensors if not any(t is w for w in weights)]
        else:
            weights = [weight]
            read = [arguments[0] if arguments else named["input"]]
        self.device = read[0].device.type if read else self.device
        found = self._makers(read)
        result = kernels.run(precision, function, arguments, named)
        number = self._operation(scope.path, kind, ordinal, "chosen")
        self.operations[number]["weight"] = sum(w.numel() for w in weights)
        self.operations[number]["input_gradient"] |= any(t.requires_grad for t in read)
        self._reads(number, found)
        self._makes(number, kernels.tensors_of(result))
        return result

    def fixed(self, scope, kind, ordinal, function, arguments, named):
        tensors = list(kernels.tensors_of(list(arguments) + list(named.values())))
        first = next((t for t in tensors if t.is_floating_point() and not _is_parameter(t)), None)
        found = self._makers([t for t in tensors if t is first]) if first is not None else []
        found += self._makers([t for t in tensors if t is not first and not _is_parameter(t)], with_unknown=False)
        result = kernels.to_single(function, arguments, named)
        number = self._operation(scope.path, kind, ordinal, "fixed", ["fp32"])
        self.operations[number]["weight"] = sum(t.numel() for t in tensors if _is_parameter(t))
        self.operations[number]["input_gradient"] |= any(t.requires_grad for t in tensors if not _is_parameter(t))
        self._reads(number, found)
        self._makes(number, kernels.tensors_of(result))
        return result

    def promoted(self, scope, kind, ordinal, function, arguments, named):
        found = self._makers(list(kernels.tensors_of(list(arguments) + list(named.values()))))
        result = function(*arguments, **named)
        number = self._operation(scope.path, kind, ordinal, "promoted")
        self.operations[number]["input_gradient"] |= any(
            t.requires_grad for t in kernels.tensors_of(list(arguments) + list(named.values())))
        self._reads(number, found)
        self._makes(number, kernels.tensors_of(result))
        return result

    def root_ends(self, result):
        thread.is_inside = True
        try:
            given = kernels.single(result)
        finally:
            thread.is_inside = False
        path = thread.stack[-1].scope.path
        self.ends += [tensor.grad_fn for tensor in leaves(self.torch, given) if tensor.grad_fn is not None]
        for before, after in zip(leaves(self.torch, result), leaves(self.torch, given)):
            found = self._makers([before])
            if found:
                number = self._next(path, "output", "fixed", ["fp32"])
                self.operations[number]["input_gradient"] = before.requires_grad
                self._reads(number, found)
                self._makes(number, [after])
        return given

    # --- what PyTorch computes between operations -------------------------------------------

    def _between(self, function, arguments, named, result):
        outputs = [t for t in kernels.tensors_of(result if isinstance(result, (list, tuple)) else [result]) if _key(t)]
        read = list(kernels.tensors_of(list(arguments) + list(named.values())))
        read += [t for a in arguments if isinstance(a, (list, tuple)) for t in kernels.tensors_of(a)]
        read = [t for t in read if t.dim() > 0]  # a number of no dimension promotes nothing
        keys = {_key(t) for t in read} - {None}
        is_written = _writes(function)
        if not outputs or not keys or (not is_written and all(_key(t) in keys for t in outputs)):
            return  # nothing floating, made of numbers, or a view
        name = function._schema.name.split("::")[-1].strip("_")
        rule, allowed = "promoted", None
        if name == "to_copy" and named.get("dtype") is not None:
            name, rule, allowed = "to", "fixed", [_NAMES.get(str(outputs[0].dtype)[6:], "fp32")]
        elif any(t.dtype is self.torch.float64 for t in outputs):
            rule, allowed = "fixed", ["fp64"]
        found = self._makers(read)
        number = self._next(thread.stack[-1].scope.path, name, rule, allowed)
        self.operations[number]["input_gradient"] = any(t.requires_grad for t in read)
        self._reads(number, found)
        self._makes(number, outputs)

    def _make_mode(self):
        from torch.utils._python_dispatch import TorchDispatchMode

        flow = self

        class Between(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                if not thread.is_inside:
                    thread.is_inside = True
                    try:
                        flow._between(func, args, kwargs or {}, result)
                    except Exception as error:  # the job goes on
                        flow.failure = error
                    finally:
                        thread.is_inside = False
                return result

        return Between()

    # --- what is kept -----------------------------------------------------------------------

    def _kept(self):
        """Bytes that roots keep, each storage once."""
        modules = [root.module() for root in roots]
        own = [t for module in modules if module is not None for t in (*module.parameters(), *module.buffers())]
        known = {storage[0] for storage in map(_storage, own) if storage is not None}
        kept = {storage[0]: storage[1] for storage in map(_storage, _saved_tensors(self.torch, self.ends)) if storage is not None}
        return sum(n for key, n in kept.items() if key not in known)

    # --- the file ---------------------------------------------------------------------------

    def _used(self):
        """Numbers of what a chosen or fixed operation depends on, those themselves included."""
        used = set()
        for number in reversed(range(len(self.operations))):
            operation = self.operations[number]
            is_wanted = operation["rule"] == "chosen" or (operation["rule"] == "fixed" and operation["kind"] not in ("input", "to"))
            if number in used or is_wanted:
                used.add(number)
                used.update(maker for maker, _ in operation["inputs"])
        return sorted(used)

    def content(self):
        self.held.clear()
        thread.is_inside = True  # what is tried out is no operation of the job
        try:
            reasons = kernels.possible(self.torch, [self.device])
        finally:
            thread.is_inside = False
        can = [precision for precision in kernels.PRECISIONS if reasons[precision] is None]
        used = self._used()
        place = {number: i for i, number in enumerate(used)}
        operations = []
        for number in used:
            operation = dict(self.operations[number])
            kind = operation["kind"]
            if operation["allowed"] is None:
                is_chosen = operation["rule"] == "chosen"
                operation["allowed"] = [p for p in can if kernels.of_kind(p, kind) == p and (is_chosen or p not in ("tf32", "int8"))]
            operation["inputs"] = [[place[maker], n] for maker, n in operation["inputs"]]
            operations.append(operation)
        if self.failure is not None:
            raise self.failure
        content = {
            "tacho_precision_run": 1,
            "precision": self.precision,
            "torch": self.torch.__version__,
            "device": kernels.device_name(self.torch, self.device),
            "processor_features": processor_features.read(),
            "roots": [{"name": root.name.rstrip(":"), "kind": root.kind} for root in roots],
            "operations": operations,
        }
        if self.precision == "fp32":
            content["kept"] = self._kept()
        return content

    def write(self):
        precision_files.write("precision", self.content())


def _saved_tensors(torch, ends):
    """What nodes of autograd keep, from these on."""
    seen, left = set(), list(ends)
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        left += [before for before, _ in node.next_functions]
        names = [name for name in dir(node) if name.startswith("_saved_") or name == "saved_tensors"]
        for name in names:
            try:
                yield from leaves(torch, getattr(node, name))
            except RuntimeError:
                pass  # given back already


def leaves(torch, value):
    """Tensors of what a root gives back, in the order in which kernels.single() goes through them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(torch, item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(torch, item)
