# The profile, unpacked by Python with the field numbers of pprof's own profile.proto: its stacks are those of
# the folded export, and as often there as tacho query counts.
command -v python3 >/dev/null || exit 77
export RUN=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" export "$RUN" --to pprof
"$TACHO" export "$RUN" --to folded 2>/dev/null
gzip -t two_ranks.pb.gz || echo "gzip does not take it"
cat >compare.py <<'PYTHON'
import collections, gzip, json, os, subprocess


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


def ask(sql):
    return json.loads(subprocess.check_output([os.environ["TACHO"], "query", os.environ["RUN"], sql, "--json"]))


profile = fields(gzip.open("two_ranks.pb.gz").read())
strings = [text.decode() for text in profile[6]]
types = [tuple(strings[fields(message)[n][0]] for n in (1, 2)) for message in profile[1]]
functions = {fields(message)[1][0]: strings[fields(message)[2][0]] for message in profile[5]}
locations = {}
for message in profile[4]:
    location = fields(message)
    locations[location[1][0]] = functions[fields(location[4][0])[1][0]]
print("string 0:", repr(strings[0]), "types:", types, "first:", strings[profile[14][0]])

folded, calls = collections.Counter(), collections.Counter()
for message in profile[2]:
    stack, (count, time) = ([locations[i] for i in numbers(fields(message)[1][0])],
                            numbers(fields(message)[2][0]))
    folded[";".join(reversed(stack))] += time
    calls[stack[0]] += count
wanted = collections.Counter()
for line in open("two_ranks.folded"):
    stack, time = line.rsplit(" ", 1)
    wanted[stack] += int(time)
print(len(folded), "stacks", +folded == wanted)
counts = {row["name"]: row["n"] for row in ask("SELECT name, count(*) AS n FROM slice GROUP BY name")}
print(len(calls), "names", calls == counts)
origin = json.loads(subprocess.check_output([os.environ["TACHO"], "info", os.environ["RUN"], "--json"]))
print("seconds:", profile[10][0] / 1e9, "of", origin["duration_ms"] / 1e3)
PYTHON
python3 compare.py
