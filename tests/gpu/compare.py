"""compare.py RUN TRACE: what tacho recorded of a job's kernels and copies against what PyTorch's profiler saw in another run of the same job: how many of
each name on each stream, in which order, and how long. Exit 1 where they differ. Streams may have other numbers: they are told by what they did."""
import collections
import csv
import os
import statistics
import subprocess
import sys

LONG_NS = 20000  # kernels below are too short to compare the length of one run with that of another
OFF = 0.15       # of the median of a name, between two runs

SQL = """select s.ts, s.dur, s.name, t.stream, s.launch_id is not null as has_call from slice s join gpu_track t on t.id = s.track_id
where s.category in ('kernel', 'memcpy', 'memset', 'collective') order by s.ts"""


def read(path):
    out = subprocess.run([os.environ.get("TACHO", "tacho"), "query", path, "--format", "csv", SQL], check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(out.splitlines()))


def by_stream(rows):
    streams = collections.defaultdict(list)
    for row in rows:
        streams[row["stream"]].append(row["name"])
    return sorted(streams.values(), key=lambda names: (-len(names), names[:1]))


def first_difference(have, want):
    for i, (a, b) in enumerate(zip(have, want)):
        if a != b:
            return f"the {i + 1}th is {a}, and not {b}"
    return f"{len(have)} and not {len(want)} pieces of work"


def main():
    have, want = read(sys.argv[1]), read(sys.argv[2])
    problems = []
    counts_have, counts_want = (collections.Counter(row["name"] for row in rows) for rows in (have, want))
    for name in sorted(set(counts_have) | set(counts_want)):
        if counts_have[name] != counts_want[name]:
            problems.append(f"{name}: {counts_have[name]} recorded, {counts_want[name]} profiled")
    streams_have, streams_want = by_stream(have), by_stream(want)
    if not problems and streams_have != streams_want:
        for one, other in zip(streams_have, streams_want):
            if one != other:
                problems.append("order on a stream: " + first_difference(one, other))
        if len(streams_have) != len(streams_want):
            problems.append(f"{len(streams_have)} streams, and not {len(streams_want)}")
    n_compared = 0
    for name in sorted(set(counts_have) & set(counts_want)):
        medians = [statistics.median(int(row["dur"]) for row in rows if row["name"] == name) for rows in (have, want)]
        if min(medians) < LONG_NS:
            continue
        n_compared += 1
        if abs(medians[0] - medians[1]) > OFF * medians[1]:
            problems.append(f"{name}: {medians[0]} ns recorded, {medians[1]} ns profiled")
    alone = sum(row["has_call"] == "0" for row in have)
    if alone:
        problems.append(f"{alone} pieces of work have no call")
    if not have:
        problems.append("nothing of the device was recorded")
    print(f"{len(have)} pieces of work on {len(streams_have)} streams, {len(want)} on {len(streams_want)} profiled; lengths of {n_compared} names compared")
    for problem in problems[:20]:
        print("WRONG: " + problem[:300])
    sys.exit(bool(problems))


main()
