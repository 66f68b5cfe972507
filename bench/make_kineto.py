#!/usr/bin/env python3
"""make_kineto.py SAMPLE OUTPUT GIGABYTES: a Kineto trace of that size, by repeating a real one's events.

Each copy is shifted in time by the length of the sample, and its ids (correlation, external and record function
ids, sequence numbers, flows, steps) by as much as the sample uses, so that the copies are as many steps of one job."""
import gzip
import re
import sys

IDS = re.compile(
    rb'("(?:correlation|External id|external id|Record function id|Sequence number|Ev Idx|Python id|'
    rb'Python parent id|id)": )(\d+)|("ts": )(\d+)((?:\.\d+)?)|(ProfilerStep#)(\d+)')

LAST = re.compile(rb'\}\s*\]\s*(?:,\s*"\w+":|\})')  # the end of the list of events


def shift(text, ids, microseconds, steps):
    def replace(match):
        if match[1]:
            return match[1] + str(int(match[2]) + ids).encode()
        if match[3]:
            return match[3] + str(int(match[4]) + microseconds).encode() + match[5]
        return match[6] + str(int(match[7]) + steps).encode()
    return IDS.sub(replace, text)


def read_sample(path):
    """What stands before the list of events, the events, and what stands behind."""
    with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as file:
        text = file.read()
    begin = text.index(b'"traceEvents": [') + len(b'"traceEvents": [')
    end = list(LAST.finditer(text, begin))[-1].start() + 1
    return text[:begin], text[begin:end], text[end:]


def times(events):
    return [int(t) for t in re.findall(rb'"ts": (\d+)', events)]


def repeat(events, copies, span):
    """Copies of the events, each later than the one before by `span` microseconds."""
    ids = max(n for n in (int(match[2]) for match in IDS.finditer(events) if match[1]) if n < 1 << 40) + 1
    for copy in range(copies):
        yield (b',' if copy else b'') + shift(events, copy * ids, copy * span, copy)


def main():
    sample, output, gigabytes = sys.argv[1], sys.argv[2], float(sys.argv[3])
    head, events, tail = read_sample(sample)
    copies = max(1, int(gigabytes * 1e9 / len(events)))
    span = max(times(events)) - min(times(events)) + 1000
    with open(output, 'wb') as out:
        out.write(head)
        for part in repeat(events, copies, span):
            out.write(part)
        out.write(tail)
    print(f'{copies} copies of {len(events)} bytes')


if __name__ == '__main__':
    main()
