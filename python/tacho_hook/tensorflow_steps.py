"""TensorFlow's training steps, and its profiler run in some of them.

A step begins with a call of the tf.function that trains: the outermost one in whose graph a GradientTape
was asked for gradients. Where no tf.function is around that, it begins where gradients are asked for;
where a coordinator hands steps to workers, with each that is handed out. Parameter servers and workers
that only serve are profiled while who coordinates them is.
Keras' fit() and custom loops are alike in this, whatever the strategy.

Class attributes are replaced by descriptors that tell of being looked up and give what was there: the
job's tracebacks have no frames of this file.
"""

import os
import shutil
import sys
import threading
import time

from . import profile_window
from .looked_up import tell_of

STEP = "tacho_step"  # the importer knows it: import/xla/xplane_steps.h
_OPTIONS = {"host_tracer_level": 2, "python_tracer_level": 0, "device_tracer_level": 1}
_PATIENCE = 3  # steps of another kind, until these are the job's steps
_POLL_S = 0.01

_steps = None


class _Profiler:
    AFTER = 0

    def __init__(self):
        self.session = None
        self.folder = None  # that the profiler writes into
        self.anchor_ns = 0
        self.region = None

    def start(self):
        from tensorflow.python.profiler import profiler_v2
        from tensorflow.python.profiler.internal import _pywrap_profiler, _pywrap_traceme

        def draw(name):
            _pywrap_traceme.TraceMe(name).Stop()

        if profiler_v2._profiler is not None:
            raise RuntimeError("the job profiles itself")
        self.folder = profile_window.signal_path(".tensorflow-%d" % os.getpid())
        session = _pywrap_profiler.ProfilerSession()
        session.start(self.folder, dict(_OPTIONS))
        self.anchor_ns = profile_window.draw_anchor(draw)
        self.session = session

    def stop(self, path):
        session, self.session = self.session, None
        if path is None:
            session.stop()
            return None
        session.export_to_tb()
        for folder, _, names in os.walk(self.folder):
            for name in names:
                if name.endswith(".xplane.pb"):
                    os.replace(os.path.join(folder, name), path)
        shutil.rmtree(self.folder, ignore_errors=True)
        return profile_window.anchor_facts(path, self.anchor_ns)

    def begin_step(self, number):
        from tensorflow.python.profiler.internal import _pywrap_traceme

        self.region = _pywrap_traceme.TraceMe(STEP, step_num=number)

    def end_step(self):
        region, self.region = self.region, None
        if region is not None:
            region.Stop()


class _Steps:
    """Which calls are steps."""

    def __init__(self):
        self.window = profile_window.Window(_Profiler())
        self.training = set()  # ids of tf.functions
        self.kept = []  # so that ids stay theirs
        self.outermost = None  # the tf.function called last
        self.key = None  # of what begins steps
        self.n_begun = 0
        self.n_others = 0  # other beginnings since the last of that

    def begin(self, key):
        if self.key is None or self.n_others >= _PATIENCE:
            self.key = key
        if key != self.key:
            self.n_others += 1
            return
        self.n_others = 0
        self.window.begin_step(self.n_begun)
        self.n_begun += 1

    def called(self, function):
        self.outermost = function
        if id(function) in self.training:
            self.begin(id(function))

    def asked_for_gradients(self, is_eager, frame):
        function = self.outermost
        if is_eager:
            self.begin((frame.f_code, frame.f_lineno))
        elif function is not None and id(function) not in self.training:
            self.training.add(id(function))
            self.kept.append(function)
            self.begin(id(function))


def _is_eager():
    from tensorflow.python.eager import context

    return context.executing_eagerly()


def _all_steps():
    global _steps
    if _steps is None:
        _steps = _Steps()
    return _steps


def install_functions(module):
    """`module` is tensorflow.python.eager.polymorphic_function.polymorphic_function."""

    def called(function):
        if _is_eager():
            _all_steps().called(function)

    tell_of(module.Function, "__call__", called)


def install_gradients(module):
    """`module` is tensorflow.python.eager.backprop."""

    def asked(_tape):
        _all_steps().asked_for_gradients(_is_eager(), sys._getframe(2))

    tell_of(module.GradientTape, "gradient", asked)


def install_coordinator(module):
    """`module` is tensorflow.python.distribute.coordinator.cluster_coordinator: it hands steps to workers."""

    def executed(closure):
        if type(closure) is module.Closure:  # others make variables
            _all_steps().begin(module.__name__)

    tell_of(module.Closure, "execute_on", executed)


def install_profiler(module):
    """`module` is tensorflow.python.profiler.profiler_v2, by which the job may profile itself."""
    module._pywrap_profiler = profile_window.ProfilerModule(
        module._pywrap_profiler, lambda: _all_steps().window.give_way()
    )


# --- servers: processes that work for those that have steps ------------------------------------


def _wait_for(name):
    while not os.path.exists(profile_window.signal_path(name)):
        time.sleep(_POLL_S)


def _profile_server(profiler):
    try:
        _wait_for(".profiling")
        profiler.start()
        _wait_for(".profiled")
        profile_window.lay_in(profiler.stop, {})
    except Exception:
        pass


def install_server(module):
    """`module` is tensorflow.python.training.server_lib."""
    is_profiled = []

    def joined(_server):
        if not is_profiled:
            is_profiled.append(True)
            threading.Thread(
                target=_profile_server, args=(_Profiler(),), name="tacho", daemon=True
            ).start()

    tell_of(module.Server, "join", joined)
