"""The buckets in which DistributedDataParallel reduces gradients, as marks "ddp_bucket": first its
number, second its bytes, text "state=initial" or, once DDP has ordered them as gradients come,
"state=rebuilt", and the limit as "cap_bytes=".
"""

import weakref

from . import agent

_LAST_LOOK = 8  # forwards; DDP rebuilds after the first backward, or never

watched = []  # [weak reference, forwards seen]


def watch(ddp):
    watched.append([weakref.ref(ddp), 0])


def _tell(logged, key, state):
    sizes = [int(size) for size in str(logged.get(key, "")).split(",") if size.strip()]
    for number, size in enumerate(sizes):
        agent.mark(
            "ddp_bucket",
            number,
            size,
            "state=%s cap_bytes=%s" % (state, logged.get("bucket_cap_bytes", 0)),
        )
    return bool(sizes)


def look(module):
    """A forward of `module` begins: if it is watched, see whether there is something new."""
    for entry in list(watched):
        ddp = entry[0]()
        if ddp is not module and ddp is not None:
            continue
        entry[1] += 1
        if ddp is None or entry[1] > _LAST_LOOK:
            watched.remove(entry)
            continue
        logged = ddp._get_ddp_logging_data()
        if entry[1] == 1:
            _tell(logged, "bucket_sizes", "initial")
        elif logged.get("has_rebuilt_buckets") and _tell(
            logged, "rebuilt_bucket_sizes", "rebuilt"
        ):
            watched.remove(entry)
