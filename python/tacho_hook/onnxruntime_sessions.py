"""ONNX Runtime in Python. Its wheels have the whole runtime linked into an extension module, so the probe of its table of functions
(probes/onnxruntime) sees nothing there. Instead, each call of a session's `run` is recorded as an operation, "onnxruntime: MODEL"; and with
`tacho record --onnx-nodes` each session has ONNX Runtime's own profiler on, whose profile is laid into the run.

(1) Who looks up `run` in a session gets a callable that is built into the language and calls what was there: no frame of this file is
    in the job's tracebacks.
(2) The job's SessionOptions have the profiler on while the session is created, and are put back at its first run. Sessions of a job
    that has it on itself are left alone.
(3) A profile ends with its session, or with Python.
"""

import functools
import os
import weakref

from . import agent, looked_up, profile_window

_RUNS = ("run", "run_with_ort_values", "run_with_iobinding")
_begun = weakref.WeakKeyDictionary()  # session -> what _settle() needs
_numbers = iter(range(1, 257))


def _name(session):
    path = getattr(session, "_model_path", None)
    if path:
        return os.path.basename(os.fspath(path))
    meta = getattr(session, "_model_meta", None)
    return getattr(meta, "graph_name", None) or "a model"


class _NamedRun:
    """In place of a class's function: each call is an operation named by the session's model."""

    def __init__(self, function):
        self.function = function
        self.named = {}  # model -> callable

    def __get__(self, instance, owner=None):
        if instance is None:
            return self.function.__get__(None, owner)
        try:
            if _begun:
                _settle(instance)
            return functools.partial(self._named(_name(instance)), instance)
        except Exception:
            return self.function.__get__(instance, owner)

    def _named(self, model):
        if model not in self.named:
            name = "onnxruntime: %s" % model
            self.named[model] = agent.named_op(self.function, name.encode("utf-8", "replace"))
        return self.named[model]


def _prepare(session):
    """A session is about to be created."""
    options = session._sess_options
    before = _before(options)
    if (before and before[0]) or not agent.records_all():
        return  # the job's own: (2)
    number = next(_numbers, None)
    if number is None:
        return
    traces = os.path.join(os.environ["TACHO_RUN_DIR"], profile_window.TRACES)
    name = "%s-%d-onnx-py%d" % (profile_window.host(), os.getpid(), number)
    hidden = os.path.join(traces, "." + name)
    os.makedirs(hidden, 0o700)
    if options is None:
        options = session._sess_options = _new_options()
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(hidden, "profile")
    _begun[session] = options, before, hidden, os.path.join(traces, name)


def _before(options):
    """Whether and where the job itself has them profile; None: the options are ours."""
    for begun in _begun.values():
        if begun[0] is options:
            return begun[1]
    return options and (options.enable_profiling, options.profile_file_prefix)


def _new_options():
    from onnxruntime.capi import _pybind_state

    return _pybind_state.SessionOptions()


def _settle(session):
    """It has been created: give the job its options back, and have the profile laid in at its end."""
    begun = _begun.pop(session, None)
    if begun is None:
        return
    options, before, hidden, shown = begun
    if before is not None:
        options.enable_profiling, options.profile_file_prefix = before
    weakref.finalize(session, _finish, session._sess, os.getpid(), hidden, shown)


def _finish(inner, pid, hidden, shown):
    if os.getpid() != pid:
        return
    try:
        begin_ns = inner.get_profiling_start_time_ns
        inner.end_profiling()
        profile_window.write_facts(hidden, {"base_ns": begin_ns})
        os.rename(hidden, shown)
    except Exception:
        pass


def install(module):
    """`module` is onnxruntime.capi.onnxruntime_inference_collection."""
    for name in _RUNS:
        function = module.Session.__dict__.get(name)
        if function is not None:
            setattr(module.Session, name, _NamedRun(function))
    if os.environ.get("TACHO_ONNX_NODES") == "1":
        looked_up.tell_of(module.InferenceSession, "_create_inference_session", _prepare)
