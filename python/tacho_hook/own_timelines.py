"""The timelines that Horovod and BytePS write themselves, switched on by their variables unless the user has set them, and laid into
the run: a folder of RUN/traces/ a process that wrote one.

The variables are set in the process when the package is imported, before it is initialized, so each process has a file of its own. Of
Horovod the coordinator alone (rank 0) writes one.

(1) A folder appears under its name when the process ends, if something was written; of a process that is killed it stays hidden.
(2) A process that was started by one with a timeline gets its own.
"""

import atexit
import os
import shutil

from . import profile_window

_BYTEPS_FIRST, _BYTEPS_LAST = 2, 22  # steps of BytePS's trace, which it writes at the last


def _traces():
    return os.path.join(os.environ["TACHO_RUN_DIR"], profile_window.TRACES)


def _is_free(variable):
    """Whether it is unset, or set by this file in the process that started this one."""
    value = os.environ.get(variable)
    return value is None or value.startswith(os.path.join(_traces(), "."))


def _has_timeline(folder):
    for path, _, names in os.walk(folder):
        if any(name != profile_window.FACTS and os.path.getsize(os.path.join(path, name)) for name in names):
            return True
    return False


def _finish(folder, pid):
    if os.getpid() != pid:
        return
    try:
        if _has_timeline(folder):
            traces, name = os.path.split(folder)
            os.rename(folder, os.path.join(traces, name[1:]))
        else:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass


def _make_folder(tool):
    folder = os.path.join(_traces(), ".%s-%d-%s" % (profile_window.host(), os.getpid(), tool))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, 0o700)
    profile_window.write_facts(folder, {})
    # what is registered first is called last: behind the package's own end
    atexit.register(_finish, folder, os.getpid())
    return folder


def install_horovod(_basics):
    """`_basics` is horovod.common.basics."""
    if _is_free("HOROVOD_TIMELINE"):
        os.environ["HOROVOD_TIMELINE"] = os.path.join(_make_folder("horovod"), "timeline.json")


def install_byteps(_common):
    """`_common` is byteps.common."""
    if "BYTEPS_TRACE_ON" in os.environ and not _is_free("BYTEPS_TRACE_DIR"):
        return
    os.environ["BYTEPS_TRACE_DIR"] = _make_folder("byteps")
    os.environ["BYTEPS_TRACE_ON"] = "1"
    os.environ.setdefault("BYTEPS_TRACE_START_STEP", str(_BYTEPS_FIRST))
    os.environ.setdefault("BYTEPS_TRACE_END_STEP", str(_BYTEPS_LAST))
