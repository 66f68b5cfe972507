#!/usr/bin/env bash
# What PyTorch can do to its observers: tensors without storage or with Python behind them, scripted and
# vectorised functions, exceptions in operations, nodes and the allocator, threads, recursion in
# autograd, a region that another thread ends. The job's output is the same; nothing stays open.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1

cat >"$work/job.py" <<'END'
import threading
import warnings

import torch
from torch.autograd import profiler

warnings.simplefilter("ignore")


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, tensor):
        self = torch.Tensor._make_wrapper_subclass(cls, tensor.shape, dtype=tensor.dtype)
        self.tensor = tensor
        return self

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        plain = [a.__dict__.get("tensor", torch.zeros(3)) if isinstance(a, cls) else a for a in args]
        return function(*plain)


class NoBackward(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        raise RuntimeError("no backward")


class Reentrant(torch.autograd.Function):
    @staticmethod
    def forward(context, x, depth):
        context.depth = depth
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        if context.depth:
            inner = torch.ones(1, requires_grad=True)
            with torch.enable_grad():
                Reentrant.apply(inner, context.depth - 1).sum().backward()
        return gradient, None


@torch.jit.script
def scripted(x, n: int):
    for _ in range(n):
        x = x * 2 + 1
    return x


def region_in_generator():
    with profiler.record_function("left to another thread"):
        yield 1
        yield 2


def nested_regions(depth):
    with profiler.record_function("region %d" % depth):
        if depth:
            nested_regions(depth - 1)


def run(function):
    thread = threading.Thread(target=function)
    thread.start()
    return thread


print(torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2)).to_dense().sum())
print(torch.ones(2, device="meta").sum().shape, torch.tensor([]).shape, torch.ones([1] * 20).dim())
print(torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.quint8).dequantize())
print(torch.complex(torch.ones(2), torch.ones(2)).abs(), torch.ones(2).bfloat16().half().dtype)
print(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).is_nested)
print(float((Wrapped(torch.ones(3)) + 1).sum()))
print([scripted(torch.ones(2), n) for n in range(4)])
print(torch.jit.wait(torch.jit.fork(lambda x: x + 1, torch.ones(2))))
x = torch.ones(3, requires_grad=True)
(gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
gradient.sum().backward()
print(x.grad)
with profiler.profile(record_shapes=True) as profile:
    torch.ones(10).sum()
print(len(profile.function_events) > 0)
for failing in (
    lambda: NoBackward.apply(x).sum().backward(),
    lambda: torch.ones(2**50),
    lambda: torch.ones(2, 3) @ torch.ones(2, 3),
):
    try:
        failing()
    except RuntimeError as error:
        print(type(error).__name__)
Reentrant.apply(torch.ones(1, requires_grad=True), 40).sum().backward()
nested_regions(300)
generator = region_in_generator()
next(generator)
run(lambda: list(generator)).join()
for thread in [run(lambda: [torch.ones(5).sum() for _ in range(200)]) for _ in range(16)]:
    thread.join()
print(torch.ones(3).sum())
END
"$python" "$work/job.py" >"$work/plain.out" 2>"$work/plain.err"
"$TACHO" record -q -o "$work/run" -- "$python" "$work/job.py" >"$work/out" 2>"$work/err"
diff "$work/plain.out" "$work/out"
diff "$work/plain.err" "$work/err"
cat >"$work/check.py" <<'END'
import sys
from records import named, read

records = read(sys.argv[1])
still_open = [r for r in records if r.fields.get("duration") == 2**64 - 1]
assert not still_open, still_open
assert len(named(records, "left to another thread")) == 1
assert len([r for r in records if r.name.startswith("region ")]) == 301
assert len(named(records, "ReentrantBackward")) == 41
assert len({r.tid for r in named(records, "aten::sum")}) == 17
END
PYTHONPATH="$TACHO_SOURCE_DIR/tests/support" "$python" "$work/check.py" "$work/run"
