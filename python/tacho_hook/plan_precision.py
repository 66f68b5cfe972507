"""Operations compute in the precision that the plan has for each (`tacho precision plan`): see precision.py.

(1) An operation that the plan does not name computes in fp32. One that it names for some ranks only does so on the others.
(2) A plan for another model, with a module that is not there, or an operation that its module does not run, ends the job with an error
    before its first step.
"""

import os

from . import precision
from . import precision_kernels as kernels
from . import precision_scopes

_KEYS = {"module", "kind", "ordinal", "precision"}


def _ranks(value):
    """Of each rank that the plan names first in a range, the ranges being those of workers; [None]: it makes no difference between ranks."""
    return sorted({int(entry["ranks"][0]) for entry in value if "ranks" in entry}) or [None]


def _is_for(entry, rank):
    if "ranks" not in entry:
        return True
    first, last = entry["ranks"]
    return int(first) <= rank <= int(last)


def _read(value, rank):
    """{(module, kind, ordinal): precision} of this rank; ValueError says what is not as it should be."""
    chosen = {}
    for entry in value:
        if set(entry) - {"ranks"} != _KEYS:
            raise ValueError("an operation has the members %s" % ", ".join(sorted(entry)))
        if not _is_for(entry, rank):
            continue
        if entry["precision"] not in kernels.PRECISIONS:
            raise ValueError("there is no precision '%s' here" % entry["precision"])
        if kernels.of_kind(entry["precision"], entry["kind"]) != entry["precision"]:
            raise ValueError("%s is not for operations of the kind %s" % (entry["precision"], entry["kind"]))
        name = (str(entry["module"]), str(entry["kind"]), int(entry["ordinal"]))
        if name in chosen:
            raise ValueError("it has %s twice" % _say(name))
        chosen[name] = entry["precision"]
    if {"fp32", "tf32"} <= set(chosen.values()):
        raise ValueError("it has operations in fp32 and in tf32, which is a setting of the whole process")
    return chosen


def _say(name):
    return "%s %d of module '%s'" % (name[1], name[2], name[0])


def check(value):
    """Raises where this PyTorch cannot compute in one of the plan's precisions."""
    import torch

    try:
        wanted = {precision for rank in _ranks(value) for precision in _read(value, rank or 0).values()}
    except (ValueError, KeyError, TypeError) as error:
        raise RuntimeError(str(error))
    for name, reason in kernels.possible(torch, kernels.devices(torch)).items():
        if name in wanted and reason is not None:
            raise RuntimeError("cannot compute in %s: %s" % (name, reason))


class Planned:
    def __init__(self, torch, chosen, n_ranks, gradients, fail, tell):
        self.torch = torch
        self.chosen = chosen
        self.n_ranks = n_ranks
        self.gradients = gradients
        self.fail = fail
        self.tell = tell
        self.not_run = set(chosen)
        self.modules = set()  # that have run an operation
        self.checked = set()  # roots

    def choose(self, scope, kind, ordinal):
        """Called once for each operation."""
        name = (scope.path, kind, ordinal)
        self.not_run.discard(name)
        self.modules.add(scope.path)
        return self.chosen.get(name, "fp32")

    def root_begins(self, root):
        if root.name in self.checked:
            return
        self.checked.add(root.name)
        prefix = root.name
        for module, _, _ in self.chosen:
            if module.startswith(prefix) if prefix else ":" not in module:
                if module[len(prefix) :] not in root.paths:
                    self.fail("is for another model: it has a module '%s', and this one does not" % module)
        if root.is_first:
            self._check_first(root)

    def _check_first(self, root):
        n_ranks = int(os.environ.get("WORLD_SIZE") or 1)
        if self.n_ranks and n_ranks != self.n_ranks:
            self.fail("is for %d ranks, and the job has %d" % (self.n_ranks, n_ranks))
        there = sorted(
            (p.numel() * p.element_size(), str(p.dtype).replace("torch.", ""))
            for p in root.module().parameters()
            if p.requires_grad
        )
        if self.gradients and sorted(self.gradients) != there:
            self.fail("is for another model: gradients differ in number, size or type")

    def backward_begins(self, _roots):
        """Returns whether every operation has run. One whose module has not been called yet may still come."""
        stale = sorted(name for name in self.not_run if self._has_run(name[0]))
        if stale:
            self.fail("is for another model, or an older one: %s did not run" % _say(stale[0]))
        if not self.not_run:
            self.tell()
        return not self.not_run

    def _has_run(self, path):
        return path in self.modules or path == ""


def install(torch, value, n_ranks, gradients, fail, tell):
    try:
        chosen = _read(value, int(os.environ.get("RANK") or 0))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = "cannot be carried out: %s" % error
        precision.start(torch, lambda *_: fail(reason), lambda _root: fail(reason))
        return
    planned = Planned(torch, chosen, n_ranks, gradients, fail, tell)
    if "tf32" in chosen.values() or "fp32" in chosen.values():
        precision.set_tf32(torch, "tf32" in chosen.values())
    begun = [planned.root_begins]
    if os.environ.get("TACHO_RUN_DIR"):
        from . import precision_steps

        begun.append(precision_steps.begin(torch, "plan"))
    precision.on_backward(planned.backward_begins)
    precision.start(torch, planned.choose, lambda root: [call(root) for call in begun])
