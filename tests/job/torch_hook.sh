#!/usr/bin/env bash
# The Python hook is a guest: the job's own sitecustomize runs, sys.path and tracebacks are as without
# it, nothing is imported for a job without PyTorch; a module left by an exception does not swallow
# what comes after it; data-loader workers fork.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1

# same_as_plain JOB: stdout, stderr and exit code of the job are the same under tacho
same_as_plain()
{
	local plain=0 recorded=0

	"$python" "$1" >"$work/plain.out" 2>"$work/plain.err" || plain=$?
	"$TACHO" record -q -o "$work/run" --force -- "$python" "$1" \
		>"$work/recorded.out" 2>"$work/recorded.err" || recorded=$?
	[ "$plain" = "$recorded" ] || { echo "$1: exit $plain, under tacho $recorded"; exit 1; }
	diff "$work/plain.out" "$work/recorded.out"
	# PyTorch's own frame that calls forward shows its other line when there are hooks
	for run in plain recorded; do
		sed -i '/module.py", line [0-9]*, in _call_impl$/,+2d' "$work/$run.err"
	done
	diff "$work/plain.err" "$work/recorded.err"
}

mkdir "$work/site"
echo 'import sys; print("the site speaks"); sys.from_site = 1' >"$work/site/sitecustomize.py"
cat >"$work/paths.py" <<'END'
import sys
print(sys.path)
print(sorted(m for m in sys.modules if m.startswith(("tacho", "torch", "ctypes"))))
print(getattr(sys, "from_site", 0), sys.modules["sitecustomize"].__file__)
END
same_as_plain "$work/paths.py"
PYTHONPATH="$work/site" same_as_plain "$work/paths.py"
grep -q "the site speaks" "$work/recorded.out"
echo 'raise ValueError("a broken site")' >"$work/site/sitecustomize.py"
PYTHONPATH="$work/site" "$TACHO" record -q -o "$work/run" --force -- "$python" -c 'print("alive")' \
	>"$work/recorded.out" 2>"$work/recorded.err"
grep -q alive "$work/recorded.out" && grep -q "a broken site" "$work/recorded.err"

cat >"$work/throws.py" <<'END'
import torch

class Inner(torch.nn.Module):
    def forward(self, x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x * 2

class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.after = torch.nn.Linear(3, 3)

    def forward(self, x):
        try:
            x = self.inner(x)
        except ValueError:
            pass
        return self.after(x)

outer = Outer()
outer(torch.ones(3))
outer(-torch.ones(3))
for _ in range(2):
    try:
        outer.inner(-torch.ones(3))
    except ValueError:
        pass
outer(torch.ones(3))
print("done")
outer.inner(-torch.ones(3))
END
same_as_plain "$work/throws.py"
grep -q "ValueError: negative" "$work/recorded.err"
cat >"$work/check.py" <<'END'
import sys
from records import named, read

records = read(sys.argv[1])
outers, afters = named(records, "Outer"), named(records, "Outer.after (Linear)")
inners = named(records, "Outer.inner (Inner)")
assert (len(outers), len(afters), len(inners)) == (3, 3, 6), (len(outers), len(afters), len(inners))
for outer, after in zip(outers, afters):
    assert outer.begin_ns <= after.begin_ns and after.end_ns <= outer.end_ns
for inner, after in zip(inners[:2], afters[:2]):
    assert inner.end_ns <= after.begin_ns, "the module that was left was still open"
for inner, following in zip(inners[2:4], inners[3:4] + outers[2:]):
    assert inner.end_ns <= following.begin_ns
END
PYTHONPATH="$TACHO_SOURCE_DIR/tests/support" "$python" "$work/check.py" "$work/run"

cat >"$work/loads.py" <<'END'
import torch

class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.ones(5) * index * index

net = torch.nn.Linear(5, 1)
for batch in torch.utils.data.DataLoader(Squares(), batch_size=8, num_workers=2):
    print(batch[:, 0].tolist(), net(batch).shape)
END
same_as_plain "$work/loads.py"
cat >"$work/check.py" <<'END'
import sys
from records import named, read

records = read(sys.argv[1])
waits = named(records, "DataLoader workers")
assert len(waits) == 6, len(waits)  # the sixth finds the end
workers = {r.tid for r in named(records, "aten::ones")} - {waits[0].tid}
assert len(workers) == 2, workers
assert len(named(records, "aten::ones")) == 40
assert len(named(records, "Linear")) == 5
END
PYTHONPATH="$TACHO_SOURCE_DIR/tests/support" "$python" "$work/check.py" "$work/run"
