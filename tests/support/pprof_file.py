"""pprof_file: a profile of pprof's, unpacked with the field numbers of its own profile.proto."""
import collections
import gzip


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """Of a message: lists of its values by field number; an embedded message stays bytes."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found[key >> 3].append(value)
    return found


def numbers(packed):
    values, at = [], 0
    while at < len(packed):
        value, at = varint(packed, at)
        values.append(value)
    return values


class Profile:
    def __init__(self, path):
        profile = fields(gzip.open(path).read())
        self.strings = [text.decode() for text in profile[6]]
        self.types = [tuple(self.strings[fields(message)[n][0]] for n in (1, 2)) for message in profile[1]]
        self.first_shown = self.strings[profile[14][0]]
        self.duration_ns = profile[10][0]
        self.functions, locations = {}, {}
        for message in profile[5]:
            found = fields(message)
            name, file, line = (found[n][0] if found[n] else 0 for n in (2, 4, 5))
            self.functions[found[1][0]] = self.strings[name], self.strings[file], line
        for message in profile[4]:
            location = fields(message)
            locations[location[1][0]] = self.functions[fields(location[4][0])[1][0]][0]
        # (names, the outermost first; values)
        self.samples = [(tuple(reversed([locations[i] for i in numbers(fields(message)[1][0])])),
                         numbers(fields(message)[2][0])) for message in profile[2]]
