#!/usr/bin/env bash
# --steps A:B records those steps and no others, and the run counts them from 0. Of control steps only
# their ends are in the run.
set -eu
python=/usr/bin/python3
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch for $python"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$TACHO" record -q --steps 2:4 -o some.tacho -- "$python" "$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 7 >/dev/null
"$TACHO" record -q -o all.tacho -- "$python" "$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 7 >/dev/null
count() { "$TACHO" info "$1" --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["steps"])'; }
[ "$(count some.tacho)" = 3 ] || { echo "some: $(count some.tacho) steps"; exit 1; }
[ "$(count all.tacho)" = 7 ] || { echo "all: $(count all.tacho) steps"; exit 1; }
numbers=$("$TACHO" report some.tacho --view step --steps 0:99 --json | "$python" -c 'import json, sys
print([row["step"] for row in json.load(sys.stdin)])')
[ "$numbers" = "[0, 1, 2]" ] || { echo "some: steps are numbered $numbers"; exit 1; }

"$TACHO" record -q --control 2 -o control.tacho -- "$python" "$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 13 >/dev/null
"$TACHO" info control.tacho --json | "$python" -c 'import json, sys
info = json.load(sys.stdin)
assert info["steps"] == 9 and info["control_steps"] == 4, info
assert info["record_excess_pct"] is not None and info["record_excess_error_pct"] > 0, info'
numbers=$("$TACHO" report control.tacho --view step --steps 0:99 --json | "$python" -c 'import json, sys
print([row["step"] for row in json.load(sys.stdin)])')
[ "$numbers" = "[0, 1, 2, 3, 6, 7, 8, 9, 12]" ] || { echo "control: steps are numbered $numbers"; exit 1; }
# operations, modules, kernels, memory: nothing begins between the end of step 3 and that of step 5
inside=$("$TACHO" query control.tacho --format csv "select
  (select count(*) from slice, (select max(ts + dur) as low from step where step = 3) as a,
          (select ts as high from mark where name = 'control_step' and first = 5) as b
   where slice.ts > a.low and slice.ts < b.high and slice.dur > 0) as n" | tail -1)
[ "$inside" = 0 ] || { echo "control: $inside slices in control steps"; exit 1; }
modules=$("$TACHO" query control.tacho --format csv "select count(*) from slice where category = 'module' and ts >
  (select ts from mark where name = 'control_step' and first = 5)" | tail -1)
[ "$modules" -gt 0 ] || { echo "control: no modules after control steps"; exit 1; }

# an optimizer that steps another one within its own step has one step, and so have control steps
"$TACHO" record -q -n 1 --control 2 -o nested.tacho -- "$python" \
	"$TACHO_SOURCE_DIR/validate/jobs/zero.py" --steps 13 --width 16 --batch 4 >/dev/null 2>&1
"$TACHO" info nested.tacho --json | "$python" -c 'import json, sys
info = json.load(sys.stdin)
assert info["steps"] == 9 and info["control_steps"] == 4, info'
