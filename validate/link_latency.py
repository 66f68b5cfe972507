"""What a message takes there and back: one of two hosts sends a header's bytes and waits for as many, the other one answers.

    link_latency.py OWN_ADDRESS PEER_ADDRESS PORT    one line of who has the lower address: ms, the median
"""

import socket
import statistics
import sys
import time

BYTES = 48  # a header of gloo's
N_TIMES = 200
UNCOUNTED = 20
PAUSE_S = 0.002  # nothing is under way when one begins


def exchange(peer, n_bytes=BYTES):
    while n_bytes > 0:
        n_bytes -= len(peer.recv(n_bytes)) or sys.exit("link_latency.py: the other end is gone")


def ask(peer):
    times_ms = []
    for _ in range(N_TIMES):
        begin = time.monotonic()
        peer.sendall(bytes(BYTES))
        exchange(peer)
        times_ms.append((time.monotonic() - begin) * 1000)
        time.sleep(PAUSE_S)
    return statistics.median(times_ms[UNCOUNTED:])


def connect(address, port):
    while True:
        try:
            return socket.create_connection((address, port), timeout=30)
        except ConnectionRefusedError:
            time.sleep(0.05)


def main():
    own, other, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if own < other:
        with connect(other, port) as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            print(ask(peer))
        return
    with socket.create_server((own, port)) as server:
        server.settimeout(30)
        with server.accept()[0] as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(N_TIMES):
                exchange(peer)
                peer.sendall(bytes(BYTES))


if __name__ == "__main__":
    main()
