"""How large the tensors of each operation are, and by how much rounding changes them: precision-statistics.json of a run
(docs/precision-statistics.md), from some steps of the job in fp32.

An operation computes on views of its tensors, whose gradients are then those that it gives alone; hooks measure them as they come.

(1) Nothing that the job computes becomes another number: views and hooks change none.
(2) Rounding is that of precision_kernels.py. What the kernel in int8 does not round (gradients; its backward pass reads what was not
    rounded) has the error 0.
(3) Where the trace of the Hessian is asked for, the last step's loss is differentiated twice for each probe, before the job differentiates it
    (M. F. Hutchinson, A stochastic estimator of the trace of the influence matrix, 1989). The job's random numbers are not touched.
(4) Of a module that is called several times in a step, the calls add up.
"""

import math

from . import precision, precision_direct, precision_files
from . import precision_kernels as kernels
from .precision_scopes import thread

_OPERANDS = {"linear": (0, 1), "conv1d": (0, 1), "conv2d": (0, 1), "conv3d": (0, 1), "matmul": (0, 1), "mm": (0, 1),  # by function
             "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "addbmm": (1, 2)}
_OF_TOKENS = ("cross_entropy_loss", "nll_loss")
_OF_BATCHES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "binary_cross_entropy",
               "binary_cross_entropy_with_logits")


def _norm2(torch, tensor):
    return torch.linalg.vector_norm(tensor, dtype=torch.float64).item() ** 2


def _product_shape(name, arguments, named, x, weight, result):
    """n, k, m, groups of docs/precision-statistics.md."""
    if name == "linear":
        return x.numel() // x.shape[-1], x.shape[-1], weight.shape[0], 1
    if name.startswith("conv"):
        groups = named.get("groups", arguments[6] if len(arguments) > 6 else 1)
        columns = weight.shape[0]
        return result.numel() // columns, weight.numel() // columns, columns // groups, groups
    k = x.shape[-1]
    m = weight.shape[-1] if weight.dim() > 1 else 1
    n = x.shape[-2] if x.dim() > 1 else 1
    if name == "addbmm":
        return n, k, m, x.shape[0]
    if weight.dim() <= 2 and x.dim() > 2:  # one matrix for all of the batch
        return x.numel() // k, k, m, 1
    return n, k, m, max(1, result.numel() // (n * m))


class _Rounding:
    """What the kernels here round to, and how."""

    def __init__(self, torch, device):
        self.torch = torch
        self.formats = [p for p, reason in kernels.possible(torch, [device]).items() if reason is None and p != "fp32"]
        self.computed = [p for p in self.formats if p != "tf32"]  # TF32 is a setting of the whole process
        # where nothing computes in fp16, what it would do can still be said
        self.formats += [] if "fp16" in self.formats else ["fp16"]

    def of_kind(self, kind):
        return [precision for precision in self.formats if kernels.of_kind(precision, kind) == precision]

    def __call__(self, tensor, precision, role):
        torch = self.torch
        if precision in ("bf16", "fp16"):
            return tensor.to(torch.bfloat16 if precision == "bf16" else torch.float16).float()
        if precision == "tf32":  # ten bits behind the point, ties to even
            bits = tensor.contiguous().view(torch.int32)
            return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)
        if role == "weight":
            return kernels.quantised_weight(tensor.contiguous()).dequantize()
        if role == "input":
            least, most = min(0.0, tensor.min().item()), max(0.0, tensor.max().item())
            scale = max((most - least) / 255, torch.finfo(torch.float32).tiny)
            zero = min(255, max(0, round(-least / scale)))
            return torch.quantize_per_tensor(tensor.contiguous(), scale, zero, torch.quint8).dequantize()
        return tensor


class _Means:
    """Means of some numbers over the steps; what is added in one step adds up, or its largest counts."""

    def __init__(self):
        self.steps = {}  # name -> a number for each step
        self.now = {}

    def add(self, name, value):
        self.now[name] = self.now.get(name, 0.0) + value

    def most(self, name, value):
        self.now[name] = max(self.now.get(name, 0.0), value)

    def step_ends(self):
        for name, value in self.now.items():
            self.steps.setdefault(name, []).append(value)
        self.now = {}

    def mean(self, name):
        return sum(self.steps[name]) / len(self.steps[name])

    def spread(self, name):
        values = self.steps[name]
        mean = self.mean(name)
        return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else None


class _Tensor:
    """One of an operation's tensors."""

    def __init__(self, torch, role):
        self.torch = torch
        self.role = role
        self.means = _Means()
        self.formats = {}
        self.elements = {}

    def see(self, tensor, formats, rounding):
        torch, means = self.torch, self.means
        tensor = tensor.detach()
        norm2 = _norm2(torch, tensor)
        means.add("elements", tensor.numel())
        means.add("norm2", norm2)
        means.add("norm", math.sqrt(norm2))
        means.most("max_abs", tensor.abs().max().item())
        if self.role == "weight":
            means.add("abs_sum", tensor.abs().sum(dtype=torch.float64).item())
            means.add("laplacian", _laplacian(torch, tensor))
            if tensor.dim() > 1:
                scales = tensor.abs().reshape(tensor.shape[0], -1).amax(dim=1).double() / 127
                means.add("scale_norm2", (scales * scales).sum().item())
        for precision in formats:
            self._see_rounded(tensor, precision, rounding(tensor, precision, self.role))

    def _see_rounded(self, tensor, precision, rounded):
        torch = self.torch
        means = self.formats.setdefault(precision, _Means())
        is_lost = ~torch.isfinite(rounded)
        means.add("error2", _norm2(torch, (rounded - tensor).masked_fill_(is_lost, 0)))
        means.most("overflow", is_lost.sum().item() / tensor.numel())
        means.most("underflow", ((rounded == 0) & (tensor != 0)).sum().item() / tensor.numel())
        if self.role == "weight":
            finite = rounded.masked_fill(is_lost, 0)
            means.add("abs_sum", finite.abs().sum(dtype=torch.float64).item())
            means.add("laplacian", _laplacian(torch, finite))

    def see_error(self, precision, error):
        self.formats.setdefault(precision, _Means()).add("error2", _norm2(self.torch, error))

    def step_ends(self):
        self.means.step_ends()
        for means in self.formats.values():
            means.step_ends()

    def content(self):
        means = self.means
        if "norm2" not in means.steps:
            return None
        content = {"elements": round(means.mean("elements")), "norm2": means.mean("norm2")}
        if means.spread("norm2") is not None:
            content["norm2_spread"] = means.spread("norm2")
        for name in ("norm", "max_abs", "scale_norm2", "abs_sum", "laplacian"):
            if name in means.steps:
                content[name] = means.mean(name)
        formats = {precision: self._format(means) for precision, means in self.formats.items() if means.steps}
        if formats:
            content["formats"] = formats
        return content

    @staticmethod
    def _format(means):
        content = {"error2": means.mean("error2")}
        if means.spread("error2") is not None:
            content["error2_spread"] = means.spread("error2")
        for name in ("overflow", "underflow"):
            if name in means.steps:
                content[name] = max(means.steps[name])
        for name in ("abs_sum", "laplacian"):
            if name in means.steps:
                content[name] = means.mean(name)
        return content


def _laplacian(torch, weight):
    total = torch.zeros((), dtype=torch.float64)
    weight = weight.to("cpu", torch.float64)
    for axis in range(weight.dim()):
        if weight.shape[axis] > 1:
            slope = torch.gradient(weight, dim=axis)[0]
            total += torch.gradient(slope, dim=axis)[0].sum()
    return (total / weight.numel()).item()


class _Operation:
    def __init__(self, torch, module, kind, ordinal):
        self.head = {"module": module, "kind": kind, "ordinal": ordinal}
        self.torch = torch
        self.tensors = {}
        self.rows = _Means()
        self.shape = None  # k, m, groups
        self.sum = None  # of the weight's gradients of all steps
        self.parameter = None  # the weight, where it is one of the model's
        self.probes = []  # z'Hz of each
        self.direct = {}  # by format, what the operation alone does

    def tensor(self, role):
        if role not in self.tensors:
            self.tensors[role] = _Tensor(self.torch, role)
        return self.tensors[role]

    def see_weight_gradient(self, gradient, scale):
        self.tensor("weight_gradient").see(gradient * scale, (), None)
        if self.sum is None:
            self.sum = self.torch.zeros_like(gradient)
        self.sum.add_(gradient, alpha=scale)

    def see_direct(self, precision, loss_change, gradient_change2):
        if math.isfinite(loss_change) and math.isfinite(gradient_change2):
            means = self.direct.setdefault(precision, _Means())
            means.add("loss_change", abs(loss_change))
            means.add("gradient_change2", gradient_change2)

    def step_ends(self):
        self.rows.step_ends()
        for means in (*self.tensors.values(), *self.direct.values()):
            means.step_ends()

    def content(self):
        content = dict(self.head)
        if self.shape is None:
            content["form"] = "map"
        else:
            k, m, groups = self.shape
            content.update(form="product", n=round(self.rows.mean("n")), k=k, m=m, groups=groups)
        for role in ("input", "weight", "output_gradient", "output", "input_gradient", "weight_gradient"):
            tensor = self.tensors[role].content() if role in self.tensors else None
            if tensor is not None:
                content[role] = tensor
        if self.sum is not None:
            content["accumulated_weight_gradient"] = {
                "norm": math.sqrt(_norm2(self.torch, self.sum)), "max_abs": self.sum.abs().max().item()}
        if self.direct:
            content["direct"] = {precision: {name: means.mean(name) for name in means.steps} for precision, means in self.direct.items()}
        if self.probes:
            mean = sum(self.probes) / len(self.probes)
            spread = math.sqrt(sum((v - mean) ** 2 for v in self.probes) / max(1, len(self.probes) - 1))
            content["hessian_trace"] = {"mean": mean, "spread": spread, "probes": len(self.probes)}
        return content


class Statistics:
    def __init__(self, torch):
        self.torch = torch
        self.rounding = None
        self.operations = {}  # by identity, in the order of the forward pass
        self.seen = set()  # in this step
        self.losses = []
        self.samples = None
        self.batch = 1
        self.n_steps = 0
        self.is_probing = False
        self.direct = precision_direct.Direct(torch)
        self.scale = 1.0  # of gradients, where a GradScaler scales them
        self._watch_scaler()

    def _watch_scaler(self):
        scaler = getattr(getattr(self.torch.cuda, "amp", None), "GradScaler", None)
        if scaler is None:
            return
        scale, statistics = scaler.scale, self

        def noted(scaler, outputs):
            if scaler.is_enabled():
                statistics.scale = 1.0 / scaler.get_scale()
            return scale(scaler, outputs)

        scaler.scale = noted

    # --- steps ------------------------------------------------------------------------------

    def step_begins(self):
        self._close_step()
        self.seen = set()

    def _close_step(self):
        for operation in self.operations.values():
            operation.step_ends()

    def step_ends(self, roots, n_probes):
        """The forward pass is over; gradients of `roots` are asked of. `n_probes` of the Hessian's trace; 0: none in this step. What single
        operations do is measured if direct.root_begins() was called in this step."""
        self.n_steps += 1
        loss = next(kernels.tensors_of([roots] if isinstance(roots, self.torch.Tensor) else list(roots)), None)
        if loss is not None and loss.numel() == 1:
            self.losses.append(loss.item() * self.scale)
        else:
            loss = None
        self._measure_direct(loss)
        for operation in self.operations.values():
            if loss is None or not n_probes:
                operation.parameter = None
        if any(operation.parameter is not None for operation in self.operations.values()):
            self._probe(loss, n_probes)

    def _measure_direct(self, loss):
        scale = self.scale

        def see(identity, wanted, loss_change, gradient_change2):
            self.operations[identity].see_direct(wanted, loss_change * scale, gradient_change2 * scale * scale)

        def formats_of(kind):
            return [wanted for wanted in self.rounding.of_kind(kind) if wanted in self.rounding.computed]

        self.is_probing = True
        try:
            self.direct.measure(loss, list(self.operations), formats_of, see)
        finally:
            self.is_probing = False

    def _probe(self, loss, n_probes):
        torch = self.torch
        operations = [o for o in self.operations.values() if o.parameter is not None]
        weights = [o.parameter for o in operations]
        self.is_probing = thread.is_inside = True  # what is differentiated here is no pass of the job
        try:
            generator = torch.Generator(device=weights[0].device).manual_seed(1)
            slopes = torch.autograd.grad(loss, weights, create_graph=True, allow_unused=True)
            for _ in range(n_probes):
                signs = [torch.randint(0, 2, w.shape, generator=generator, device=w.device, dtype=w.dtype) * 2 - 1 for w in weights]
                along = sum((s * z).sum() for s, z in zip(slopes, signs) if s is not None)
                bends = torch.autograd.grad(along, weights, retain_graph=True, allow_unused=True)
                for operation, bend, z in zip(operations, bends, signs):
                    if bend is not None:
                        operation.probes.append((bend * z).sum(dtype=torch.float64).item() * self.scale)
        except RuntimeError as error:  # an operation that cannot be differentiated twice
            precision.say("the trace of the Hessian could not be estimated: %s" % str(error).splitlines()[0])
        finally:
            self.is_probing = thread.is_inside = False
            for operation in operations:
                operation.parameter = None

    # --- what precision.py tells ------------------------------------------------------------

    def operation(self, scope, kind, ordinal, chosen, name, function, arguments, named, weight_at):
        torch = self.torch
        at = _OPERANDS.get(name)
        arguments = list(arguments)
        is_product = at is not None and len(arguments) > max(at) and all(arguments[i].dtype is torch.float32 for i in at)
        if self.rounding is None:
            device = next(kernels.tensors_of(arguments)).device.type
            self.rounding = _Rounding(torch, device)
        identity = (scope.path, kind, ordinal)
        if identity not in self.operations:
            self.operations[identity] = _Operation(torch, *identity)
        operation = self.operations[identity]
        is_first = identity not in self.seen
        self.seen.add(identity)
        if not is_product:
            result = kernels.run(chosen, function, arguments, named)
            self._see_map(operation, kind, function, arguments, named, result)
            return result
        if arguments[at[1]].is_leaf and arguments[at[1]].requires_grad:
            operation.parameter = arguments[at[1]]
        for i, role in zip(at, ("input", "weight")):
            arguments[i] = self._alias(operation, role, arguments[i])
        result = kernels.run(chosen, function, arguments, named)
        formats = self.rounding.of_kind(kind)
        with torch.no_grad():
            x, weight = (arguments[i].detach() for i in at)
            n, *operation.shape = _product_shape(name, arguments, named, x, weight, result)
            operation.rows.add("n", n)
            operation.tensor("input").see(x, formats, self.rounding)
            if is_first:
                operation.tensor("weight").see(weight, formats, self.rounding)
            operation.tensor("output").see(result, (), None)
        self._watch_output(operation, formats, result)
        return result

    def _alias(self, operation, role, tensor):
        """The tensor, or a view of it whose gradient is what this operation adds to the tensor's."""
        if not (tensor.requires_grad and self.torch.is_grad_enabled()):
            return tensor
        view = tensor.view_as(tensor)
        gradient_role = role + "_gradient"

        def seen(gradient):
            if self.is_probing:
                return
            with self.torch.no_grad():
                if gradient_role == "weight_gradient":
                    operation.see_weight_gradient(gradient.detach(), self.scale)
                else:
                    operation.tensor(gradient_role).see(gradient.detach() * self.scale, (), None)

        view.register_hook(seen)
        return view

    def _watch_output(self, operation, formats, result):
        if not result.requires_grad:
            return

        def seen(gradient):
            if self.is_probing:
                return
            with self.torch.no_grad():
                operation.tensor("output_gradient").see(gradient.detach() * self.scale, formats, self.rounding)

        result.register_hook(seen)

    def _see_map(self, operation, kind, function, arguments, named, result):
        """What it gives in another precision, less what it gave, is the error."""
        if not isinstance(result, self.torch.Tensor) or result.dtype is not self.torch.float32:
            return
        with self.torch.no_grad():
            operation.tensor("output").see(result, (), None)
            for precision in self.rounding.of_kind(kind):
                try:
                    other = kernels.run(precision, function, arguments, named)
                except (RuntimeError, NotImplementedError):
                    continue  # this PyTorch cannot compute it so
                operation.tensor("output").see_error(precision, other.float() - result)
        self._watch_output(operation, self.rounding.of_kind(kind), result)

    def fixed(self, scope, kind, ordinal, function, arguments, named):
        if kind in _OF_TOKENS + _OF_BATCHES and named.get("reduction", "mean") == "mean" and len(arguments) > 1:
            target = arguments[1]
            if kind in _OF_BATCHES or target.is_floating_point():
                self.samples = max(1, arguments[0].shape[0] if arguments[0].dim() else 1)
            else:
                self.samples = max(1, int((target != named.get("ignore_index", -100)).sum().item()))
        elif kind in _OF_TOKENS + _OF_BATCHES and named.get("reduction") == "sum":
            self.samples = 1
        return kernels.to_single(function, arguments, named)

    def promoted(self, scope, kind, ordinal, function, arguments, named):
        return function(*arguments, **named)

    def root_ends(self, result):
        self.direct.root_ends(result)
        first = next(kernels.tensors_of([result] if not isinstance(result, dict) else list(result.values())), None)
        if first is not None and first.dim() > 0:
            self.batch = first.shape[0]
        return kernels.single(result)

    # --- the file ---------------------------------------------------------------------------

    def content(self):
        self._close_step()
        content = {"tacho_precision_statistics": 1, "reference": "fp32", "steps": self.n_steps,
                   "samples": self.samples if self.samples is not None else max(1, self.batch)}
        if self.losses:
            mean = sum(self.losses) / len(self.losses)
            spread = math.sqrt(sum((v - mean) ** 2 for v in self.losses) / max(1, len(self.losses) - 1))
            content["loss"] = {"mean": mean, "spread": spread}
        content["operations"] = [o.content() for o in self.operations.values() if o.tensors]
        return content

    def write(self):
        precision_files.write("precision-statistics", self.content())
