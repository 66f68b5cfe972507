"""Start-up of tacho's Python hook; `tacho record` puts this folder first on PYTHONPATH.

Python's site module imports `sitecustomize` before the job's first line. This one waits for
modules of PyTorch, TensorFlow, JAX and ONNX Runtime to be imported (it imports nothing itself), then gives way to the sitecustomize
that the job would have had.

(1) It never prints, never raises, and leaves sys.path as the job would have had it.
(2) Without TACHO_RUN_DIR (`tacho record`), TACHO_PLAN (`tacho apply`) and TACHO_STEP_TIMES (`tacho optimize --verify`) it only
    gives way.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _has_plan():
    return os.environ.get("TACHO_PLAN") or os.environ.get("TACHO_STEP_TIMES")


class _ImportWatch:
    """A meta path finder that finds nothing itself, but has the hook called after an import."""

    # module -> function of tacho_hook that is called with it
    WATCHED = {
        "torch.nn.modules.module": "watch_modules",
        "torch.distributed.distributed_c10d": "watch_process_groups",
        "torch._dynamo.eval_frame": "watch_compiled_modules",
        "torch._dynamo.callback": "watch_compilation",
        "torch._inductor.codecache": "watch_compiled_kernels",
    }
    PROFILED = {
        "horovod.common.basics": "watch_horovod",
        "byteps.common": "watch_byteps",
        "tensorflow.python.eager.polymorphic_function.polymorphic_function": "watch_tf_functions",
        "tensorflow.python.eager.backprop": "watch_tf_gradients",
        "tensorflow.python.profiler.profiler_v2": "watch_tf_profiler",
        "tensorflow.python.training.server_lib": "watch_tf_servers",
        "tensorflow.python.distribute.coordinator.cluster_coordinator": "watch_tf_coordinator",
        "jax._src.api": "watch_jax_calls",
        "jax._src.profiler": "watch_jax_profiler",
    }

    RUNTIMES = {
        "onnxruntime.capi.onnxruntime_inference_collection": "watch_onnxruntime",
    }

    PLANNED = {
        "torch.nn.parallel.distributed": "carry_out_plan",
        "torch.optim.optimizer": "carry_out_plan_of_optimizers",
        "torch.utils.data.dataloader": "carry_out_plan_of_loaders",
        "torch": "carry_out_plan_of_precision",
        "torch.distributed.fsdp": "carry_out_plan_of_sharding",
    }

    def __init__(self):
        self.waiting = {}
        hooks = os.environ.get("TACHO_HOOKS", "python,xla,onnxruntime").split(",")
        if _has_plan():
            self.waiting.update(self.PLANNED)
        if not os.environ.get("TACHO_RUN_DIR"):
            return
        if os.environ.get("TACHO_PRECISION") and not os.environ.get("TACHO_PLAN"):
            self.waiting["torch"] = "record_in_precision"
        if "python" in hooks:
            self.waiting.update(self.WATCHED)
        if "xla" in hooks:
            self.waiting.update(self.PROFILED)
        if "onnxruntime" in hooks:
            self.waiting.update(self.RUNTIMES)

    def find_spec(self, name, path=None, target=None):
        function = self.waiting.pop(name, None)
        if function is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self._call_after(spec, function)
                return spec
        return None

    def _call_after(self, spec, function):
        loader = spec.loader
        exec_module = getattr(loader, "exec_module", None)
        if exec_module is None:
            return

        def exec_and_call(module):
            del loader.exec_module
            exec_module(module)
            try:
                getattr(_hook(), function)(module)
            except Exception:
                pass

        try:
            loader.exec_module = exec_and_call
        except AttributeError:
            pass


def _hook():
    if "tacho_hook" not in sys.modules:
        from importlib import util

        folder = os.path.join(os.path.dirname(_HERE), "tacho_hook")
        spec = util.spec_from_file_location(
            "tacho_hook", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        module = util.module_from_spec(spec)
        sys.modules["tacho_hook"] = module
        spec.loader.exec_module(module)
    return sys.modules["tacho_hook"]


def _leave_path():
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]


def _give_way():
    """Run the sitecustomize that this one stands in front of; its errors are its own."""
    for finder in sys.meta_path:
        spec = finder.find_spec("sitecustomize", None)
        if spec is not None and spec.loader is not None:
            # importlib.util would take longer to import than all of this
            module = sys.modules["_frozen_importlib"].module_from_spec(spec)
            sys.modules["sitecustomize"] = module
            spec.loader.exec_module(module)
            return


def _watch_functions(how):
    """What tacho record --python=module:NAME,NAME asks for."""
    if how.startswith("module:"):
        try:
            _hook().watch_functions(how[len("module:") :])
        except Exception:
            pass


_leave_path()
if os.environ.get("TACHO_RUN_DIR") or _has_plan():
    sys.meta_path.insert(0, _ImportWatch())
if os.environ.get("TACHO_RUN_DIR"):
    _watch_functions(os.environ.get("TACHO_PYTHON", ""))
_give_way()
