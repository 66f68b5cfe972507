#!/usr/bin/env python3
"""Trains one of the models of precision_models.py: precision_job.py MODEL [--steps N] [--seed S] [--times]"""

import argparse
import json
import time

import torch

from precision_models import MODELS, SEED, Training


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--times", action="store_true", help="print ns of each step, and its loss, as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    training = Training(arguments.model, arguments.seed)
    rows = []
    for _ in range(arguments.steps):
        begin = time.perf_counter_ns()
        loss = training.step()
        rows.append({"ns": time.perf_counter_ns() - begin, "loss": loss})
    if arguments.times:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
