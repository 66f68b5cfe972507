"""What each operation does to the loss and to the gradients when it alone computes in another format: the model is called once more for each
operation and format, on the batch of the step (`tacho record --precision-direct`).

(1) The loss behind the model is the job's own code, which is not called again: from the model's outputs Y on it is taken to second order,
    g'dY + dY'H dY / 2, where g and H are the loss's gradient and Hessian in Y. That is exact where the model gives out the loss, and all that
    is inside the model is computed as it would be. Gradients are those of Y in the parameters, along g + H dY.
(2) The model computes with the random numbers and buffers that it had, and the job has its own again afterwards. Called once more in fp32 it must
    give what it gave; else, and where the job called several models before the backward pass, nothing is told, and why is said.
(3) Nothing of that is in the recording.
"""

import contextlib
import random
import sys

from . import precision
from . import precision_kernels as kernels
from .precision_flow import leaves
from .precision_scopes import thread


def _buffers(module):
    """(owner's buffers, name, buffer) of a module and all in it."""
    return [(owner._buffers, name, buffer) for owner in module.modules() for name, buffer in owner._buffers.items() if buffer is not None]


def _outputs(torch, result):
    return [tensor for tensor in leaves(torch, result) if tensor.is_floating_point() and tensor.requires_grad]


class _Numbers:
    """Where the generators of random numbers are that a forward pass may use: PyTorch's, Python's, NumPy's."""

    def __init__(self, torch):
        self.torch = torch
        self.own = torch.get_rng_state()
        self.of_devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else []
        self.of_python = random.getstate()
        numpy = sys.modules.get("numpy")
        self.of_numpy = numpy.random.get_state() if numpy is not None else None

    def put_back(self):
        self.torch.set_rng_state(self.own)
        for device, numbers in enumerate(self.of_devices):
            self.torch.cuda.set_rng_state(numbers, device)
        random.setstate(self.of_python)
        if self.of_numpy is not None:
            sys.modules["numpy"].random.set_state(self.of_numpy)


class _Call:
    """The step's call of the model: its arguments, what it found, and what it gave."""

    def __init__(self, torch, module, arguments, named):
        self.torch = torch
        self.module = module
        self.arguments = arguments, named
        self.results = []
        self.buffers = [(owner, name, buffer.clone()) for owner, name, buffer in _buffers(module)]
        self.numbers = _Numbers(torch)

    @contextlib.contextmanager
    def _as_it_was(self):
        buffers, numbers = _buffers(self.module), _Numbers(self.torch)
        try:
            self.numbers.put_back()
            for owner, name, buffer in self.buffers:
                owner[name] = buffer.clone()
            yield
        finally:
            numbers.put_back()
            for owner, name, buffer in buffers:
                owner[name] = buffer

    def again(self, choose):
        """Call the model once more, with `choose` to say what operations compute in. Returns its outputs."""
        arguments, named = self.arguments
        counts = thread.stack[0].counts
        kept = dict(counts)
        precision.choose_anew(choose)
        try:
            with self._as_it_was(), self.torch.enable_grad():
                return _outputs(self.torch, self.module(*arguments, **named))
        finally:
            counts.clear()
            counts.update(kept)


class _Choice:
    """One operation computes in a format, and all others in fp32."""

    def __init__(self, identity, wanted):
        self.identity = identity
        self.wanted = wanted
        self.is_met = False

    def __call__(self, scope, kind, ordinal):
        if (scope.path, kind, ordinal) != self.identity:
            return "fp32"
        self.is_met = True
        return self.wanted


class Direct:
    def __init__(self, torch):
        self.torch = torch
        self.call = None
        self.is_measuring = False
        self.is_said = False

    def expect(self, module):
        """Note the next call of the model of which gradients are wanted. Its forward is replaced before that: PyTorch reads which it is before
        any hook of its own."""
        torch, attributes = self.torch, vars(module)
        self.call = None
        if isinstance(module, torch.jit.ScriptModule):
            self._say("the model was compiled by torch.jit, which runs its operations itself")
            return
        own, forward = attributes.get("forward"), module.forward

        def noted(*arguments, **named):
            if torch.is_grad_enabled():
                if own is None:
                    attributes.pop("forward", None)
                else:
                    attributes["forward"] = own
                self._note(module, arguments, named)
            return forward(*arguments, **named)

        attributes["forward"] = noted

    def _note(self, module, arguments, named):
        try:
            self.call = _Call(self.torch, module, arguments, named)
        except Exception as error:  # the job goes on
            self._say(error)

    def root_ends(self, result):
        if self.call is not None and not self.is_measuring:
            self.call.results.append(_outputs(self.torch, result))

    def measure(self, loss, operations, formats_of, see):
        """`see(identity, format, change of the loss, squared norm of the change of the gradients)` of each of these operations (by identity) in
        each of formats_of(kind)."""
        call, self.call = self.call, None
        if call is None or loss is None:
            return
        if len(call.results) != 1 or not call.results[0] or len(thread.stack) > 1:
            self._say("the job calls several models before its backward pass, or none whose outputs have gradients")
            return
        self.is_measuring = True
        try:
            with kernels.unrecorded():
                self._measure(call, loss, operations, formats_of, see)
        except Exception as error:  # the job goes on
            self._say(error)
        finally:
            self.is_measuring = False

    def _say(self, reason):
        if not self.is_said:
            precision.say("what single operations do to the loss could not be measured: %s" % (str(reason) or repr(reason)).splitlines()[0])
        self.is_said = True

    # --- one step ---------------------------------------------------------------------------

    def _grad(self, of, within, along=None, **options):
        """As torch.autograd.grad(), of which the hook is not told; 0 for None."""
        thread.is_inside = True
        try:
            found = self.torch.autograd.grad(of, within, along, allow_unused=True, **options)
        finally:
            thread.is_inside = False
        return [self.torch.zeros_like(tensor) if gradient is None else gradient for gradient, tensor in zip(found, within)]

    def _measure(self, call, loss, operations, formats_of, see):
        torch = self.torch
        outputs = call.results[0]
        slopes = self._grad(loss, outputs, create_graph=True, retain_graph=True)
        weights = [p for p in call.module.parameters() if p.requires_grad]
        choose = precision.chooser()
        try:
            again = call.again(_Choice(None, None))
            if len(again) != len(outputs) or any(not torch.equal(a, b) for a, b in zip(again, outputs)):
                raise RuntimeError("the model, called once more, gives other numbers")
            known = self._grad(again, weights, [slope.detach() for slope in slopes])
            for identity in operations:
                for wanted in formats_of(identity[1]):
                    choice = _Choice(identity, wanted)
                    others = call.again(choice)
                    if choice.is_met:  # else it is computed behind the model
                        see(identity, wanted, *self._changes(outputs, slopes, others, weights, known))
        finally:
            precision.choose_anew(choose)

    def _changes(self, outputs, slopes, others, weights, known):
        torch = self.torch
        steps = [(other - output).detach() for other, output in zip(others, outputs)]
        along = sum((slope * step).sum() for slope, step in zip(slopes, steps))
        bends = self._grad(along, outputs, retain_graph=True) if along.requires_grad else [torch.zeros_like(step) for step in steps]
        loss = along.item() + sum((bend * step).sum().item() for bend, step in zip(bends, steps)) / 2
        gradients = self._grad(others, weights, [(slope + bend).detach() for slope, bend in zip(slopes, bends)])
        return loss, sum((a - b).square().sum(dtype=torch.float64).item() for a, b in zip(gradients, known))
