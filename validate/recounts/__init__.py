"""What independent readers count in a trace.

Each module of this folder reads one family of formats in plain Python, from the format's own description and
from docs/formats.md, and shares nothing with tacho: no code, no library that tacho reads the format with (but
CTF, whose events babeltrace2 prints). A reader returns a Recount.
"""
import gzip
import json


class Recount:
    """Sums over one trace. Times are nanoseconds."""

    def __init__(self):
        # name, (kind, name) or (kind, None): [how many, their durations added up, or None: only counted]
        self.slices = {}
        self.memory = None   # (how many allocations and frees, bytes handed out), None: not counted
        self.events = None   # records of the file, None: not counted
        self.last_values = {}  # counter: its last value
        self.launches = None  # kernels, copies and fills whose call of the runtime is in the trace
        self.waits = {}      # rank: ns that it waited for others to begin, over all collectives
        self.steps = None    # training steps, None: the trace does not say
        self.ranks = None
        self.rounding_ns = 1  # how far one duration may be off: times are read to the nanosecond
        self.left_out = {}   # what a reader leaves out, and why

    def slice(self, name, duration_ns, kind=None):
        """One slice; of `name` None, one of that kind. A duration of None is not compared."""
        row = self.slices.setdefault(name if kind is None else (kind, name), [0, 0])
        row[0] += 1
        row[1] = None if duration_ns is None or row[1] is None else row[1] + duration_ns

    def omit(self, why):
        self.left_out[why] = self.left_out.get(why, 0) + 1


def read_bytes(path):
    """All of a file, unpacked where it is gzip."""
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def read_json(path):
    """A JSON document; bytes that are not UTF-8 and control characters in texts are accepted."""
    return json.loads(read_bytes(path).decode("utf-8", "replace"), strict=False)


def read_open_array(path):
    """The objects of a JSON array that its writer never closed."""
    text = read_bytes(path).decode("utf-8", "replace").strip()
    if text.startswith("["):
        text = text[1:]
    decoder = json.JSONDecoder(strict=False)
    rows, at = [], 0
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] != "{":
            return rows
        row, at = decoder.raw_decode(text, at)
        rows.append(row)
