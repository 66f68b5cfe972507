#!/usr/bin/env python3
"""make_ranks.py SAMPLES OUTPUT RANKS MEGABYTES: a folder of Kineto traces, one of that size for each rank of a job.

SAMPLES is a folder with a trace of each rank of a small job. Its events are repeated as make_kineto.py does, and each
of the small job's ranks stands for as many ranks of the large one, with a rank, a process id and a file name of its own."""
import glob
import os
import re
import sys

from make_kineto import read_sample, repeat, times


def number(text, name, value):
    """The text with `value` for the number of the first member `name`."""
    return re.sub(rb'("%s": )\d+' % name, rb'\g<1>%d' % value, text, count=1)


def main():
    folder, output, ranks, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    samples = [read_sample(path) for path in sorted(glob.glob(os.path.join(folder, '*.json*')))]
    copies = max(1, round(megabytes * 1e6 / max(len(events) for _, events, _ in samples)))
    ends = [time for _, events, _ in samples for time in times(events)]
    span = max(ends) - min(ends) + 1000
    os.makedirs(output)
    for place, (head, events, tail) in enumerate(samples[:ranks]):
        parts = list(repeat(events, copies, span))
        pid = int(re.search(rb'"name": "process_name"[^}]*?"pid": (\d+)', events, re.DOTALL)[1])
        for rank in range(place, ranks, len(samples)):
            mine = str(pid + rank).encode()
            text = number(number(head, b'rank', rank), b'world_size', ranks)
            with open(os.path.join(output, f'rank{rank}.json'), 'wb') as out:
                for part in (text, *parts, tail):
                    out.write(part.replace(str(pid).encode(), mine))


if __name__ == '__main__':
    main()
