"""Carries out a plan (docs/plan.md) in the job: PyTorch's DistributedDataParallel packs its gradients as planned.

DDP packs its buckets twice: when it is made, by the order of the parameters, and once more before the second forward, by
the order in which the gradients came. From then on they stay. The second time its Reducer (C++) makes the list of
buckets, and sends that of rank 0 to all others: the parameters' numbers, one bucket after the other, with how many
buckets there are behind them; and how many parameters each bucket has. Each is one tensor of 32-bit integers, copied to the device
that the process group speaks from. Here, the Reducer is a subclass that looks on while it does so: on rank 0 it writes the plan's
lists into the two tensors before they are copied. All ranks then have the plan's buckets, as they would have had
rank 0's, and nothing of tacho runs in any later step.

(1) What can be known when DDP is made is checked there, before the first step: another number of ranks, gradients of other sizes or
    types, what keeps DDP from packing anew. The job then ends with an error that says so.
(2) In which order gradients come is known only after the first pass. Where it is not the plan's, DDP keeps its own buckets, the job goes
    on, and rank 0 says so.
(3) A plan is data. Nothing in it is run, opened or imported.

With TACHO_STEP_TIMES, as `tacho optimize --verify` has it, the Reducer also notes when each forward begins, with a plan and without one, so
that both cost the same; at the end of the process the times between them are written into a file of that name, the rank and the pid. What the
losses were is noted likewise (losses.py).
"""

import atexit
import collections
import json
import os
import sys
import time

from . import losses, plan_changes

VERSION = 1
_MAX_BYTES = 64 << 20
_N_COPIES = 4  # of the two lists: each to the device and back


class PlanError(RuntimeError):
    """The plan cannot be carried out in this job."""


def _fail(reason):
    raise PlanError("tacho: the plan %s %s" % (os.environ.get("TACHO_PLAN"), reason))


def _say(text):
    try:
        sys.stderr.write("tacho: %s\n" % text)
        sys.stderr.flush()
    except Exception:
        pass


def _report(word):
    """For `tacho apply`, which looks into this file when the job is over."""
    try:
        with open(os.environ["TACHO_PLAN_STATUS"], "a") as status:
            status.write(word + "\n")
    except (KeyError, OSError):
        pass


class Plan:
    def __init__(self, path):
        try:
            with open(path, "rb") as file:
                text = file.read(_MAX_BYTES + 1)
            if len(text) > _MAX_BYTES:
                raise ValueError("it is too long")
            plan = json.loads(text.decode("utf-8"))
            if plan["tacho_plan"] != VERSION:
                raise ValueError("it has version %s" % plan["tacho_plan"])
            self.n_ranks = int(plan["job"]["ranks"])
            self.gradients = [(int(n), str(dtype)) for n, dtype in plan["job"]["gradients"]]
            changes = dict(plan["changes"])
            self.buckets = [[int(i) for i in b] for b in changes.pop("buckets", [])]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            _fail("cannot be read: %s" % error)
        is_for_others = plan_changes.split(changes)
        if changes:
            _fail("has changes that tacho does not carry out: %s" % ", ".join(sorted(changes)))
        if not self.buckets and not is_for_others:
            _fail("changes nothing")
        if self.buckets and sorted(i for b in self.buckets for i in b) != list(range(len(self.gradients))):
            _fail("does not hold each gradient once")
        if not all(self.buckets) or any(len({self.gradients[i][1] for i in b}) > 1 for b in self.buckets):
            _fail("has a bucket without gradients, or with gradients of two types")

    def place(self, parameters, order):
        """The plan's buckets as lists of the parameters' numbers, where gradients come in this order.

        Gradients of one type keep their order in `order`; how types are mixed in it says nothing. None: they come in another order than
        the plan's."""
        by_type = collections.defaultdict(collections.deque)
        for number in order:
            by_type[parameters[number][1]].append(number)
        number_of = []
        for size, dtype in self.gradients:
            number = by_type[dtype].popleft()
            if parameters[number][0] != size:
                return None
            number_of.append(number)
        return [[number_of[i] for i in bucket] for bucket in self.buckets]


def _gradient_of(parameter):
    return parameter.numel() * parameter.element_size(), str(parameter.dtype).replace("torch.", "")


def _check_job(plan, parameters, process_group, expect_sparse, find_unused):
    n_ranks = process_group.size()
    if n_ranks != plan.n_ranks:
        _fail("is for %d ranks, and the job has %d" % (plan.n_ranks, n_ranks))
    if len(parameters) != len(plan.gradients):
        _fail(
            "is for a model with %d gradients, and this one has %d"
            % (len(plan.gradients), len(parameters))
        )
    there, wanted = collections.Counter(parameters), collections.Counter(plan.gradients)
    if there != wanted:
        size, dtype = next(iter(wanted - there))
        _fail(
            "is for another model: it has a gradient of %d bytes of %s, and this one does not"
            % (size, dtype)
        )
    if find_unused:
        _fail("needs find_unused_parameters=False: else DDP does not pack its buckets anew")
    if any(expect_sparse):
        _fail("is for dense gradients, and some of this model are sparse")
    if os.environ.get("DDP_SET_LAST_BUCKET_CAP") == "1":
        _fail("needs DDP_SET_LAST_BUCKET_CAP unset: else DDP packs its buckets from the last on")


def _make_writer(torch):
    from torch.utils._python_dispatch import TorchDispatchMode

    no_dispatch = getattr(torch._C, "_ExcludeDispatchKeyGuard", None) or torch._C.ExcludeDispatchKeyGuard
    python_key = torch._C.DispatchKeySet(torch._C.DispatchKey.Python)

    class Writer(TorchDispatchMode):
        """Writes the plan's lists over those that the Reducer is about to send; `written` says whether it did.

        After the last list it looks away: a bucket that it saw being made would have a Python object for good, and where the last to
        let go of such a bucket is a thread of the process group, it needs the interpreter's lock to do so. The main thread may hold
        that lock while it waits for this thread to end."""

        def __init__(self, plan, parameters):
            super().__init__()
            self.plan, self.parameters = plan, parameters
            self.n_copies, self.buckets, self.written, self.is_other_order = 0, None, False, False
            self._blind = None

        def __exit__(self, *error):
            self._blind = None
            return super().__exit__(*error)

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.copy_.default and self._is_list(args):
                self.n_copies += 1
                self._write(args[1])
                if self.n_copies == _N_COPIES:
                    self._blind = no_dispatch(python_key)
            return func(*args, **(kwargs or {}))

        @staticmethod
        def _is_list(args):
            return all(t.dtype == torch.int32 and t.dim() == 1 for t in args[:2])

        def _write(self, source):
            # 1: the numbers, to the device; 2: back; 3: how many each bucket has, to the device; 4: back
            if self.n_copies == 1 and source.numel() == len(self.parameters) + 1:
                numbers = source.tolist()[:-1]
                self.buckets = self.plan.place(self.parameters, numbers)
                self.is_other_order = self.buckets is None
                if self.buckets:
                    flat = [i for bucket in self.buckets for i in bucket]
                    source.copy_(torch.tensor(flat + [len(self.buckets)], dtype=torch.int32))
            elif self.n_copies == 3 and self.buckets and source.numel() == len(self.buckets):
                sizes = [len(bucket) for bucket in self.buckets]
                source.copy_(torch.tensor(sizes, dtype=torch.int32))
                self.written = True

    return Writer


def _make_reducer(torch, base, Writer):
    class PlannedReducer(base):
        def __init__(self, parameters, bucket_indices, limits, process_group, expect_sparse, cap,
                     find_unused, *others, **named):
            plan = Plan(os.environ["TACHO_PLAN"])
            parameters = list(parameters)
            self._tacho_parameters = [_gradient_of(p) for p in parameters]
            _check_job(plan, self._tacho_parameters, process_group, expect_sparse, find_unused)
            super().__init__(parameters, bucket_indices, limits, process_group, expect_sparse, cap,
                             find_unused, *others, **named)
            self._tacho_plan = plan if process_group.rank() == 0 else None

        def _rebuild_buckets(self):
            if self._tacho_plan is None:
                return super()._rebuild_buckets()
            with Writer(self._tacho_plan, self._tacho_parameters) as writer:
                is_rebuilt = super()._rebuild_buckets()
            if is_rebuilt:
                self._tell(writer)
                self._tacho_plan = None
            return is_rebuilt

        def _tell(self, writer):
            if writer.written:
                _report("applied")
                return
            _report("refused")
            _say(
                "the plan is not carried out, and the job goes on with its own buckets: "
                + ("the gradients come in another order than in the recording"
                   if writer.is_other_order
                   else "this PyTorch (%s) packs buckets in a way that tacho does not know" % torch.__version__)
            )

    return PlannedReducer


def _make_timed(base):
    began = []  # ns, of the forwards of the first DDP of the process
    first = []

    def write(rank):
        try:
            name = "%s.%d.%d" % (os.environ["TACHO_STEP_TIMES"], rank, os.getpid())
            with open(name, "w") as file:
                file.writelines("%d\n" % (b - a) for a, b in zip(began, began[1:]))
        except (KeyError, OSError):
            pass

    class TimedReducer(base):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            if not first:
                first.append(id(self))
                atexit.register(write, arguments[3].rank())

        def _rebuild_buckets(self):
            if first[0] == id(self):
                began.append(time.perf_counter_ns())
            return super()._rebuild_buckets()

    return TimedReducer


def _make_refusal(base, reason):
    class RefusedReducer(base):
        def __init__(self, *arguments, **named):
            _fail(reason)

    return RefusedReducer


def _has_buckets(path):
    """A file that is no plan has some, so that DDP says what is wrong with it."""
    try:
        with open(path, "rb") as file:
            return "buckets" in json.loads(file.read(_MAX_BYTES).decode("utf-8"))["changes"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return True


def install(module):
    """`module` is torch.nn.parallel.distributed, which has just been imported."""
    import torch

    dist = torch.distributed
    base = dist.Reducer
    plan_changes.install(module)
    try:
        if not hasattr(base, "_rebuild_buckets"):
            raise ImportError("its Reducer has no _rebuild_buckets()")
        if os.environ.get("TACHO_STEP_TIMES"):
            base = _make_timed(base)
        if os.environ.get("TACHO_LOSSES"):
            losses.install(torch)
        if os.environ.get("TACHO_PLAN") and _has_buckets(os.environ["TACHO_PLAN"]):
            base = _make_reducer(torch, base, _make_writer(torch))
        dist.Reducer = base
    except (ImportError, AttributeError, TypeError) as error:
        dist.Reducer = _make_refusal(
            base, "cannot be carried out by this PyTorch (%s): %s" % (torch.__version__, error)
        )
