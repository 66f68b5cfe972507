#!/usr/bin/env python3
"""What a latency adds to all-reduces of gloo between two hosts that do nothing else, beside what the replay's model says of one.

    allreduce_latency.py [--python PYTHON]           a table in Markdown
    allreduce_latency.py rank RANK ADDRESS PORT      what each host runs

Root is needed, for network namespaces. About two minutes, in which nothing else should run.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

RATES_MBIT = (250, 500, 1000)
LATENCY_MS = 2
MB = 1 << 20
# MB of the all-reduces that are queued one after the other at once
QUEUED = ([0.001], [1], [4], [8], [12], [1, 1], [4, 4], [1, 8])
N_TIMES, UNCOUNTED = 9, 2
SEGMENT_MB = 1  # gloo/allreduce.cc: at most, and at least two for each rank's chunk


def run_rank(rank, address, port):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=int(rank), world_size=2)
    for sizes in QUEUED:
        tensors = [torch.zeros(int(size * MB) // 4) for size in sizes]
        times_ms = []
        for _ in range(N_TIMES):
            dist.all_reduce(torch.zeros(1))  # both begin together
            begin = time.perf_counter()
            for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
                work.wait()
            times_ms.append((time.perf_counter() - begin) * 1000)
        if rank == "0":
            print(json.dumps(statistics.median(times_ms[UNCOUNTED:])), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def measure(hosts, network, python, port):
    ranks = [subprocess.Popen(network.command(host, hosts.core_of(host), {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": hosts.DEVICE},
                                              [python, os.path.abspath(__file__), "rank", str(host), hosts.address(0), str(port)],
                                              hosts.FIRST), stdout=subprocess.PIPE, text=True) for host in range(2)]
    said = [rank.communicate(timeout=300)[0] for rank in ranks]
    return [float(line) for line in said[0].splitlines()]


def waits_of(size_mb):
    """How often one alone waits for the latency between two ranks: once a segment (docs/replay.md)."""
    return 2 * max(2, math.ceil(size_mb / 2 / SEGMENT_MB))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has PyTorch")
    arguments = parser.parse_args()
    import hosts
    from validate import EXIT_SKIPPED, build_relay

    reason = hosts.why_not()
    if reason:
        print(f"allreduce_latency.py: {reason}", file=sys.stderr)
        return EXIT_SKIPPED
    added = {}
    with tempfile.TemporaryDirectory() as folder, hosts.Hosts(build_relay(folder), 2) as network:
        for number, rate in enumerate(RATES_MBIT):
            of_latency = []
            for latency_ms in (0, LATENCY_MS):
                network.connect(rate, latency_ms)
                of_latency.append(measure(hosts, network, arguments.python, 21000 + 2 * number + (latency_ms > 0)))
                network.disconnect()
            added[rate] = [after - before for before, after in zip(*of_latency)]
    waits_ms = statistics.fmean(added[rate][0] for rate in RATES_MBIT) / waits_of(QUEUED[0][0])
    print(f"| MB | one alone: waits of {waits_ms:.2f} ms | " + " | ".join(f"{rate} Mbit/s" for rate in RATES_MBIT) + " |")
    print("|---" * (2 + len(RATES_MBIT)) + "|")
    for i, sizes in enumerate(QUEUED):
        model = f"{waits_of(sizes[0])}: {waits_of(sizes[0]) * waits_ms:.1f}" if len(sizes) == 1 else ""
        print(f"| {' and '.join(f'{size:g}' for size in sizes)} | {model} | " + " | ".join(f"{added[rate][i]:+.1f}" for rate in RATES_MBIT) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(run_rank(*sys.argv[2:]) if sys.argv[1:2] == ["rank"] else main())
