#!/usr/bin/env bash
# tacho optimize --verify on a real job of two ranks: it records, plans, measures in pairs and says what came of it; a job that
# fails, and Ctrl-C, leave nothing behind but the recording.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 TMPDIR=$work/tmp
mkdir "$TMPDIR"
cd "$work"
job=$TACHO_SOURCE_DIR/examples/ddp_train.py

status=0
"$TACHO" optimize --verify -n 2 --pairs 2 --tries 2000 --cost cost.json -r run.tacho -o plan.json --json -- \
	"$python" "$job" --model mlp --width 256 --steps 10 --batch 4 >found 2>said || status=$?
[ -d run.tacho ]
[ -z "$(ls "$TMPDIR")" ] || { echo "left behind: $(ls "$TMPDIR")"; exit 1; }
cat >check.py <<'END'
import json
import os
import sys

status = int(sys.argv[1])
said = open("said").read()
if "nothing was found" in said:  # no plan: nothing to measure
    assert status == 1 and not os.path.exists("plan.json") and not os.path.exists("cost.json"), said
    sys.exit()
found = json.load(open("found"))
low, high = found["measured_gain_interval_pct"]
assert len(found["pairs"]) == 2 and said.count("running the job with the plan") == 2, said
assert all(t > 0 for pair in found["pairs"] for t in pair.values())
assert low <= found["measured_gain_pct"] <= high
assert found["is_kept"] == (low > 0) == (status == 0) == os.path.exists("plan.json"), (found, status)
assert "rank 0: loss" not in open("found").read()  # what the job prints
loss = found["loss"]
if sys.argv[2] == "same":  # two ranks, other buckets: the order of two numbers that are added
    assert loss["is_equal"] and loss["passes"] == 10 and loss["difference_pct"] == 0 == loss["baseline_spread"], loss
    assert 1 < loss["baseline"] == loss["planned"] < 4, loss
else:
    assert not loss["is_equal"] and loss["passes"] == 10 and loss["baseline_spread"] > 0, loss
    assert abs(loss["difference_pct"] - 100 * (loss["planned"] / loss["baseline"] - 1)) < 1e-9, loss
    sys.exit()
if high - low > 20:  # two pairs on a busy machine tell nothing that could be learned from
    assert not os.path.exists("cost.json") and "not known well enough to learn from" in said, said
    sys.exit()
[kept] = json.load(open("cost.json"))["corrections"]  # for the next search
assert kept["device"] == "cpu" and kept["change"] and kept["pairs"] == 2, kept
assert abs(kept["predicted_gain_pct"] - found["predicted_gain_pct"]) < 1e-3, (kept, found)  # nothing was known before
assert abs(kept["measured_gain_pct"] - found["measured_gain_pct"]) < 1e-4
END
"$python" check.py $status same || { cat said found; exit 1; }
if [ -e cost.json ]; then # the next search goes by it
	"$TACHO" optimize run.tacho --tries 2000 --cost cost.json | grep -q "1 plan with .* was measured here before"
	"$TACHO" cost show cost.json | grep -q "Plans that were measured"
	! "$TACHO" optimize run.tacho --tries 2000 --cost none | grep -q "was measured here before" || exit 1
fi

# a job whose losses are others in each run
rm -rf plan.json
status=0
"$TACHO" optimize --verify -n 2 --pairs 2 --tries 2000 --cost none -r chance.tacho -o plan.json --json -- \
	sh -c 'exec "$@" --seed $$' sh "$python" "$job" --model mlp --width 256 --steps 10 --batch 4 >found 2>said || status=$?
"$python" check.py $status chance || { cat said found; exit 1; }
rm -rf plan.json

# a job that fails
status=0
"$TACHO" optimize --verify -r other.tacho -o other.json -- "$python" -c 'raise SystemExit(3)' >found 2>said || status=$?
[ $status = 2 ] && [ ! -s found ] && [ ! -e other.json ]
grep -q "the job failed while recording the job; nothing is changed" said

# a job that does not come to its end
status=0
"$TACHO" optimize --verify --run-limit 2s -r stuck.tacho -o stuck.json -- sleep 60 >found 2>said || status=$?
[ $status = 2 ] && [ ! -s found ] && [ ! -e stuck.json ]
grep -q "the job was ended after 2 s while recording the job" said

# Ctrl-C, as a terminal sends it: to all
status=0
setsid timeout --foreground -s INT 20 "$python" - "$TACHO" <<'END' || status=$?
import os
import signal
import subprocess
import sys
import time

signal.signal(signal.SIGINT, signal.SIG_DFL)
run = subprocess.Popen(
    [sys.argv[1], "optimize", "--verify", "-r", "third.tacho", "-o", "third.json", "--", "sleep", "60"],
    stderr=open("said", "w"), process_group=0)
time.sleep(2)
os.killpg(run.pid, signal.SIGINT)
assert run.wait() == 130, run.returncode
assert "interrupted; nothing is changed" in open("said").read()
assert not os.path.exists("third.json")
END
[ $status = 0 ] || { cat said; exit 1; }
[ -z "$(ls "$TMPDIR")" ] || { echo "left behind: $(ls "$TMPDIR")"; exit 1; }
