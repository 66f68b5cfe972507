#!/usr/bin/env bash
# A plan of precisions carried out: all in fp32, the losses are those of the job without it, to the last bit; any other plan has the losses of a job in
# which somebody wrote the casts by hand. A plan for another model, or an older one, ends the job before its first step.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
job="$TACHO_SOURCE_DIR/tests/support/precision_job.py"
cd "$work"

# write_plan FILE PRECISION...: of the job's operations in their order; FILE.hand has the same by names
cat >write_plan.py <<'END_OF_PLAN'
import json
import sys

NAMES = [("feed.up", "linear", 0), ("feed.down", "linear", 0), ("", "matmul", 0), ("", "matmul", 1), ("pictures", "conv1d", 0), ("", "linear", 0)]
path, precisions = sys.argv[1], sys.argv[2:]
changes = [dict(zip(("module", "kind", "ordinal"), name), precision=p) for name, p in zip(NAMES, precisions)]
json.dump({"tacho_plan": 1, "job": {"ranks": 1, "gradients": []}, "changes": {"precision": changes}}, open(path, "w"))
json.dump({"%s %s %d" % name: p for name, p in zip(NAMES, precisions)}, open(path + ".hand", "w"))
END_OF_PLAN
write_plan() { "$python" write_plan.py "$@"; }

"$python" "$job" >plain
# same PRECISION...: the losses are those of the job by hand, and tacho says that it was done
same()
{
	write_plan plan.json "$@"
	"$python" "$job" by-hand plan.json.hand >hand
	"$TACHO" apply plan.json -- "$python" "$job" >out 2>said
	cmp hand out || { echo "$*: other losses"; paste hand out; exit 1; }
	grep -q "the job ran with the precision of" said || { echo "$*:"; cat said; exit 1; }
}
same fp32 fp32 fp32 fp32 fp32 fp32
cmp plain out
same bf16 bf16 bf16 bf16 bf16 bf16
! cmp -s plain out || exit 1
same bf16 fp32 fp32 bf16 fp32 bf16
same int8 bf16 fp32 fp32 bf16 int8
same fp32 int8 bf16 fp32 fp32 bf16
# what a plan does not name is in fp32
same bf16
# a rank does what the plan says for it: here it is rank 0, and then rank 1's precisions are nothing to it
for_ranks()
{
	"$python" - "$@" <<'END'
import json
import sys

names = [("feed.up", "linear", 0), ("", "matmul", 1)]
both = [dict(zip(("module", "kind", "ordinal"), name), precision=precision, ranks=[rank, rank])
        for rank, precision in enumerate(sys.argv[1:]) for name in names]
json.dump({"tacho_plan": 1, "job": {"ranks": 2, "gradients": []}, "changes": {"precision": both}}, open("ranks.json", "w"))
json.dump({"%s %s %d" % name: sys.argv[1] for name in names}, open("ranks.hand", "w"))
END
	RANK=0 WORLD_SIZE=2 "$TACHO" apply -q ranks.json -- "$python" "$job" >out
}
for_ranks fp32 bf16
cmp plain out
for_ranks bf16 fp32
"$python" "$job" by-hand ranks.hand | cmp - out
! cmp -s plain out || exit 1
# recorded, too; the run says that a plan was carried out
write_plan plan.json bf16 bf16 fp32 fp32 fp32 fp32
"$TACHO" apply -q plan.json -- "$TACHO" record -q -o planned.tacho -- "$python" "$job" >out
"$python" "$job" by-hand plan.json.hand | cmp - out
grep -q '"precision": "plan"' planned.tacho/precision.json

# refused WORDS: no step was made
refused()
{
	local status=0

	"$TACHO" apply edited.json -- "$python" "$job" "${@:2}" >out 2>said || status=$?
	[ $status != 0 ] || { echo "not refused: $1"; exit 1; }
	[ ! -s out ] || { echo "$1: the job made steps"; exit 1; }
	grep -q -- "$1" said || { echo "no '$1' in:"; cat said; exit 1; }
}
edit() { sed "$1" plan.json >edited.json; }
edit 's/"feed.up"/"feed.upper"/'
refused "it has a module 'feed.upper', and this one does not"
edit 's/"module": "feed.up", "kind": "linear", "ordinal": 0/"module": "feed.up", "kind": "linear", "ordinal": 1/'
refused "linear 1 of module 'feed.up' did not run"
edit 's/"kind": "conv1d"/"kind": "conv2d"/'
refused "conv2d 0 of module 'pictures' did not run"
edit 's/"ordinal": 1, "precision": "fp32"/"ordinal": 1, "precision": "int8"/'
refused "int8 is not for operations of the kind matmul"
edit 's/"ranks": 1/"ranks": 2/'
refused "is for 2 ranks, and the job has 1"
edit 's/"gradients": \[\]/"gradients": [[1024, "float32"]]/'
refused "is for another model: gradients differ"
edit 's/^//'
refused "the job chooses precisions itself (autocast)" autocast
# the job's Python is asked before the job begins
if ! "$python" -c 'import torch; torch.ones(2, 2).half() @ torch.ones(2, 2).half()' 2>/dev/null; then
	edit 's/bf16/fp16/'
	refused "cannot carry it out: precision: PyTorch .*fp16"
fi
# a plan and a precision of all are two wills
status=0
"$TACHO" apply plan.json -- "$TACHO" record -q --precision bf16 -o both -- "$python" "$job" >out 2>said || status=$?
[ $status = 2 ] && grep -q "leave one of them out" said

# two ranks with DistributedDataParallel
sed 's/"ranks": 1/"ranks": 2/' plan.json >two.json
"$TACHO" apply -n 2 two.json -- "$python" "$job" ddp >out 2>said
grep -q "the job ran with the precision of" said
[ "$(wc -l <out)" = 6 ]
