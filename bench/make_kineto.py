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


def main():
    sample, output, gigabytes = sys.argv[1], sys.argv[2], float(sys.argv[3])
    text = (gzip.open if sample.endswith('.gz') else open)(sample, 'rb').read()
    begin = text.index(b'"traceEvents": [') + len(b'"traceEvents": [')
    end = list(LAST.finditer(text, begin))[-1].start() + 1
    head, events, tail = text[:begin], text[begin:end], text[end:]
    times = [int(t) for t in re.findall(rb'"ts": (\d+)', events)]
    numbers = [int(match[2]) for match in IDS.finditer(events) if match[1]]
    copies = max(1, int(gigabytes * 1e9 / len(events)))
    span, ids = max(times) - min(times) + 1000, max(n for n in numbers if n < 1 << 40) + 1
    with open(output, 'wb') as out:
        out.write(head)
        for copy in range(copies):
            out.write(b',' if copy else b'')
            out.write(shift(events, copy * ids, copy * span, copy))
        out.write(tail)
    print(f'{copies} copies of {len(events)} bytes')


if __name__ == '__main__':
    main()
