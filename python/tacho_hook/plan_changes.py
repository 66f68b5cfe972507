"""What a plan (docs/plan.md) changes in a PyTorch job besides DDP's buckets, each in a file of its own:

compression     plan_compression.py    gradients are sent in fewer bits
accumulation    plan_accumulation.py   several passes make an update
checkpoint      plan_checkpoint.py     modules compute again what they do not keep
loader_workers  plan_loader.py         worker processes of data loaders
precision       plan_precision.py      operations compute in fewer bits
fsdp_prefetch   plan_fsdp.py           FSDP2 gathers so many modules ahead
fsdp_keep       plan_fsdp.py           modules keep what FSDP2 gathered until their backward

(1) A part is a module with check(value), which raises where this PyTorch cannot do it, and install(...), called when what it changes has
    been imported, or made.
(2) A change that does not fit the job ends it with an error when DistributedDataParallel is made, or the model is first called, before the
    first step.
(3) That a change was made is told once a process, by rank 0 or who has no rank: "applied NAME".
"""

import functools
import json
import os

from . import plan_accumulation, plan_checkpoint, plan_compression, plan_fsdp, plan_loader, plan_precision

_MAX_BYTES = 64 << 20
PARTS = {
    "compression": plan_compression,
    "accumulation": plan_accumulation,
    "checkpoint": plan_checkpoint,
    "loader_workers": plan_loader,
    "precision": plan_precision,
    "fsdp_prefetch": plan_fsdp,
    "fsdp_keep": plan_fsdp,
}
_NOT_OF_DDP = {"loader_workers", "fsdp_prefetch", "fsdp_keep"}
_told = set()


class PlanError(RuntimeError):
    """The plan cannot be carried out in this job."""


def fail(reason):
    raise PlanError("tacho: the plan %s %s" % (os.environ.get("TACHO_PLAN"), reason))


def _tell(name):
    """For `tacho apply`, which looks into this file when the job is over."""
    if name in _told or os.environ.get("RANK", "0") != "0":
        return
    _told.add(name)
    try:
        with open(os.environ["TACHO_PLAN_STATUS"], "a") as status:
            status.write("applied %s\n" % name)
    except (KeyError, OSError):
        pass


@functools.lru_cache(maxsize=None)
def read(path):
    """The plan's ranks, gradients and changes, without buckets; what is wrong with the file is plan.py's to say."""
    try:
        with open(path, "rb") as file:
            plan = json.loads(file.read(_MAX_BYTES).decode("utf-8"))
        changes = {name: plan["changes"][name] for name in PARTS if name in plan["changes"]}
        gradients = [(int(n), str(dtype)) for n, dtype in plan["job"]["gradients"]]
        return int(plan["job"]["ranks"]), gradients, changes
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0, [], {}


def split(changes):
    """Take out of a plan's changes those that are made here; returns whether there are some."""
    return len([changes.pop(name) for name in PARTS if name in changes]) > 0


def _changes():
    return read(os.environ["TACHO_PLAN"])[2] if os.environ.get("TACHO_PLAN") else {}


def _check_model(ddp):
    n_ranks, gradients, _ = read(os.environ["TACHO_PLAN"])
    if ddp.process_group.size() != n_ranks:
        fail("is for %d ranks, and the job has %d" % (n_ranks, ddp.process_group.size()))
    parameters = sorted(
        (p.numel() * p.element_size(), str(p.dtype).replace("torch.", ""))
        for p in ddp.module.parameters()
        if p.requires_grad
    )
    if gradients and sorted(gradients) != parameters:
        fail("is for another model: gradients differ in number, size or type")


def install(module):
    """`module` is torch.nn.parallel.distributed, which has just been imported."""
    changes = _changes()
    if not set(changes) - _NOT_OF_DDP:
        return
    cls = module.DistributedDataParallel
    make = cls.__init__

    @functools.wraps(make)
    def __init__(self, model, *arguments, **named):
        for name, value in changes.items():
            if hasattr(PARTS[name], "before_wrap"):
                PARTS[name].before_wrap(model, value, fail)
        make(self, model, *arguments, **named)
        _check_model(self)
        for name, value in changes.items():
            if hasattr(PARTS[name], "after_wrap"):
                PARTS[name].after_wrap(self, value, fail)
            if hasattr(PARTS[name], "after_wrap") or hasattr(PARTS[name], "before_wrap"):
                _tell(name)

    cls.__init__ = __init__
    if "accumulation" in changes:
        plan_accumulation.install_forward(cls, changes["accumulation"])


def install_precision(torch):
    """`torch` has just been imported."""
    changes = _changes()
    if "precision" in changes:
        n_ranks, gradients, _ = read(os.environ["TACHO_PLAN"])
        plan_precision.install(torch, changes["precision"], n_ranks, gradients, fail, lambda: _tell("precision"))


def install_optimizers(module):
    """`module` is torch.optim.optimizer."""
    changes = _changes()
    if "accumulation" in changes:
        plan_accumulation.install_optimizers(module.Optimizer, changes["accumulation"], fail)


def install_loaders(module):
    """`module` is torch.utils.data.dataloader."""
    changes = _changes()
    if "loader_workers" in changes:
        plan_loader.install(
            module, changes["loader_workers"], fail, lambda: _tell("loader_workers")
        )


def install_sharding(module):
    """`module` is torch.distributed.fsdp."""
    changes = {name: value for name, value in _changes().items() if name.startswith("fsdp_")}
    if changes:
        plan_fsdp.install(module, read(os.environ["TACHO_PLAN"])[0], changes, fail, _tell)
