#!/usr/bin/env bash
# A job recorded in one precision: in fp32 its losses are those of the job, to the last bit; in bf16 and int8 those of a job in which somebody wrote
# the casts by hand. The run says which operations there are, the same in every precision, and which reads what which has made.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
job="$TACHO_SOURCE_DIR/tests/support/precision_job.py"
cd "$work"

"$python" "$job" >plain
[ "$(wc -l <plain)" = 6 ]
"$python" "$job" by-hand fp32 >hand.fp32
cmp plain hand.fp32
for precision in fp32 bf16 int8; do
	"$python" "$job" by-hand $precision >hand.$precision
	"$TACHO" record -q --precision $precision -o $precision.tacho -- "$python" "$job" >out.$precision
	cmp hand.$precision out.$precision || { echo "$precision: other losses"; paste hand.$precision out.$precision; exit 1; }
done
! cmp -s out.fp32 out.bf16 && ! cmp -s out.fp32 out.int8 && ! cmp -s out.bf16 out.int8 || exit 1

cat >check.py <<'END_OF_CHECK'
import json

runs = {p: json.load(open(p + ".tacho/precision.json")) for p in ("fp32", "bf16", "int8")}
for precision, run in runs.items():
    assert run["tacho_precision_run"] == 1 and run["precision"] == precision, run
    assert run["operations"] == runs["fp32"]["operations"], precision
    assert run["roots"] == [{"name": "", "kind": "Net"}], run["roots"]
run = runs["fp32"]
flags = open("/proc/cpuinfo").read().split()
for feature in ("avx512_bf16", "amx_bf16", "avx512_vnni"):
    assert (feature in run["processor_features"]) == (feature in flags), run["processor_features"]
names = [(o["module"], o["kind"], o["ordinal"]) for o in run["operations"]]
assert len(names) == len(set(names)), names
place = {name: i for i, name in enumerate(names)}
matrix = [name for name, o in zip(names, run["operations"]) if o["rule"] == "chosen"]
assert matrix == [("feed.up", "linear", 0), ("feed.down", "linear", 0), ("", "matmul", 0), ("", "matmul", 1),
                  ("pictures", "conv1d", 0), ("", "linear", 0)], matrix

def inputs(module, kind, ordinal=0):
    o = run["operations"][place[module, kind, ordinal]]
    return [(names[i], n) for i, n in o["inputs"]]

n = 4 * 8 * 16  # numbers in an activation
words, norm = ("words", "embedding", 0), ("norm", "layer_norm", 0)
assert inputs(*norm) == [(words, n)], inputs(*norm)
assert inputs("feed.up", "linear") == [(norm, n)]
assert inputs("feed", "relu") == [(("feed.up", "linear", 0), 2 * n)]
assert inputs("feed.down", "linear") == [(("feed", "relu", 0), 2 * n)]
assert inputs("", "add") == [(words, n), (("feed.down", "linear", 0), n)]
add = ("", "add", 0)
assert inputs("", "matmul", 0) == [(add, n), (add, n)], inputs("", "matmul", 0)
assert inputs("", "softmax") == [(("", "matmul", 0), 4 * 8 * 8)]
assert inputs("", "matmul", 1) == [(("", "softmax", 0), 4 * 8 * 8), (add, n)]
assert inputs("pictures", "conv1d") == [(("", "matmul", 1), n)]
assert inputs("", "linear") == [(("pictures", "conv1d", 0), n)]
assert inputs("", "output") == [(("", "linear", 0), n)]
assert inputs("", "cross_entropy_loss") == [(("", "output", 0), n)]
by_name = dict(zip(names, run["operations"]))
up = by_name["feed.up", "linear", 0]
assert (up["elements_in"], up["elements_out"], up["weight"], up["calls"]) == (n, 2 * n, 16 * 32, 1), up
assert "int8" in up["allowed"] and "bf16" in up["allowed"] and "int8" not in by_name["", "matmul", 0]["allowed"]
assert by_name["", "softmax", 0]["allowed"] == ["fp32"] and by_name["", "softmax", 0]["rule"] == "fixed"
assert by_name[add]["rule"] == "promoted"
assert up["input_gradient"] and by_name[add]["input_gradient"] and not by_name[words]["input_gradient"]
END_OF_CHECK
"$python" check.py

# a rank each
"$TACHO" record -q -n 2 --precision bf16 -o ranks -- "$python" "$job" ddp >out.ranks
ls ranks/precision.0.json ranks/precision.1.json >/dev/null
! ls ranks/precision.json 2>/dev/null || exit 1
"$python" - <<'END_OF_RANKS'
import json

alone, rank = (json.load(open(name)) for name in ("bf16.tacho/precision.json", "ranks/precision.1.json"))
assert alone["operations"] == rank["operations"]
END_OF_RANKS
# what tacho wrote is tacho's to replace
"$TACHO" record -q --force --precision fp32 -o ranks -- "$python" "$job" >/dev/null
ls ranks/precision.json >/dev/null
! ls ranks/precision.0.json 2>/dev/null || exit 1
# without the option, nothing of it
"$TACHO" record -q -o usual -- "$python" "$job" >out.usual
cmp plain out.usual
! ls usual/precision* 2>/dev/null || exit 1

# refused STATUS WORDS OPTION...: before the job does anything
refused()
{
	local status=0

	"$TACHO" record -q -o refused "${@:3}" >out 2>said || status=$?
	[ $status = $1 ] || { echo "$2: exit status $status"; cat said; exit 1; }
	grep -q -- "$2" said || { echo "no '$2' in:"; cat said; exit 1; }
	[ ! -s out ] || { echo "$2: the job ran"; exit 1; }
}
refused 2 "not 'bf1'" --precision bf1 -- "$python" "$job"
refused 2 "the device has no TF32" --precision tf32 -- "$python" "$job"
refused 2 "gathered in fp32" --precision bf16 --precision-statistics -- "$python" "$job"
if "$python" -c 'import torch; torch.ones(2, 2).half() @ torch.ones(2, 2).half()' 2>/dev/null; then
	"$python" "$job" by-hand fp16 >hand.fp16
	"$TACHO" record -q --precision fp16 -o fp16.tacho -- "$python" "$job" >out.fp16
	cmp hand.fp16 out.fp16
else
	refused 2 "cannot compute in fp16 here" --precision fp16 -- "$python" "$job"
fi
refused 1 "the job chooses precisions itself (autocast)" --precision bf16 -- "$python" "$job" autocast
# a job that is too short for it says so
"$TACHO" record -q --precision fp32 -o short -- "$python" "$job" steps 2 >/dev/null 2>said
grep -q "too few steps" said
