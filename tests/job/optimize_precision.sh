#!/usr/bin/env bash
# tacho optimize --allow precision: the plan that tacho precision finds is ranked by the gain that it tells, written, and carried out; with
# --verify the job is recorded in both precisions for it.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 TMPDIR=$work/tmp
mkdir "$TMPDIR"
cd "$work"
job=$TACHO_SOURCE_DIR/tests/support/precision_job.py

"$TACHO" record -q -o base.tacho -- "$python" "$job" steps 12 >/dev/null
for precision in fp32 bf16; do
	"$TACHO" record -q --precision $precision -o $precision.tacho -- "$python" "$job" steps 12 >/dev/null
done
# ranked by what tacho precision says of it (whether it gains depends on the machine)
"$TACHO" precision plan fp32.tacho bf16.tacho --json >told.json
optimize() { "$TACHO" optimize base.tacho --tries 1 --cost none --allow precision "$@"; }
optimize --precision-run fp32.tacho --precision-run bf16.tacho --json -a >ranked.json
"$python" - <<'END'
import json
told, ranked = json.load(open("told.json")), json.load(open("ranked.json"))
[row] = [row for row in ranked["tried"] if row["what_if"].startswith("operations in precisions")]
ratio = told["predicted_step_ms"] / told["recorded_step_ms"]
assert abs(row["predicted_step_ms"] / ranked["baseline_step_ms"] - ratio) < 1e-3, (row, ratio)
END

# another job's precisions, and options that miss something
"$TACHO" record -q -n 2 --precision fp32 -o two.tacho -- "$python" "$job" ddp steps 8 >/dev/null
no() { local status=0; optimize "$@" >out 2>&1 || status=$?; [ $status = 2 ] || { echo "exit $status of: $*"; cat out; exit 1; }; }
no --precision-run two.tacho
grep -q "are of 2 ranks, and the run is of 1" out
no --precision-run base.tacho
no --precision-run fp32.tacho --casts missing.json

# the loop: recorded three times, and measured if there is a plan
status=0
"$TACHO" optimize --verify -n 2 --pairs 2 --tries 1 --cost none --allow precision --passes workers -r loop.tacho -o found.json -- \
	"$python" "$job" ddp steps 14 >out 2>said || status=$?
[ $status -le 1 ] || { cat said; exit 1; }
[ -d loop.tacho ] && [ -d loop.tacho.fp32 ] && [ -d loop.tacho.bf16 ]
grep -q "recording the job in bf16" said
grep -q "nothing was found\|running the job with the plan" said
[ -z "$(ls "$TMPDIR")" ] || { echo "left behind: $(ls "$TMPDIR")"; exit 1; }
