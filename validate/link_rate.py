"""What a link carries: each of two hosts sends to the other at once, as ranks of a ring do, and nothing else.

    link_rate.py OWN_ADDRESS PEER_ADDRESS PORT    one line: Mbit/s of what came
"""

import socket
import sys
import threading
import time

WARM_UP_S = 0.3  # until both ends send as much as they may
SECONDS = 1.0    # of sending, in all
CHUNK = bytes(1 << 18)


def send(peer, deadline):
    while time.monotonic() < deadline:
        peer.sendall(CHUNK)
    peer.shutdown(socket.SHUT_WR)


def receive(peer, began):
    """Mbit/s of what comes while both send at their full pace."""
    buffer = bytearray(len(CHUNK))
    first = last = None
    n_bytes = 0
    while n := peer.recv_into(buffer):
        now = time.monotonic()
        if first is None and now >= began + WARM_UP_S:
            first = now
        elif first is not None and now <= began + SECONDS:
            n_bytes += n
            last = now
    return 8e-6 * n_bytes / (last - first)


def connect(own, other, port):
    """The host of the lower address is called by the other one."""
    if own < other:
        with socket.create_server((own, port)) as server:
            return server.accept()[0]
    while True:
        try:
            return socket.create_connection((other, port), timeout=10)
        except ConnectionRefusedError:
            time.sleep(0.05)


def main():
    own, other, port = sys.argv[1:]
    with connect(own, other, int(port)) as peer:
        peer.settimeout(10)
        began = time.monotonic()
        sender = threading.Thread(target=send, args=(peer, began + SECONDS))
        sender.start()
        print(f"{receive(peer, began):.2f}")
        sender.join()


if __name__ == "__main__":
    main()
