"""The plans that are tried on a model: uniform ones, regular ones and random ones, from a seed. Nothing is tuned on them."""

import hashlib
import json
import random

N_RANDOM = 16
REFERENCE = "fp32"


def chosen(run):
    """Operations of precision.json that a plan can choose for: (module, kind, ordinal), allowed precisions."""
    return [((o["module"], o["kind"], o["ordinal"]), [p for p in o["allowed"] if p in ("fp32", "bf16", "int8")])
            for o in run["operations"] if o["rule"] == "chosen"]


def _plan(operations, wanted):
    """`wanted(i)` of each operation, or fp32 where it cannot have that."""
    plan = []
    for i, (name, allowed) in enumerate(operations):
        precision = wanted(i)
        plan.append(precision if precision in allowed else REFERENCE)
    return plan


def plans_of(model, run):
    """{name: [precision of each operation]}, 25 of them."""
    operations = chosen(run)
    n = len(operations)
    products = [i for i, (name, _) in enumerate(operations) if name[1] == "linear"]
    largest = max(range(n), key=lambda i: _work(run, operations[i][0]))
    plans = {
        "fp32": _plan(operations, lambda i: "fp32"),
        "bf16": _plan(operations, lambda i: "bf16"),
        "int8": _plan(operations, lambda i: "int8"),
        "first half bf16": _plan(operations, lambda i: "bf16" if i < n // 2 else "fp32"),
        "second half bf16": _plan(operations, lambda i: "fp32" if i < n // 2 else "bf16"),
        "alternating": _plan(operations, lambda i: "bf16" if i % 2 else "fp32"),
        "one only": _plan(operations, lambda i: "bf16" if i == largest else "fp32"),
        "all but one": _plan(operations, lambda i: "fp32" if i == largest else "bf16"),
        "linears only" if len(products) < n else "alternating int8":
            _plan(operations, lambda i: ("bf16" if i in products else "fp32") if len(products) < n
                  else ("int8" if i % 2 else "bf16")),
    }
    for number in range(N_RANDOM):
        rng = random.Random(f"{model} {number}")
        plans[f"random {number}"] = [rng.choice(allowed) for _, allowed in operations]
    return plans


def _work(run, name):
    for o in run["operations"]:
        if (o["module"], o["kind"], o["ordinal"]) == name:
            return o["elements_out"] * max(1, o["weight"])
    return 0


def plan_file(run, plan, n_ranks=1):
    """The plan as docs/plan.md has it."""
    return {"tacho_plan": 1, "job": {"ranks": n_ranks, "gradients": []},
            "changes": {"precision": [{"module": module, "kind": kind, "ordinal": ordinal, "precision": precision}
                                      for ((module, kind, ordinal), _), precision in zip(chosen(run), plan)]}}


def digest(plan):
    return hashlib.sha256(json.dumps(plan).encode()).hexdigest()[:16]
