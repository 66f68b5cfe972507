#!/usr/bin/env bash
# A trace of each format, counted again in plain Python (validate/recount.py; `make recount` takes them all), and
# that a wrong figure is told: a program that answers with other numbers is caught.
set -euo pipefail
data=${TACHO_SHARED:-$TACHO_SOURCE_DIR/../shared}/data
[ -d "$data" ] || { echo "no traces of others here"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cd "$data"
samples=(kineto/hta/nccl_parser_config/nccl_data.json.gz kineto/megatron_tp8 chakra/param/linear_et.json.gz
	chakra/chakra/chakra.0.et chakra/chakra/small_chakra.0.json xplane/tracelens/jax_conv_minimal_legacy.xplane.pb
	timeline/tf/mnist_timeline.ctf.json tfprof/dorsal/run_meta tfprof/resnet_dist/profile_100.gz
	timeline/horovod/timeline_cpu_n1.json byteps/docs/comm.json nsys/hip_course/nsys_trace_example/results.sqlite
	rocprof/hip_course/v1/result.db rocprof/hip_course/v1/result.json.gz rocprof/hip_course/v3/output_hip_api_trace.csv
	perfetto/hip_course/rocprofv3_output_results.pftrace ctf/tracecompass/mpi_allreduce
	opencl/intercept/clintercept_trace.json opencl/opencl_course/trace.json onednn/onednn_v2.7_conv_pool.log
	nccl/superbench/nccl_allreduce.log nccl/nccl_profiler/allreduce_single_node.jsonl
	nccl/inspector/readme_samples.json.txt memory/assignment2/medium_128_inference_memory_snapshot.pickle.gz
	memory/hta/memory_timeline.raw.gz)
"$TACHO_SOURCE_DIR/validate/recount.py" --print --tacho "$TACHO" "${samples[@]}" >"$scratch/right" || {
	cat "$scratch/right"
	exit 1
}
read_files=$(awk -F '|' '$2 == " all " { print $3 + 0 }' "$scratch/right")
[ "$read_files" = "${#samples[@]}" ] || { echo "$read_files of ${#samples[@]} were read"; cat "$scratch/right"; exit 1; }

# one slice of a hundred is left out: the program must be found wrong
cat >"$scratch/wrong" <<'END'
#!/bin/sh
"$TACHO" "$@" | sed 's/"n":25,/"n":24,/'
END
chmod +x "$scratch/wrong"
if "$TACHO_SOURCE_DIR/validate/recount.py" --print --tacho "$scratch/wrong" timeline/horovod/timeline_cpu_n1.json >"$scratch/told"; then
	echo "a wrong number was not told"
	cat "$scratch/told"
	exit 1
fi
grep -q "number of collective broadcast: 25 counted, 24 read" "$scratch/told"
