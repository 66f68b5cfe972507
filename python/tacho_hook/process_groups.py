"""Process groups, as marks "process_group": first the address of the C++ object (0: not known),
second the number of members, text "name=... backend=... ranks=0-3 tids=12,13". And this process's
rank, which not every launcher tells in the environment, as a mark "rank": first of second.

torch.distributed keeps a dictionary of every group's members, filled in as a group's last act of
being made; a dictionary that tells takes its place.
"""

import ctypes
import os
import sys

from . import agent

_seen_threads = set()


def _threads():
    try:
        return {int(name) for name in os.listdir("/proc/self/task")}
    except OSError:
        return set()


def _ranges(numbers):
    """[0, 1, 2, 5] -> "0-2,5"."""
    parts = []
    numbers = sorted(numbers)
    start = 0
    for i in range(1, len(numbers) + 1):
        if i == len(numbers) or numbers[i] != numbers[i - 1] + 1:
            first, last = numbers[start], numbers[i - 1]
            parts.append(str(first) if first == last else "%d-%d" % (first, last))
            start = i
    return ",".join(parts)


def _address(group):
    """Where the C++ object is: pybind11 keeps that right behind the object's head."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 16:
        return 0
    if not any(base.__name__ == "pybind11_object" for base in type(group).__mro__):
        return 0
    return ctypes.c_void_p.from_address(id(group) + object.__basicsize__).value or 0


def _word(value):
    return "_".join(str(value).split()) or "-"


class _GroupRanks(dict):
    """group -> {rank in the job: rank in the group}"""

    module = None
    is_rank_told = False

    def __setitem__(self, group, ranks):
        super().__setitem__(group, ranks)
        try:
            self._tell(group, ranks)
        except Exception:
            pass

    def _tell_rank(self, group, ranks):
        """Once, of the first group: the one of all ranks."""
        if self.is_rank_told:
            return
        self.is_rank_told = True
        for rank, in_group in ranks.items():
            if in_group == group.rank():
                agent.mark("rank", rank, len(ranks), "")

    def _tell(self, group, ranks):
        global _seen_threads
        threads = _threads()
        started = threads - _seen_threads
        _seen_threads = threads
        backend = getattr(self.module, "_pg_map", {}).get(group, ("-",))[0]
        name = getattr(self.module, "_pg_names", {}).get(group, "-")
        text = "name=%s backend=%s ranks=%s" % (_word(name), _word(backend), _ranges(ranks))
        self._tell_rank(group, ranks)
        if started:
            text += " tids=" + ",".join(str(tid) for tid in sorted(started))
        agent.mark("process_group", _address(group), len(ranks), text)


def tell_all(module):
    """Groups that there are already; of their threads nobody knows by now which are whose."""
    groups = getattr(module, "_pg_group_ranks", None)
    if type(groups) is not _GroupRanks:
        return
    groups.is_rank_told = False
    _seen_threads.update(_threads())
    for group, ranks in list(groups.items()):
        try:
            groups._tell(group, ranks)
        except Exception:
            pass


def install(module):
    """`module` is torch.distributed.distributed_c10d, imported by now."""
    known = getattr(module, "_pg_group_ranks", None)
    if type(known) is not dict:
        return
    telling = _GroupRanks(known)
    telling.module = module
    module._pg_group_ranks = telling
    _seen_threads.update(_threads())
