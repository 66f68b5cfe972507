"""A program says what it does, for `tacho record` to record: ranges, moments, counters, and flows between ranges.

    from tacho import mark

    with mark.range("load batch"):
        ...

    @mark.range("tokenize")
    def tokenize(text): ...

    mark.counter("loss", loss.item())
    mark.moment("checkpoint written", first=step, text=path)

    mark.flow_begin("batch", number)     # in a range; in another, of any thread: mark.flow_end("batch", number)

Where the program is not recorded, all of this does nothing. The names of ranges and the like are kept for as long as the
process: put numbers that count without end into `number`. It is include/tacho/mark.h, called through ctypes.
"""

import ctypes
import functools

_RANGE, _MOMENT, _COUNTER, _FLOW, _SPAN = 0, 1, 2, 3, 4  # enum tacho_mark_sort
_BEGIN, _STEP, _END = 0, 1, 2  # enum tacho_mark_phase
_LOOK_EACH = 1024  # calls: the agent may come later
# What a wrong argument raises: a program that is recorded runs as one that is not.
_WRONG = (ctypes.ArgumentError, AttributeError, OverflowError, TypeError, ValueError)


class _Api(ctypes.Structure):
    """struct tacho_mark_api. The calls take less than a microsecond, so they keep the interpreter lock."""

    _fields_ = [
        ("name", ctypes.PYFUNCTYPE(ctypes.c_uint32, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64)),
        ("begin", ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64)),
        ("end", ctypes.PYFUNCTYPE(None, ctypes.c_void_p)),
        (
            "moment",
            ctypes.PYFUNCTYPE(None, ctypes.c_uint32, ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p),
        ),
        ("counter", ctypes.PYFUNCTYPE(None, ctypes.c_uint32, ctypes.c_double)),
        ("flow", ctypes.PYFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int)),
        ("is_recording", ctypes.PYFUNCTYPE(ctypes.c_int)),
        ("begin_span", ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64)),
    ]


class _Agent:
    """The agent's functions, each taken out of the struct once."""

    def __init__(self, api):
        self._api = api
        self._declare = api.name
        self.begin, self.end = api.begin, api.end
        self.moment, self.counter, self.flow = api.moment, api.counter, api.flow
        self.is_recording, self.begin_span = api.is_recording, api.begin_span
        self._names = {}

    def name(self, sort, text):
        number = self._names.get((sort, text))
        if number is None:
            data = text.encode("utf-8", "replace")
            number = self._declare(sort, data, len(data))
            if number:
                self._names[sort, text] = number
        return number


_agent = None
_n_calls = 0


def _find():
    """The agent; None: nobody records."""
    global _agent, _n_calls
    if _agent is None:
        _n_calls += 1
        if _n_calls % _LOOK_EACH == 1:
            try:
                _agent = _Agent(_Api.in_dll(ctypes.PyDLL(None), "tacho_mark_api_1"))
            except (ValueError, OSError):
                pass
    return _agent


def is_recording():
    """Whether marks are recorded now: for what is dear to find out for one."""
    agent = _find()
    return agent is not None and bool(agent.is_recording())


class range:
    """A range of the thread, from `with` to the end of its block; or, as a decorator, each call of a function. `number` tells
    ranges of one name apart."""

    __slots__ = ("_name", "_number", "_open")

    def __init__(self, name, number=0):
        self._name = name
        self._number = number
        self._open = None

    def __enter__(self):
        agent = _find()
        slice = None
        if agent is not None:
            try:
                slice = agent.begin(agent.name(_RANGE, self._name), self._number)
            except _WRONG:
                pass
        self._open = (slice, self._open)
        return self

    def __exit__(self, *cause):
        slice, self._open = self._open
        if slice is not None:
            _agent.end(slice)
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def marked(*args, **kwargs):
            with range(self._name, self._number):
                return function(*args, **kwargs)

        return marked


class start:
    """A span: it need not lie within the ranges of its thread, and any thread may end() it. For requests that wait while others
    begin, and for coroutines; `with` does both."""

    __slots__ = ("_slice",)

    def __init__(self, name, number=0):
        agent = _find()
        self._slice = None
        if agent is not None:
            try:
                self._slice = agent.begin_span(agent.name(_SPAN, name), number)
            except _WRONG:
                pass

    def end(self):
        slice, self._slice = self._slice, None
        if slice is not None:
            _agent.end(slice)

    def __enter__(self):
        return self

    def __exit__(self, *cause):
        self.end()
        return False


def moment(name, first=0, second=0, text=None):
    """A moment of the thread, with two whole numbers and a text that say more of it."""
    agent = _find()
    if agent is not None:
        data = None if text is None else str(text).encode("utf-8", "replace")
        try:
            agent.moment(agent.name(_MOMENT, name), int(first), int(second), data)
        except _WRONG:
            pass


def step(number):
    """A training step begins in this thread, and the one before it ends: for programs of which tacho finds no steps by
    itself. One more behind the last step ends that."""
    moment("step", first=number)


def counter(name, value):
    """From now on, the counter of that name has that value."""
    agent = _find()
    if agent is not None:
        try:
            agent.counter(agent.name(_COUNTER, name), float(value))
        except _WRONG:
            pass


def _flow(name, number, phase):
    agent = _find()
    if agent is not None:
        try:
            agent.flow(agent.name(_FLOW, name), number, phase)
        except _WRONG:
            pass


def flow_begin(name, number):
    """The innermost range that this thread has open is where the flow `number` of that name begins."""
    _flow(name, number, _BEGIN)


def flow_step(name, number):
    """... where it passes through."""
    _flow(name, number, _STEP)


def flow_end(name, number):
    """... where it ends. Begin and end may be in different threads of a process."""
    _flow(name, number, _END)
