"""A slice for every call of the functions of some modules (tacho record --python=module:NAME,NAME): exact, where samples are not.

From Python 3.12 on sys.monitoring tells of calls, and is asked to be silent about code of other modules, which then costs nothing.
Before, sys.setprofile() tells of every call of every function, which the whole program pays for.

A call that is left by an exception ends, too. A generator has a slice for each time that it runs.
"""

import sys
import threading

from . import agent

_names = {}  # code object -> its name as bytes, or None: of no module that was asked for
_wanted = ()


class _Thread(threading.local):
    def __init__(self):
        self.open = []  # (code object, slice), innermost last


_thread = _Thread()


def _is_wanted(module):
    return any(module == name or module.startswith(name + ".") for name in _wanted)


def _name(code, module):
    """ "net.py(12): Net.forward", as samples name functions; None: it is not asked for."""
    if not _is_wanted(module):
        return None
    name = getattr(code, "co_qualname", code.co_name)
    return ("%s(%d): %s" % (code.co_filename, code.co_firstlineno, name)).encode("utf-8", "replace")


def _begin(code, name):
    _thread.open.append((code, agent.slice_begin(agent.KIND_FUNCTION, name, 0)))


def _end(code):
    """End the innermost open call of `code`, and what was begun in it and not seen to end."""
    calls = _thread.open
    if not any(call[0] is code for call in calls):
        return
    while True:
        begun, handle = calls.pop()
        agent.slice_end(handle)
        if begun is code:
            return


def _profile(frame, event, _argument):
    if event not in ("call", "return"):
        return
    code = frame.f_code
    if code not in _names:
        _names[code] = _name(code, frame.f_globals.get("__name__") or "")
    name = _names[code]
    if name is None:
        return
    if event == "call":
        _begin(code, name)
    else:
        _end(code)


def _monitor():
    monitoring = sys.monitoring
    events = monitoring.events
    tool = next((number for number in (3, 4) if monitoring.get_tool(number) is None), None)  # those of no certain use
    if tool is None:
        return

    def begun(code, _offset):
        if code not in _names:
            _names[code] = _name(code, sys._getframe(1).f_globals.get("__name__") or "")
        if _names[code] is None:
            return monitoring.DISABLE
        _begin(code, _names[code])

    def ended(code, _offset, _value):
        if _names.get(code) is None:
            return monitoring.DISABLE
        _end(code)

    def left(code, _offset, _error):
        if _names.get(code) is not None:
            _end(code)

    monitoring.use_tool_id(tool, "tacho")
    for event, callback in (
        (events.PY_START, begun),
        (events.PY_RESUME, begun),
        (events.PY_RETURN, ended),
        (events.PY_YIELD, ended),
        (events.PY_UNWIND, left),
    ):
        monitoring.register_callback(tool, event, callback)
    monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD | events.PY_UNWIND)


def install(names):
    global _wanted
    _wanted = tuple(name for name in names.split(",") if name)
    if sys.version_info >= (3, 12):
        _monitor()
    else:
        threading.setprofile(_profile)
        sys.setprofile(_profile)
