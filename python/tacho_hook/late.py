"""The hook in a process that runs already (`tacho attach`), and its end there (`tacho stop`).

Modules of which PyTorch is made are imported by then, so they are told at once. Process groups that exist are told as they are,
without the threads that they have started; groups made later tell of themselves.

(1) Where torch.compile has compiled, module hooks would make it compile again: modules are not recorded there.
"""

import sys

from . import modules, process_groups


def begin():
    torch_module = sys.modules.get("torch.nn.modules.module")
    if torch_module is not None and "torch._dynamo" not in sys.modules:
        modules.install(torch_module)
    distributed = sys.modules.get("torch.distributed.distributed_c10d")
    if distributed is not None:
        process_groups.install(distributed)
        process_groups.tell_all(distributed)


def end():
    torch_module = sys.modules.get("torch.nn.modules.module")
    if torch_module is not None:
        modules.uninstall()
