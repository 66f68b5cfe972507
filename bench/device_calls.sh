#!/usr/bin/env bash
# device_calls.sh [BUILD_DIR]: what a call of an accelerator's library costs, recorded and not, on stand-ins (tests/standins) that do nothing: nanoseconds, the
# least of 9 rounds in each of 5 processes, their median; of CUDA, rocprofiler-sdk and NCCL one round in each. Level Zero also with its tracing layer alone, and with a tool there that does nothing.
set -u
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
standins=$build_dir/tests/standins
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# figure NAME COMMAND...: the median of what five runs say on stderr
figure() {
	local name=$1
	shift
	for _ in 1 2 3 4 5; do "$@" 2>&1 >/dev/null | grep -o '^[0-9.]*' | tail -1; done | sort -n | sed -n "3s/.*/$(printf '%-55s' "$name")& ns/p"
}
record() { local probe=$1; shift; "$build_dir/bin/tacho" record -q --probes "$probe" --force -o run -- "$@"; }
figure "CUDA: a launch" "$standins/cuda_job" cost 100000
figure "CUDA: a launch, another tool" env CUDA_INJECTION64_PATH="$standins/cuda/libcuda_other.so" "$standins/cuda_job" cost 100000
figure "CUDA: a launch, recorded" env TACHO_CUPTI="$(ls "$standins"/cuda/12/libcupti.so.*)" \
	"$build_dir/bin/tacho" record -q --probes cuda --force -o run -- "$standins/cuda_job" cost 100000
export LD_LIBRARY_PATH=$standins/rocprofiler/1
figure "HIP and rocprofiler-sdk: a launch" "$standins/rocprofiler_job" cost 100000
figure "HIP and rocprofiler-sdk: a launch, another tool" env ROCP_TOOL_LIBRARIES="$standins/rocprofiler/librocprofiler_other.so" "$standins/rocprofiler_job" cost 100000
figure "HIP and rocprofiler-sdk: a launch, recorded" record rocprofiler "$standins/rocprofiler_job" cost 100000
unset LD_LIBRARY_PATH
figure "NCCL: an event of its profiler, recorded" record nccl "$standins/nccl_host" 5 cost 100000
if [ -x "$standins/tensorflow_job" ]; then
	tensorflow=("$standins/tensorflow_job" "$standins/tensorflow/new/libtensorflow_framework.so.2" cost 100000)
	figure "TensorFlow: two meet at a rendezvous" "${tensorflow[@]}"
	figure "TensorFlow: two meet at a rendezvous, recorded" record tensorflow "${tensorflow[@]}"
fi
if [ -x "$standins/hip_job" ]; then
	figure "HIP: a call" "$standins/hip_job" cost 100000
	figure "HIP: a call, recorded" record hip "$standins/hip_job" cost 100000
fi
if [ -x "$standins/level_zero_job" ]; then
	export ZE_ENABLE_ALT_DRIVERS=$standins/level_zero/libstandin_level_zero.so
	for call in idle append; do
		figure "Level Zero: a call ($call)" "$standins/level_zero_job" $call 10000
		figure "Level Zero: a call ($call), tracing layer" env ZE_ENABLE_TRACING_LAYER=1 "$standins/level_zero_job" $call 10000
		[ $call = append ] ||
			figure "Level Zero: a call ($call), layer and empty callbacks" env EMPTY_TRACER=1 ZE_ENABLE_TRACING_LAYER=1 "$standins/level_zero_job" $call 10000
		figure "Level Zero: a call ($call), recorded" record level_zero "$standins/level_zero_job" $call 10000
	done
fi
