"""Gradients are sent in 16 bits, or as PowerSGD's matrices: a communication hook of DistributedDataParallel.

A process group that cannot add numbers of that type is found out when DDP is made, by one number of it that all ranks add up.
"""


def _powersgd_rank(word):
    return int(word.split(":")[1]) if word.startswith("powersgd:") else 0


def _dtype(word):
    import torch

    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(word, torch.float32)


def _hook(word):
    """State and hook, or ImportError."""
    if _powersgd_rank(word):
        from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

        return powerSGD_hook.PowerSGDState, powerSGD_hook.powerSGD_hook
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    try:
        return None, getattr(default_hooks, word + "_compress_hook")
    except AttributeError:
        raise ImportError("it has no hook for %s" % word)


def check(word):
    import torch
    import torch.distributed as dist

    _hook(word)
    if torch.cuda.is_available() or dist.is_initialized() or not dist.is_gloo_available():
        return
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        dist.all_reduce(torch.ones(1, dtype=_dtype(word)))
    finally:
        dist.destroy_process_group()


def after_wrap(ddp, word, fail):
    import torch
    import torch.distributed as dist

    device = next(ddp.module.parameters()).device
    try:
        make_state, hook = _hook(word)
        dist.all_reduce(torch.ones(1, dtype=_dtype(word), device=device), group=ddp.process_group)
    except (ImportError, RuntimeError) as error:
        fail("compresses gradients (%s), which this PyTorch (%s) cannot: %s" % (word, torch.__version__, error))
    state = ddp.process_group
    if make_state:
        state = make_state(ddp.process_group, matrix_approximation_rank=_powersgd_rank(word))
    ddp.register_comm_hook(state, hook)

    def register_comm_hook(*arguments, **named):
        fail("compresses gradients, and the job has a communication hook of its own")

    ddp.register_comm_hook = register_comm_hook
