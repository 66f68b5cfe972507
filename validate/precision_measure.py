#!/usr/bin/env python3
"""Measures plans of one model in one process, interleaved: precision_measure.py MODEL PLANS.json WHAT [--hook DIR] ...

WHAT is
  times     rounds, in each of which every plan trains for some steps, in an order that changes; a line of JSON a round: {plan: [ms]}
  memory    for each plan the bytes that the model's forward pass keeps for the backward pass, by storages: a line of JSON a plan
  harm      for each operation and precision, how the loss and the gradients of some batches change: a line of JSON each
  training  for each plan and seed the losses of a training: a line of JSON each

PLANS.json: {"names": [[module, kind, ordinal]], "plans": {name: [precision]}}. Operations compute as tacho's hook has them compute; it is
loaded before PyTorch is used, as in a job.
"""

import argparse
import json
import os
import random
import sys
import time

N_WARM_UP, N_TIMED = 1, 2


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("plans")
    parser.add_argument("what", choices=["times", "memory", "harm", "training"])
    parser.add_argument("--hook", required=True, help="folder with tacho_hook")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--first-round", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="begin nothing after this long")
    parser.add_argument("--batches", type=int, default=20, help="of harm")
    parser.add_argument("--steps", type=int, default=300, help="of a training")
    parser.add_argument("--seeds", type=int, default=3)
    return parser.parse_args()


class Chooser:
    """Has operations compute as the plan says that is set."""

    def __init__(self, names, plans, precision):
        self.names = [tuple(name) for name in names]
        self.plans = plans
        self.precision = precision
        self.now = {}

    def choose(self, scope, kind, ordinal):
        return self.now.get((scope.path, kind, ordinal), "fp32")

    def set(self, plan):
        self.now = dict(zip(self.names, plan))
        self.precision.choose_anew(self.choose)


def tell(row):
    print(json.dumps(row), flush=True)


def measure_times(arguments, chooser, models):
    import torch

    deadline = time.monotonic() + arguments.seconds if arguments.seconds else None
    training = models.Training(arguments.model)
    state = {name: value.clone() for name, value in training.model.state_dict().items()}
    longest = 0.0
    for number in range(arguments.first_round, arguments.rounds):
        begin = time.monotonic()
        if deadline and begin + longest > deadline:
            return
        rng = random.Random(f"round {number}")
        names = list(chooser.plans)
        rng.shuffle(names)
        times = {}
        for name in names:
            chooser.set(chooser.plans[name])
            training.model.load_state_dict(state)  # what was trained in few bits must not grow
            training.optimizer.state.clear()
            for _ in range(N_WARM_UP):
                training.step()
            times[name] = []
            for _ in range(N_TIMED):
                at = time.perf_counter_ns()
                training.step()
                times[name].append(round((time.perf_counter_ns() - at) / 1e6, 4))
        tell({"round": number, "times_ms": times, "threads": torch.get_num_threads()})
        longest = max(longest, time.monotonic() - begin)


def measure_memory(arguments, chooser, models):
    import torch

    training = models.Training(arguments.model)
    training.step()
    for name, plan in chooser.plans.items():
        chooser.set(plan)
        kept = {}
        parameters = {p.data_ptr() for p in (*training.model.parameters(), *training.model.buffers())}  # which are there anyway

        def pack(tensor):
            storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
            kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        x, _ = training.batches[0]
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            given = training.model(x)
        tell({"plan": name, "saved_bytes": sum(n for at, n in kept.items() if at not in parameters),
              "saved_bytes_with_parameters": sum(kept.values())})
        del given


def _gradients(training, x, wanted):
    training.optimizer.zero_grad(set_to_none=True)
    loss = training.loss(training.model(x), wanted)
    loss.backward()
    return loss.item(), [p.grad.detach().clone() for p in training.model.parameters() if p.grad is not None]


def measure_harm(arguments, chooser, models):
    training = models.Training(arguments.model, n_batches=arguments.batches)
    for _ in range(5):
        training.step()
    names = chooser.names
    chooser.set(["fp32"] * len(names))
    known = [_gradients(training, *batch) for batch in training.batches]
    for i, name in enumerate(names):
        for precision in ("bf16", "int8"):
            if precision == "int8" and name[1] != "linear":
                continue
            chooser.set([precision if j == i else "fp32" for j in range(len(names))])
            loss_change = gradient_change2 = 0.0
            for batch, (loss, gradients) in zip(training.batches, known):
                other_loss, others = _gradients(training, *batch)
                loss_change += abs(other_loss - loss) / arguments.batches
                gradient_change2 += sum((a - b).double().square().sum().item() for a, b in zip(others, gradients)) / arguments.batches
            tell({"module": name[0], "kind": name[1], "ordinal": name[2], "precision": precision,
                  "loss_change": loss_change, "gradient_change2": gradient_change2})


def measure_training(arguments, chooser, models):
    from tacho_hook import precision_scopes

    for seed in range(1, arguments.seeds + 1):
        for name, plan in chooser.plans.items():
            precision_scopes.forget()
            chooser.set(plan)
            training = models.Training(arguments.model, seed=seed, rate=1e-2)
            losses = [training.step() for _ in range(arguments.steps)]
            tell({"plan": name, "seed": seed, "steps": len(losses), "last_loss": sum(losses[-20:]) / len(losses[-20:])})


def main():
    arguments = parse_arguments()
    with open(arguments.plans, encoding="utf-8") as file:
        wanted = json.load(file)
    sys.path.insert(0, arguments.hook)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import torch
    from tacho_hook import precision

    chooser = Chooser(wanted["names"], wanted["plans"], precision)
    precision.start(torch, chooser.choose)
    torch.set_num_threads(1)
    import precision_models

    {"times": measure_times, "memory": measure_memory, "harm": measure_harm, "training": measure_training}[
        arguments.what](arguments, chooser, precision_models)


if __name__ == "__main__":
    main()
