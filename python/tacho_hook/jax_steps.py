"""JAX's training steps, and its profiler run in some of them.

JAX calls a hook after each call of a jitted function, with what went in and what came out. A training
step is a call of the function whose outputs come back as its inputs: of several such, the one with the
most bytes that do so. The profile has each call by its name, which trace.ini tells (`step`).
"""

from . import agent, profile_window

_JUDGED_CALLS = 4  # of a function, in which its state is looked for
_MAX_FUNCTIONS = 4096
_MORE = 4  # so many times the state makes another function the step, once one was profiled

_IDLE_CALLS = 10000  # behind the last step that was profiled

_calls = None


def _profiler_module():
    try:
        from jax._src.lib import _profiler
    except ImportError:  # as in 0.4
        from jax._src.lib import xla_client

        return xla_client.profiler
    return _profiler


class _Profiler:
    AFTER = 2  # the event of a call is there when the next call is told, and ends the step before

    def __init__(self):
        self.session = None
        self.anchor_ns = 0
        self.output = None  # of the call before

    def _finish_calls(self):
        """Calls return when they have been queued: let none be in the profile by half."""
        import jax

        output, self.output = self.output, None
        jax.block_until_ready(output)

    def start(self):
        from jax._src import profiler

        # a second session would not fail, but record nothing
        if profiler._profile_state.profile_session is not None:
            raise RuntimeError("the job profiles itself")
        self._finish_calls()
        module = _profiler_module()

        def draw(name):
            with module.TraceMe(name):
                pass

        options = module.ProfileOptions()
        options.python_tracer_level = 0
        options.host_tracer_level = 2
        options.enable_hlo_proto = False
        session = module.ProfilerSession(options)
        self.anchor_ns = profile_window.draw_anchor(draw)
        self.session = session

    def stop(self, path):
        self._finish_calls()
        session, self.session = self.session, None
        profile = session.stop()
        if path is None:
            return None
        with open(path, "wb") as file:
            file.write(profile)
        return profile_window.anchor_facts(path, self.anchor_ns)

    def begin_step(self, number):
        pass

    def end_step(self):
        pass


class _Function:
    def __init__(self, function):
        self.function = function  # kept, so that its id stays its own
        self.name = getattr(function, "__name__", "")
        self.n_calls = 0
        self.outputs = {}  # id -> shape and type, of the call before
        self.state_bytes = 0


def _shape(leaf):
    return getattr(leaf, "shape", None), getattr(leaf, "dtype", None)


class _Calls:
    def __init__(self):
        self.window = profile_window.Window(_Profiler(), self._facts)
        self.functions = {}
        self.step = None
        self.is_rank_told = False
        self.n_idle = 0

    def _facts(self):
        return {"step": "PjitFunction(%s)" % self.step.name} if self.step else {}

    def _judge(self, entry, args, kwargs, output):
        from jax import tree_util

        state_bytes = 0
        for leaf in tree_util.tree_leaves((args, kwargs)):
            if entry.outputs.get(id(leaf)) == _shape(leaf):
                state_bytes += getattr(leaf, "nbytes", 0)
        entry.state_bytes = max(entry.state_bytes, state_bytes)
        entry.outputs = {}
        if entry.n_calls < _JUDGED_CALLS:
            for leaf in tree_util.tree_leaves(output):
                entry.outputs[id(leaf)] = _shape(leaf)

    def _choose(self, entry):
        """Whether `entry` is the step's function."""
        if entry is self.step:
            return True
        least = self.step.state_bytes * (_MORE if self.window.is_over else 1) if self.step else 0
        if entry.state_bytes <= least:
            return False
        self.step = entry
        self.window.restart()
        return True

    def _tell_rank(self):
        """What the launcher's environment may not tell."""
        from jax._src import distributed

        state = distributed.global_state
        if not self.is_rank_told and state.client is not None:
            agent.mark("rank", state.process_id, state.num_processes, "")
            self.is_rank_told = True

    def called(self, function, args, kwargs, output):
        """False: nothing more is to be learned of calls."""
        entry = self.functions.get(id(function))
        if entry is None and hasattr(getattr(function, "_fun", None), "_apply_primitive"):
            return True  # a single operation
        if entry is None:
            if len(self.functions) >= _MAX_FUNCTIONS:
                return True
            entry = self.functions[id(function)] = _Function(function)
        entry.n_calls += 1
        if entry.n_calls <= _JUDGED_CALLS:
            self._tell_rank()
            self._judge(entry, args, kwargs, output)
        if entry.state_bytes and self._choose(entry):
            self.window.profiler.output = output
            self.window.begin_step(entry.n_calls)
            self.window.profiler.output = None  # the job may give the memory back
        self.n_idle = self.n_idle + 1 if self.window.is_over else 0
        return self.n_idle < _IDLE_CALLS


def _all_calls():
    global _calls
    if _calls is None:
        _calls = _Calls()
    return _calls


class _AttributeState:
    """The hook's place in JAX 0.4, as later ones have it."""

    def __init__(self):
        from jax._src.lib import jax_jit

        self._state = jax_jit.global_state()

    def get_global(self):
        return self._state.post_hook

    def set_global(self, hook):
        self._state.post_hook = hook


def install(module):
    """`module` is jax._src.api."""
    state = getattr(module, "_post_hook_state", None) or _AttributeState()
    before = state.get_global()

    def hook(function, args, kwargs, output):
        try:
            if not _all_calls().called(function, args, kwargs, output):
                state.set_global(before)
        except Exception:
            pass
        if before is not None:
            before(function, args, kwargs, output)

    state.set_global(hook)


def install_profiler(module):
    """`module` is jax._src.profiler, by which the job may profile itself."""
    profiler = profile_window.ProfilerModule(
        _profiler_module(), lambda: _all_calls().window.give_way()
    )
    if hasattr(module, "_profiler"):
        module._profiler = profiler
    else:
        module.xla_client = profile_window.ModuleInPlace(module.xla_client, profiler=profiler)
