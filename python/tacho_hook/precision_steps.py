"""What is done in which step of a job that is recorded in one precision: in the third, the flow of tensors is looked at; in some behind it,
statistics are gathered, where they are wanted. A step ends where a backward pass begins.

(1) Outside these steps nobody watches.
"""

import atexit
import os

from . import precision, precision_flow

_FLOW_STEP = 2  # before it, DistributedDataParallel packs its buckets, and what is made once is made


class Steps:
    def __init__(self, torch, wanted):
        self.torch = torch
        self.wanted = wanted
        self.n_backward = 0
        self.root = None  # the last that the job has called
        self.flow = None
        self.statistics = None
        self.n_statistics = int(os.environ.get("TACHO_PRECISION_STATISTICS") or 0)
        self.n_probes = int(os.environ.get("TACHO_PRECISION_PROBES") or 0)  # of the Hessian's trace
        self.n_direct = int(os.environ.get("TACHO_PRECISION_DIRECT") or 0)  # steps, the last ones that statistics are of

    def root_begins(self, root):
        if precision.watch is not None or not self.torch.is_grad_enabled() or self._is_measuring():
            return
        self.root = root
        if self.n_backward == _FLOW_STEP and self.flow is None:
            self.flow = precision_flow.Flow(self.torch, self.wanted)
            self.flow.mode.__enter__()
            precision.watch = self.flow
        elif self.n_backward > _FLOW_STEP and self.n_statistics:
            self._gather()

    def _is_measuring(self):
        return self.statistics is not None and self.statistics.direct.is_measuring

    def _gather(self):
        """Gradients of a step are there when the next one begins."""
        if self.statistics.n_steps == self.n_statistics:
            self.n_statistics = 0
            _write(self.statistics)
            return
        self.statistics.step_begins()
        precision.watch = self.statistics

    def backward_begins(self, roots):
        """Returns whether all is done."""
        watch, precision.watch = precision.watch, None
        self.n_backward += 1
        if watch is not None and watch is self.flow:
            self.flow.mode.__exit__(None, None, None)
            _write(self.flow)
        elif watch is not None:
            is_last = self.statistics.n_steps + 1 == self.n_statistics
            self.statistics.step_ends(roots, self.n_probes if is_last else 0)
        if self.n_statistics and self.n_backward > _FLOW_STEP:
            self._expect()
        return self.n_backward > _FLOW_STEP + 1 and not self.n_statistics

    def _expect(self):
        """The next step is one that statistics are of."""
        from . import precision_statistics

        if self.statistics is None:
            self.statistics = precision_statistics.Statistics(self.torch)
        module = self.root.module() if self.root is not None else None
        if module is not None and self.statistics.n_steps < self.n_statistics <= self.statistics.n_steps + self.n_direct:
            self.statistics.direct.expect(module)

    def job_ends(self):
        """A job that ends behind the last step that statistics are of, or before it."""
        if self.n_statistics and self.statistics is not None and self.statistics.n_steps:
            _write(self.statistics)
        elif self.n_statistics or (self.flow is None and self.n_backward > 0):
            precision.say("the job had too few steps with a backward pass to say which operations it has; it takes four and more")


def _write(watch):
    """The job goes on where that fails."""
    try:
        watch.write()
    except Exception as error:
        precision.say("what the job's operations are could not be written: %s" % error)


def begin(torch, wanted):
    """Returns what is to be called before a root's forward."""
    steps = Steps(torch, wanted)
    atexit.register(steps.job_ends)
    precision.on_backward(steps.backward_begins)
    return steps.root_begins
