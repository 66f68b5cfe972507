# How far the model is off, by the arithmetic of validate/model_error.py on made-up figures; and the table in the source is what the
# script makes of what was measured.
cd "$TACHO_SOURCE_DIR" && PYTHONDONTWRITEBYTECODE=1 python3 - <<'END'
import math
import sys

sys.path.insert(0, "validate")
import model_error


class Kind:
    def __init__(self, name, is_aside=False):
        self.name = name
        self.is_aside = is_aside


def case(kind, score):
    one = model_error.Case.__new__(model_error.Case)
    one.kind, one.score, one.changed = kind, score, "ACCURACY_SAME"
    return one


def show(what, value):
    print(f"{what}: {value:.4f}")


# what lies within the bounds of the spread needs no error; beyond them what is missing, by squares; the error that is in the bounds
# is taken out first
show("within", model_error.score(100, [90, 110], 0, 109))
show("above", model_error.score(100, [90, 110], 0, 120) - math.sqrt(math.log(1.2) ** 2 - math.log(1.1) ** 2))
show("below", model_error.score(100, [90, 110], 0, 80) - math.sqrt(math.log(0.8) ** 2 - math.log(0.9) ** 2))
show("all of the bounds is error", model_error.score(100, [100 / 1.1, 110], math.log(1.1), 120) - math.log(1.2))

# of 19 kinds nine in ten of 20 are the 18 lowest, of 9 all; a kind with many cases counts no more than one with one
kinds = [Kind(f"k{i}") for i in range(19)]
show("19 kinds", model_error.fit([case(kind, i + 1) for i, kind in enumerate(kinds)]))
show("9 kinds", model_error.fit([case(kind, i + 1) for i, kind in enumerate(kinds[:9])]))
show("one of many", model_error.fit([case(kind, i + 1) for i, kind in enumerate(kinds)] + [case(kinds[18], 19)] * 500))

# left out, the worst kind is not held by what the others say, and each other one is by what it says
held = model_error.held_left_out([case(kind, i + 1) for i, kind in enumerate(kinds[:9])])
print("left out:", len(held), "of 9,", "k8" not in {one.kind.name for one in held})
row = model_error.Row("ACCURACY_SAME", [case(Kind(f"k{i}", i < 4), 0.1) for i in range(9)])
print(row.line(), end="")
print("\n".join(model_error.markdown([row])[2:]))
END
PYTHONDONTWRITEBYTECODE=1 validate/model_error.py >/dev/null
echo "exit $?"
