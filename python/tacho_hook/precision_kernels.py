"""How one operation is computed in a precision, and which precisions PyTorch can compute it in here.

run(precision, function, arguments, named) calls PyTorch's own function on tensors that were cast before (docs/precision-run.md
says what is cast). Casts are PyTorch's own, so that gradients are cast back where tensors were cast.

(1) fp32 calls the job's function on the job's tensors, unless one of them is in 16 bits: a job in fp32 computes bit for bit what it
    computes without tacho.
(2) An operation with tensors of double precision, or none that are floating, is called as the job called it.
(3) The kernel in int8 takes and gives fp32; it quantises by itself. Its backward pass is that of fp32.
"""

import contextlib
import warnings

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "int8")
_SCRATCH_BYTES = 1 << 16
_N_TRIED = 16  # rows and columns of the matrices by which it is found out what can be computed

_torch = None
_low = ()  # types of 16 bits
_single = None
_int8 = None  # the autograd function, made when PyTorch is there
_dtypes = {}


def install(torch):
    global _torch, _low, _single
    _torch = torch
    _low = (torch.bfloat16, torch.float16)
    _single = torch.float32
    _dtypes.update(bf16=torch.bfloat16, fp16=torch.float16)


# --- casts ------------------------------------------------------------------------------------


def _is_castable(value):
    return isinstance(value, _torch.Tensor) and (value.dtype is _single or value.dtype in _low)


def _cast(value, dtype):
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype) for item in value)
    return value.to(dtype) if _is_castable(value) and value.dtype is not dtype else value


def tensors_of(value):
    """The tensors among arguments, one level of lists deep."""
    if isinstance(value, _torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, _torch.Tensor):
                yield item


def _all_tensors(arguments, named):
    for value in arguments:
        yield from tensors_of(value)
    for value in named.values():
        yield from tensors_of(value)


def to_single(function, arguments, named):
    """Call `function` with what is in 16 bits cast to fp32."""
    for tensor in _all_tensors(arguments, named):
        if tensor.dtype in _low:
            break
    else:
        return function(*arguments, **named)
    arguments = [_cast(value, _single) for value in arguments]
    return function(*arguments, **{name: _cast(value, _single) for name, value in named.items()})


def single(value):
    """What a root of modules gives back, with its tensors of 16 bits in fp32."""
    if isinstance(value, _torch.Tensor):
        return value.float() if value.dtype in _low else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(single(item) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(single(item) for item in value)
    if isinstance(value, dict):  # those of libraries have attributes, too, which their __setitem__ sets
        for name in list(value):
            kept = single(value[name])
            if kept is not value[name]:
                value[name] = kept
    return value


def _in_16_bits(dtype, function, arguments, named):
    if named.get("out") is not None or any(t.dtype is _torch.float64 for t in _all_tensors(arguments, named)):
        return function(*arguments, **named)
    arguments = [_cast(value, dtype) for value in arguments]
    return function(*arguments, **{name: _cast(value, dtype) for name, value in named.items()})


# --- int8 -------------------------------------------------------------------------------------


def _row_scales(torch, weight):
    least = torch.finfo(torch.float32).tiny
    return weight.abs().amax(dim=1).clamp_(min=least * 127).div_(127)


def quantised_weight(weight):
    """The weight in 8 bits, each row by its own scale; a torch.qint8 tensor."""
    torch = _torch
    rows = torch.zeros(weight.shape[0], dtype=torch.int64)
    return torch.quantize_per_channel(weight, _row_scales(torch, weight), rows, 0, torch.qint8)


def _make_int8(torch):
    class linear(torch.autograd.Function):  # recordings call it by this name: it is the operation that PyTorch's own is
        @staticmethod
        def forward(ctx, x, weight, bias):
            ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weight if ctx.needs_input_grad[0] else None)
            ctx.shape = x.shape
            ctx.has_bias = bias is not None
            if torch.backends.quantized.engine != "onednn":
                torch.backends.quantized.engine = "onednn"
            packed = torch.ops.quantized.linear_prepack(quantised_weight(weight.detach()), bias)
            return torch.ops.quantized.linear_dynamic(x.contiguous(), packed)

        @staticmethod
        def backward(ctx, gradient):
            x, weight = ctx.saved_tensors
            rows = gradient.reshape(-1, gradient.shape[-1])
            dx = dw = db = None
            if ctx.needs_input_grad[0]:
                dx = rows.mm(weight).view(ctx.shape)
            if ctx.needs_input_grad[1]:
                dw = rows.t().mm(x.reshape(-1, x.shape[-1]))
            if ctx.has_bias and ctx.needs_input_grad[2]:
                db = rows.sum(0)
            return dx, dw, db

    return linear


def _linear_int8(function, arguments, named):
    global _int8
    x, weight, bias = (tuple(arguments) + (None,) * 3)[:3]
    x, weight, bias = named.get("input", x), named.get("weight", weight), named.get("bias", bias)
    if x.device.type != "cpu":
        raise RuntimeError("tacho: int8 is for processors, and this operation is on %s" % x.device)
    if weight.dtype is not _single or not _is_castable(x) or x.numel() == 0:
        return to_single(function, arguments, named)
    if _int8 is None:
        _int8 = _make_int8(_torch)
        with warnings.catch_warnings():  # PyTorch tells once that tensors in 8 bits are to go; the job has not asked for them
            warnings.simplefilter("ignore")
            quantised_weight(_torch.ones(1, 1))
    return _int8.apply(_cast(x, _single), weight, bias)


# --- all of them ------------------------------------------------------------------------------


def run(precision, function, arguments, named):
    """`precision` is one that the kind of operation can have."""
    if precision in _dtypes:
        return _in_16_bits(_dtypes[precision], function, arguments, named)
    if precision == "int8":
        return _linear_int8(function, arguments, named)
    return to_single(function, arguments, named)


def of_kind(precision, kind):
    """The precision that operations of a kind have where all are to have this one."""
    return "fp32" if precision == "int8" and kind != "linear" else precision


def _compute(torch, precision, device):
    if precision == "tf32":
        if device == "cpu" or torch.cuda.get_device_capability()[0] < 8:
            raise RuntimeError("the device has no TF32")
        return
    if precision == "int8" and device != "cpu":
        raise RuntimeError("int8 is for processors")
    x = torch.ones(_N_TRIED, _N_TRIED, device=device, requires_grad=True)
    weight = torch.ones(_N_TRIED, _N_TRIED, device=device, requires_grad=True)
    run(precision, torch.nn.functional.linear, [x, weight], {}).float().sum().backward()
    if precision != "int8":
        image = torch.ones(1, 2, 4, 4, device=device, requires_grad=True)
        kernel = torch.ones(2, 2, 3, 3, device=device, requires_grad=True)
        run(precision, torch.nn.functional.conv2d, [image, kernel], {}).float().sum().backward()
        batch = torch.ones(2, 4, 4, device=device, requires_grad=True)
        run(precision, torch.bmm, [batch, batch], {}).float().sum().backward()


def try_out(torch, precision, device):
    """Compute a little in a precision on a device ("cpu", "cuda"), forward and backward. Raises what PyTorch raises where it cannot."""
    install(torch)
    engine = torch.backends.quantized.engine
    try:
        with torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _compute(torch, precision, device)
    finally:
        if torch.backends.quantized.engine != engine:
            torch.backends.quantized.engine = engine


@contextlib.contextmanager
def unrecorded():
    """What this thread computes meanwhile is not in the recording."""
    try:
        from . import agent

        is_scratch = agent.scratch_begin(_SCRATCH_BYTES)
    except (ImportError, AttributeError, OSError):
        is_scratch = False  # nothing is recorded in this process
    try:
        yield
    finally:
        if is_scratch:
            agent.scratch_end()


def possible(torch, devices):
    """Of each precision, None where one of these devices ("cpu", "cuda") can compute in it, else why not: a dict."""
    with unrecorded():
        return _possible(torch, devices)


def _possible(torch, devices):
    reasons = {}
    for precision in PRECISIONS:
        for device in devices:
            try:
                try_out(torch, precision, device)
                reasons[precision] = None
                break
            except (RuntimeError, NotImplementedError, AttributeError) as error:
                reasons[precision] = str(error).splitlines()[0]
    return reasons


def devices(torch):
    return ["cuda", "cpu"] if torch.cuda.is_available() else ["cpu"]


def device_name(torch, device):
    """What a device is called in files: the processor's model, or the accelerator's."""
    if device == "cpu":
        from . import processor_features

        return processor_features.model()
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device
