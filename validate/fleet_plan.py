#!/usr/bin/env python3
"""What 10,000 ranks would keep, send and drop: the figures of docs/fleet.md, by a simulation of the plan that stands there.

    validate/fleet_plan.py            the table, the same each time

Hosts of eight ranks train in step. Each host writes its records to its own disk, of which the flight recorder keeps the newest; each
second it puts a row for each of its steps into a queue, which goes over a link for such data to the relay of its rack; a relay sends the root one
row for each step of its rack. Links and relays fail for a while. A rank becomes slow, and a rank stops. Nothing here is measured: bytes of
records and rows are those of the formats, rates are assumptions, named below.
"""

import heapq
import random
import statistics

RANKS_A_HOST = 8
HOSTS_A_RACK = 32
RECORD_BYTES = 64  # on average, over operations with and without tensors, kernels and messages (docs/trace-format.md)
ROW_BYTES = 64  # a rank's step: number, times, four parts, memory
SUMMARY_BYTES = 512  # a rack's step: least, median, most of each part, the three slowest ranks with theirs
SERIES_A_RANK, SERIES_A_JOB, SERIES_BYTES = 5, 14, 90  # of /metrics (docs/live.md)
SCRAPE_S = 15
QUEUE_BYTES = 1 << 20  # of a host: then the oldest rows go
LINK_BYTES_A_S = 125_000  # for this, of a host: 1 Mbit/s
OUTAGE_S = 30  # of a link or a relay
OUTAGES_A_DAY = 4  # of each
JITTER = 0.02  # of a rank's own time, as a share
NAMED_AFTER = 15  # of 17 steps, as docs/live.md has it
STILL_S = 4  # without a step, and ten of them
KEPT_STEPS = 20
FILE_BYTES = 4 << 20  # of a thread: what is older goes by the file

JOBS = {  # step s, events a rank and step
    "large model, 2 s steps": (2.0, 120_000),
    "small steps, 0.25 s": (0.25, 14_000),
}


def outages(random_source, seconds):
    """[(from, to)] of one link or relay; at most some."""
    at, found = 0.0, []
    while True:
        at += random_source.expovariate(OUTAGES_A_DAY / 86400)
        if at > seconds:
            return found
        found.append((at, at + OUTAGE_S))
        at += OUTAGE_S


def delivered(at, gaps):
    """When what is ready then comes through."""
    for begin, end in gaps:
        if begin <= at < end:
            at = end
    return at


class Host:
    """Its queue: rows wait for the second, for the link, and for the end of an outage."""

    def __init__(self, gaps):
        self.gaps = gaps
        self.free_at = 0.0  # when the link has sent what it was given
        self.most_waiting = 0
        self.n_dropped = 0

    def send(self, at):
        """A step's rows that are there then: when the relay has them, or None."""
        size = ROW_BYTES * RANKS_A_HOST
        begin = max(int(at) + 1.0, self.free_at)
        waiting = (max(delivered(begin, self.gaps), begin) - at) / max(self.step_s, 1e-9) * size
        self.most_waiting = max(self.most_waiting, waiting)
        if waiting > QUEUE_BYTES:
            self.n_dropped += RANKS_A_HOST
            return None
        self.free_at = delivered(begin, self.gaps) + size / LINK_BYTES_A_S
        return self.free_at


def simulate(n_ranks, step_s, seconds, seed):
    source = random.Random(seed)
    n_hosts = -(-n_ranks // RANKS_A_HOST)
    hosts = [Host(outages(source, seconds)) for _ in range(n_hosts)]
    racks = [outages(source, seconds) for _ in range(-(-n_hosts // HOSTS_A_RACK))]
    n_steps = int(seconds / step_s)
    slow_from, stopped_at = n_steps // 2, n_steps - 1
    delays, seen_slow, at = [], [], 0.0
    for host in hosts:
        host.step_s = step_s
    for step in range(n_steps):
        # all wait for the last: the step takes what the slowest of all ranks does
        slowest = heapq.nlargest(1, (source.gauss(1, JITTER) for _ in range(n_ranks)))[0]
        at += step_s * max(slowest, 1.35 if step >= slow_from else 0)
        known = 0.0
        for rack, gaps in enumerate(racks):
            came = [hosts[i].send(at) for i in range(rack * HOSTS_A_RACK, min((rack + 1) * HOSTS_A_RACK, n_hosts))]
            # the relay gives a host a second more, then sends what it has
            there = [time for time in came if time is not None and time <= at + 3]
            rack_at = max(there, default=at + 3)
            known = max(known, delivered(rack_at, gaps))
        delays.append(known - at)
        if step >= slow_from:
            seen_slow.append(known)
    slow_at = seen_slow[0] - delays[slow_from]
    named = seen_slow[min(NAMED_AFTER, len(seen_slow) - 1)] - slow_at
    still = max(STILL_S, 10 * step_s)
    hang = [still + delivered(at + still, racks[source.randrange(len(racks))]) - (at + still) + source.uniform(1, 3) for _ in range(200)]
    return {"hosts": n_hosts, "racks": len(racks), "delay": delays, "named": named, "hang": hang, "stopped_at": stopped_at,
            "dropped": sum(host.n_dropped for host in hosts), "rows": n_steps * n_ranks,
            "waiting": max(host.most_waiting for host in hosts)}


def size(n_bytes):
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n_bytes < 1000 or unit == "TB":
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000


def main():
    print("| | " + " | ".join(f"{name}, {n_ranks:,} ranks" for name in JOBS for n_ranks in (1_000, 10_000)) + " |")
    print("|---|" + "---|" * (2 * len(JOBS)))
    rows = {}
    for step_s, n_events in JOBS.values():
        for n_ranks in (1_000, 10_000):
            result = simulate(n_ranks, step_s, 600, 1)
            rate = n_events * RECORD_BYTES / step_s
            host_rows = ROW_BYTES * RANKS_A_HOST / step_s
            figures = {
                "recorded, a rank": f"{size(rate)}/s",
                "written, a host": f"{size(rate * RANKS_A_HOST)}/s",
                f"kept, a host: the last {KEPT_STEPS} steps": size(n_events * RECORD_BYTES * RANKS_A_HOST * KEPT_STEPS),
                "kept, a host: with two files a thread, four threads a rank": size(
                    n_events * RECORD_BYTES * RANKS_A_HOST * KEPT_STEPS + RANKS_A_HOST * 4 * 2 * FILE_BYTES),
                "all of an hour, all hosts (not kept)": size(rate * n_ranks * 3600),
                "sent, a host to its relay": f"{size(host_rows)}/s",
                "received, a relay": f"{size(host_rows * HOSTS_A_RACK)}/s",
                "received, the root": f"{size(SUMMARY_BYTES * result['racks'] / step_s)}/s",
                "series of Prometheus, all": f"{n_ranks * SERIES_A_RANK + result['hosts'] * SERIES_A_JOB:,}",
                "scraped by Prometheus": f"{size((n_ranks * SERIES_A_RANK + result['hosts'] * SERIES_A_JOB) * SERIES_BYTES / SCRAPE_S)}/s",
                "a dump of 16 ranks whole": size(n_events * RECORD_BYTES * KEPT_STEPS * 16),
                "a dump of all ranks whole": size(n_events * RECORD_BYTES * KEPT_STEPS * n_ranks),
                "a step is known at the root: median, 99 %": "{:.1f} s, {:.1f} s".format(
                    statistics.median(result["delay"]), statistics.quantiles(result["delay"], n=100)[98]),
                "a slow rank is named after": f"{result['named']:.0f} s",
                "a stopped rank is named after: median, 99 %": "{:.0f} s, {:.0f} s".format(
                    statistics.median(result["hang"]), statistics.quantiles(result["hang"], n=100)[98]),
                "rows that waited at most, a host": size(result["waiting"]),
                "rows dropped": f"{result['dropped']:,} of {result['rows']:,}",
            }
            for name, figure in figures.items():
                rows.setdefault(name, []).append(figure)
    for name, figures in rows.items():
        print(f"| {name} | " + " | ".join(figures) + " |")


if __name__ == "__main__":
    main()
