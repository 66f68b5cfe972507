"""Modules that do not keep what their backward pass needs, but compute it again: torch.utils.checkpoint around their forward."""


def check(names):
    from inspect import signature

    from torch.utils.checkpoint import checkpoint

    if "use_reentrant" not in signature(checkpoint).parameters:
        raise ImportError("its checkpoint() has no use_reentrant")


def _wrap(module):
    import torch
    from torch.utils.checkpoint import checkpoint

    forward = module.forward

    def computed_again(*arguments, **named):
        if not (torch.is_grad_enabled() and module.training):
            return forward(*arguments, **named)
        return checkpoint(forward, *arguments, use_reentrant=False, **named)

    module.forward = computed_again


def before_wrap(model, names, fail):
    modules = dict(model.named_modules())
    missing = [name for name in names if not name or name not in modules]
    if missing:
        fail("is for another model: it has a module '%s', and this one does not" % missing[0])
    for name in names:
        _wrap(modules[name])
