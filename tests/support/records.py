"""Records of a run directory, for tests: as babeltrace2 reads them, not as tacho does."""

import glob
import re
import subprocess

_LINE = re.compile(
    r"^\[(?P<time>\d+\.\d{9})\] \([^)]*\) \S+ (?P<name>.+?): "
    r"\{ pair_ticks = .*?tid = (?P<tid>\d+).*? \}, \{ (?P<payload>.*) \}$"
)
_FIELD = re.compile(r"(\w+) = (0x[0-9A-F]+|-?\d+|\"[^\"]*\")")


class Record:
    def __init__(self, match, hertz):
        self.hertz = hertz
        self.name = match["name"]
        self.tid = int(match["tid"])
        self.begin_ns = int(match["time"].replace(".", ""))
        self.payload = match["payload"]
        self.fields = {}
        for key, value in _FIELD.findall(self.payload.split(" = [")[0]):
            self.fields[key] = value[1:-1] if value[0] == '"' else int(value, 0)

    def __repr__(self):
        return "%d %d %s %s" % (self.tid, self.begin_ns, self.name, self.payload)

    def __getitem__(self, key):
        return self.fields[key]

    def __contains__(self, key):
        return key in self.fields

    @property
    def end_ns(self):
        return self.begin_ns + self["duration"] * 10**9 // self.hertz

    @property
    def shapes(self):
        """Shapes of the tensors, in order."""
        shapes = []
        for part in self.payload.split("shape = [")[1:]:
            shape = part.split("}")[0]
            shapes.append([int(size) for size in re.findall(r"\[\d+\] = (\d+)", shape)])
        return shapes

    @property
    def storages(self):
        return [int(value, 16) for value in re.findall(r"storage = (0x[0-9A-F]+)", self.payload)]


def read(run):
    text = subprocess.run(
        ["babeltrace2", "--clock-seconds", run], check=True, capture_output=True, text=True, errors="replace"
    ).stdout
    with open(glob.glob(run + "/*/metadata")[0]) as metadata:
        hertz = int(re.search(r"freq = (\d+)", metadata.read())[1])
    records = []
    for line in text.splitlines():
        match = _LINE.match(line)
        assert match, "cannot read: " + line
        records.append(Record(match, hertz))
    return records


def named(records, name):
    return [record for record in records if record.name == name]
