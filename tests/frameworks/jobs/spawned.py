"""spawned.py JOB [ARGUMENT...]: two ranks of another job here, by multiprocessing's spawn."""

import multiprocessing
import os
import runpy
import socket
import sys

N_RANKS = 2


def run(rank, port, arguments):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(N_RANKS), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    sys.argv = arguments
    runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), arguments[0] + ".py"), run_name="__main__")


def main():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    spawn = multiprocessing.get_context("spawn")
    ranks = [spawn.Process(target=run, args=(rank, port, sys.argv[1:])) for rank in range(N_RANKS)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    sys.exit(any(rank.exitcode for rank in ranks))


if __name__ == "__main__":
    main()
