"""tacho's side of a Python job: what PyTorch's callbacks do not tell, and other frameworks' profilers.

watch_modules         forward of every torch.nn.Module, named by its path (modules.py)
watch_functions       calls of the functions of some modules (functions.py)
watch_process_groups  members of the process groups (process_groups.py)
watch_compil...       what torch.compile does (compiled.py)

watch_horovod, watch_byteps  their own timelines (own_timelines.py)
watch_tf_...          TensorFlow's steps, and its profiler run in some (tensorflow_steps.py)
watch_jax_...         JAX's (jax_steps.py)
watch_onnxruntime     runs of ONNX Runtime's sessions, and its profiler where asked for (onnxruntime_sessions.py)

begin_late, end_late  the first two in a process that runs already (late.py)

carry_out_plan        losses, where they are asked for (losses.py), DDP's buckets as a plan has them (plan.py; `tacho apply`), and what else it changes (plan_changes.py)

record_in_precision   all matrix operations in one precision (precision.py; `tacho record --precision`)

DDP's buckets are told when its forward is seen (ddp_buckets.py). Data-loader waits and steps need
no hook: PyTorch names regions for them, which the torch probe knows.

(1) Nothing here adds a frame to the job's tracebacks: nothing of the job's is wrapped. Only who has a plan carried out has
    the Reducer of DDP in a subclass, and functions of DDP, optimizers, data loaders, fully_shard and Tensor.backward wrapped; who has a
    precision chosen, PyTorch's functions of matrices.
(2) An error in here is swallowed; the job goes on without this part. A plan or a precision that is not for the job ends it.
"""


def watch_modules(module):
    from . import modules

    modules.install(module)


def watch_functions(names):
    from . import functions

    functions.install(names)


def watch_process_groups(module):
    from . import process_groups

    process_groups.install(module)


def watch_compiled_modules(module):
    from . import compiled

    compiled.install(module)


def watch_compilation(module):
    from . import compiled

    compiled.install_callbacks(module)


def watch_compiled_kernels(module):
    from . import compiled

    compiled.install_kernels(module)


def watch_horovod(module):
    from . import own_timelines

    own_timelines.install_horovod(module)


def watch_byteps(module):
    from . import own_timelines

    own_timelines.install_byteps(module)


def watch_tf_functions(module):
    from . import tensorflow_steps

    tensorflow_steps.install_functions(module)


def watch_tf_gradients(module):
    from . import tensorflow_steps

    tensorflow_steps.install_gradients(module)


def watch_tf_profiler(module):
    from . import tensorflow_steps

    tensorflow_steps.install_profiler(module)


def watch_tf_servers(module):
    from . import tensorflow_steps

    tensorflow_steps.install_server(module)


def watch_jax_calls(module):
    from . import jax_steps

    jax_steps.install(module)


def watch_jax_profiler(module):
    from . import jax_steps

    jax_steps.install_profiler(module)


def watch_tf_coordinator(module):
    from . import tensorflow_steps

    tensorflow_steps.install_coordinator(module)


def watch_onnxruntime(module):
    from . import onnxruntime_sessions

    onnxruntime_sessions.install(module)


def begin_late():
    from . import late

    late.begin()


def end_late():
    from . import late

    late.end()


def carry_out_plan(module):
    from . import plan

    plan.install(module)


def carry_out_plan_of_optimizers(module):
    from . import plan_changes

    plan_changes.install_optimizers(module)


def carry_out_plan_of_precision(torch):
    from . import plan_changes

    plan_changes.install_precision(torch)


def record_in_precision(torch):
    from . import precision

    precision.install(torch)


def carry_out_plan_of_sharding(module):
    from . import plan_changes

    plan_changes.install_sharding(module)


def carry_out_plan_of_loaders(module):
    from . import plan_changes

    plan_changes.install_loaders(module)
