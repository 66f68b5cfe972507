"""The agent's functions (probes/common/probe.h), called through ctypes.

PyDLL keeps the interpreter lock: the calls take a fraction of a microsecond. The agent is preloaded,
so its symbols are in the program's own scope.
"""

import atexit
import ctypes

KIND_MODULE = 2  # enum trace_kind
KIND_FUNCTION = 15
KIND_SPAN = 30  # may be ended by another thread

_library = ctypes.PyDLL(None)
_kept = []  # callbacks, which C code does not keep alive


def _function(name, result, *arguments):
    function = getattr(_library, name)  # AttributeError: this process has no agent
    function.restype = result
    function.argtypes = arguments
    return function


slice_begin = _function(
    "tacho_slice_begin_named", ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64
)
slice_end = _function("tacho_slice_end_named", None, ctypes.c_void_p)
_mark = _function(
    "tacho_mark", None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p
)
_cost = _function("tacho_cost", None, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64)
# a callable in place of another one, each of whose calls is a kernel of that name
named_call = _function("tacho_named_call", ctypes.py_object, ctypes.py_object, ctypes.c_char_p)
# the same as an operation
named_op = _function("tacho_named_op", ctypes.py_object, ctypes.py_object, ctypes.c_char_p)
records_all = _function("tacho_records_all", ctypes.c_bool)  # else steps and collectives alone
counts_steps = _function("tacho_counts_steps", ctypes.c_bool)
step_end = _function("tacho_step_end", None)
_RecordingChanged = ctypes.CFUNCTYPE(None, ctypes.c_bool)
_watch_recording = _function("tacho_watch_recording", ctypes.c_bool, _RecordingChanged)
scratch_begin = _function("tacho_scratch_begin", ctypes.c_bool, ctypes.c_size_t)
scratch_end = _function("tacho_scratch_end", None)


def mark(name, first, second, text):
    _mark(name.encode(), first, second, text.encode("utf-8", "replace"))


def watch_recording(changed):
    """Have `changed` called with whether steps are recorded from now on, as long as Python runs."""
    is_running = [True]

    def tell(is_recording):
        if is_running:
            changed(is_recording)

    _kept.append(_RecordingChanged(tell))
    atexit.register(is_running.clear)
    _watch_recording(_kept[-1])


def cost(kind, nanoseconds):
    _cost(kind, b"python", int(nanoseconds * 1000))
