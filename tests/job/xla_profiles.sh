#!/bin/bash
# TensorFlow and JAX: recorded without a change to the job, by their own profilers. Steps are found, ranks are right, the
# losses are the same to the last bit, and a job that profiles itself still can.
#
# TACHO_TF_PYTHON and TACHO_JAX_PYTHON name Pythons that have them; else the python3 on the PATH is tried. Skipped where
# neither has.
set -eu
jobs=$TACHO_SOURCE_DIR/tests/job
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
n_tried=0

# check PYTHON SCRIPT JOB RANKS STEPS: STEPS of each rank, or of one alone
check()
{
	local run=$3.tacho
	"$1" "$jobs/$2" "$3" 40 2>plain.err | grep -E '^(loss|profiles)' | sort >plain.txt
	"$TACHO" record -q --force -o "$run" -- "$1" "$jobs/$2" "$3" 40 2>recorded.err |
		grep -E '^(loss|profiles)' | sort >recorded.txt
	cmp plain.txt recorded.txt || { echo "$2 $3: other results"; tail -20 recorded.err; exit 1; }
	"$TACHO" info "$run" --json >info.json
	python3 - "$2 $3" "$4" "$5" <<'END'
import json, sys
job, ranks, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
info = json.load(open("info.json"))
assert info["ranks"] == ranks, (job, info["ranks"])
# the program that starts the ranks is there as well, by its stacks
assert sorted({process["rank"] for process in info["processes"] if process["rank"] is not None}) == list(range(ranks)), (job, info["processes"])
assert info["steps"] == steps, (job, info["steps"])
assert info["steps_found"] == "annotated", (job, info["steps_found"])
assert info["trust"]["present_score"] >= 95, (job, info["trust"])
assert info["kinds"]["op"] > 100, (job, info["kinds"])
assert ranks == 1 or info["kinds"]["message"] > 100, (job, info["kinds"])
print(job, info["step_median_ms"], "ms", info["kinds"])
END
	"$TACHO" report "$run" --view step --json >/dev/null
	"$TACHO" replay "$run" --json >/dev/null
	grep step_ms plain.err recorded.err || true
}

has() # PYTHON MODULE
{
	command -v "$1" >/dev/null && "$1" -c "import $2" 2>/dev/null
}

# TensorFlow's best-fit allocator, where the host's memory is its as well: each chunk is told, by size, and how full it is.
check_allocator() # PYTHON
{
	TF_CPU_ALLOCATOR_USE_BFC=true "$TACHO" record -q -o chunks.tacho -- "$1" "$jobs/tensorflow_jobs.py" loop 40 >/dev/null 2>chunks.err
	"$TACHO" report chunks.tacho --view bins --json >bins.json
	"$TACHO" report chunks.tacho --view memory_layers --json >layers.json
	"$TACHO" query --format csv chunks.tacho "SELECT name, count(*) FROM slice WHERE name = 'ExecutorState::Process' GROUP BY name" >process.csv
	python3 - <<'END'
import json
bins, layers = json.load(open("bins.json")), json.load(open("layers.json"))
whole = [row for row in bins if row["bin"] is None]
assert len(whole) == 1 and whole[0]["most_used_bytes"] > 1 << 20, bins
for figure in ("used_chunks", "used_bytes", "rounding_bytes"):
    assert sum(row[figure] for row in bins if row["bin"] is not None) == whole[0][figure], (figure, bins)
for row in bins:
    if row["bin"] is not None:
        assert row["least_bytes"] == 256 << row["bin"] and row["used_bytes"] >= row["used_chunks"] * row["least_bytes"], row
        assert row["bin"] == 20 or row["used_bytes"] <= row["used_chunks"] * 2 * row["least_bytes"], row
# what the allocator says of itself is what was seen, and what was there before
told = {(row["layer"], row["name"]): row for row in layers}
blocks, own = told["allocator", "blocks handed out"], told["allocator", "handed out, its own account"]
assert blocks["last_bytes"] == told["chunks", "chunks in use"]["last_bytes"] == whole[0]["used_bytes"], layers
assert own["peak_bytes"] >= blocks["peak_bytes"] and own["last_bytes"] >= blocks["last_bytes"], layers
assert told["allocator", "most since its begin"]["last_bytes"] >= own["peak_bytes"], layers
assert int(open("process.csv").read().split(",")[-1]) >= 20, open("process.csv").read()
END
}

tf=${TACHO_TF_PYTHON:-python3}
if has "$tf" tensorflow; then
	n_tried=1
	# Keras 2 draws its steps itself; the first has begun when the profiler is started
	keras_steps=20
	"$tf" -c 'import tensorflow as tf; assert tf.__version__ < "2.16"' 2>/dev/null && keras_steps=19
	check "$tf" tensorflow_jobs.py fit 1 $keras_steps
	check "$tf" tensorflow_jobs.py loop 1 20
	check "$tf" tensorflow_jobs.py eager 1 20
	check "$tf" tensorflow_jobs.py profiled 1 23
	grep -q '^profiles 1$' recorded.txt
	check_allocator "$tf"
	check "$tf" tensorflow_jobs.py workers 2 20
	check "$tf" tensorflow_jobs.py servers 4 20
fi
jax=${TACHO_JAX_PYTHON:-python3}
if has "$jax" jax; then
	n_tried=1
	check "$jax" jax_jobs.py jit 1 20
	check "$jax" jax_jobs.py split 1 20
	jax_has() { "$jax" -c "import jax; assert $1" 2>/dev/null; }
	jax_has 'hasattr(jax, "shard_map")' && check "$jax" jax_jobs.py shard 1 20
	# before, pmap was no jit: nobody is told of its calls; and two processes do not always agree to the last bit
	jax_has 'jax.__version_info__ >= (0, 8)' && check "$jax" jax_jobs.py pmap 1 20
	jax_has 'jax.__version_info__ >= (0, 8)' && check "$jax" jax_jobs.py processes 2 20
	check "$jax" jax_jobs.py profiled 1 22
	grep -q '^profiles 1$' recorded.txt

	# steps that were asked for, and no more; without the probe, none
	"$TACHO" record -q --steps 5:9 -o some.tacho -- "$jax" "$jobs/jax_jobs.py" jit 40 >/dev/null 2>&1
	"$TACHO" info some.tacho --json | grep -q '"steps":5,'
	"$TACHO" record -q --probes python -o none.tacho -- "$jax" "$jobs/jax_jobs.py" jit 40 >/dev/null 2>&1
	test ! -e none.tacho/traces
fi
[ "$n_tried" = 1 ] || exit 77
