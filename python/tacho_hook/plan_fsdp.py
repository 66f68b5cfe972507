"""FSDP2 (torch.distributed.fsdp.fully_shard): how many modules ahead parameters are gathered, and which modules keep them between their forward
and their backward. By FSDPModule's public methods; results are the same to the last bit.

fully_shard() is followed by a hook before the module's forward, as a job could register one. The first that is called is of the
model; the others tell in which order its sharded modules run. From the second forward on they are gathered so many ahead, and the hooks are gone.
"""

import functools


def check(_):
    try:
        from torch.distributed.fsdp import FSDPModule, fully_shard  # noqa: F401
    except ImportError:
        raise ImportError("it has no FSDP2 (torch.distributed.fsdp.fully_shard), which PyTorch has from 2.6 on")
    for name in ("set_modules_to_forward_prefetch", "set_modules_to_backward_prefetch", "set_reshard_after_forward"):
        if not hasattr(FSDPModule, name):
            raise ImportError("its FSDPModule has no %s()" % name)


class _Model:
    """A model whose forward has begun: `order` is in which its sharded modules run."""

    def __init__(self, root):
        self.root = root
        self.order = []
        self.n_forwards = 0


class Sharding:
    def __init__(self, n_ranks, changes, fail, tell):
        self.n_ranks, self.changes, self.fail, self.tell = n_ranks, changes, fail, tell
        self.handles = {}  # of modules that have a hook, by id
        self.models = {}  # of roots, by id
        self.root_of = {}  # ids of sharded modules

    def watch(self, module):
        if id(module) in self.handles:
            return
        import torch.distributed as dist

        if dist.get_world_size() != self.n_ranks:
            self.fail("is for %d ranks, and the job has %d" % (self.n_ranks, dist.get_world_size()))
        self.handles[id(module)] = module.register_forward_pre_hook(self._begin)

    def _begin(self, module, _):
        root = self.root_of.get(id(module), module)
        if id(root) not in self.models:
            self.models[id(root)] = self._begin_model(root)
        model = self.models[id(root)]
        if module is not root:
            if not any(module is other for other in model.order):
                model.order.append(module)
            return
        model.n_forwards += 1
        if model.n_forwards == 2:
            self._prefetch(model)

    def _sharded(self, root):
        return [(name, module) for name, module in root.named_modules() if id(module) in self.handles]

    def _begin_model(self, root):
        sharded = self._sharded(root)
        for _, module in sharded:
            self.root_of[id(module)] = root
        kept = self.changes.get("fsdp_keep", [])
        by_name = dict(sharded)
        missing = [name for name in kept if not name or name not in by_name]
        if missing:
            self.fail("is for another model: it has a sharded module '%s', and this one does not" % missing[0])
        for name in kept:
            by_name[name].set_reshard_after_forward(False, recurse=False)
        if kept:
            self.tell("fsdp_keep")
        return _Model(root)

    def _prefetch(self, model):
        n = self.changes.get("fsdp_prefetch", 0)
        if n:
            model.root.set_modules_to_forward_prefetch(model.order[:n])
            for i, module in enumerate(model.order):
                module.set_modules_to_forward_prefetch(model.order[i + 1 : i + 1 + n])
                module.set_modules_to_backward_prefetch(model.order[max(i - n, 0) : i][::-1])
            self.tell("fsdp_prefetch")
        for _, module in self._sharded(model.root):
            self.handles[id(module)].remove()


def install(module, n_ranks, changes, fail, tell):
    """`module` is torch.distributed.fsdp, which has just been imported. A PyTorch without FSDP2 shards nothing, which is told at the end."""
    shard = getattr(module, "fully_shard", None)
    if shard is None:
        return
    sharding = Sharding(n_ranks, changes, fail, tell)

    @functools.wraps(shard)
    def fully_shard(model, *arguments, **named):
        result = shard(model, *arguments, **named)
        for one in model if isinstance(model, (list, tuple)) else [model]:
            sharding.watch(one)
        return result

    module.fully_shard = fully_shard
