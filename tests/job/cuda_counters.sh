#!/usr/bin/env bash
# Hardware counters of NVIDIA's devices, on stand-ins for the driver, the runtime and CUPTI (12 and 13): each sample has the value and the
# time that the stand-in gave it, each kernel its own; and what goes wrong ends in a right timeline or a problem with a name. There is no
# GPU in it. TACHO_CUPTI_HEADERS (as in cuda_probe.sh) has the declarations compared with NVIDIA's. TACHO_CUPTI_LIBRARIES may name real
# ones (with a : between them; their libnvperf_host.so beside them): the half that needs no GPU is then run on them.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ulimit -c 0
standins=$TACHO_BUILD_DIR/tests/standins
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
cupti() { ls "$standins/cuda/$1"/libcupti.so.*; }
lost() { "$TACHO" info run | sed -n 's/^events .*dropped \([0-9,]*\).*/\1/p' | tr -d ,; }
# record OPTION MAJOR FAULTS SCENARIO [N]
record() {
	local option=$1 major=$2 faults=$3
	shift 3
	rm -f truth
	STANDIN_FAULTS=$faults STANDIN_TRUTH=$work/truth TACHO_CUPTI=$(cupti "$major") \
		"$TACHO" record -q "$option" --counters-every 500 --force -o run -- "$standins/cuda_job" "$@" >out 2>err
	[ "$(tail -1 out)" = done ] || wrong "CUPTI $major '$faults' $*: $(cat out err)"
}
quiet() { [ ! -s err ] || wrong "$1: $(cat err)"; }
says() { grep -q -- "$2" err || wrong "$1: nobody says '$2': $(cat err)"; }

cat >compare.py <<'END_PYTHON'
"""compare.py KIND NAME,NAME APART_NS LEAST: the values of two counters are those of the truth's lines of the KIND, where they were; LEAST of
100 of them are there."""
import csv, os, statistics, subprocess, sys
kind, names, apart, least = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3]), int(sys.argv[4])
out = subprocess.run([os.environ["TACHO"], "query", "run", "--format", "csv",
                      "select t.name, c.ts, c.value from counter c join counter_track t on t.id = c.track_id where t.name glob '*__*' order by c.ts"],
                     check=True, capture_output=True, text=True).stdout
# how far the run's clock is from the truth's: as the kernels say, which are told by another way
out_kernels = subprocess.run([os.environ["TACHO"], "query", "run", "--format", "csv", "select ts from slice where category in ('kernel', 'collective') order by ts"],
                             check=True, capture_output=True, text=True).stdout.split()[1:]
told_kernels = sorted(int(line.split()[2]) for line in open("truth") if line.startswith("kernel "))
kernel_shift = statistics.median(int(a) - b for a, b in zip(out_kernels, told_kernels)) if len(out_kernels) == len(told_kernels) > 0 else None
for i, name in enumerate(names):
    found = sorted((float(row["value"]), int(row["ts"])) for row in csv.DictReader(out.splitlines()) if row["name"] == name)
    told = sorted((float(value), int(start)) for what, metric, start, end, value in map(str.split, open("truth")) if (what, int(metric)) == (kind, i))
    if not told or 100 * len(found) < least * len(told) or len(found) > len(told):
        sys.exit(f"{name}: {len(found)} values, and not {len(told)}")
    there = {}
    for value, start in told:
        there.setdefault(value, []).append(start)
    if len(found) == len(told):
        if [value for value, _ in found] != [value for value, _ in told]:
            sys.exit(f"{name}: values are others")
        shift = statistics.median(a[1] - b[1] for a, b in zip(found, told))
        if kernel_shift is not None and abs(shift - kernel_shift) > apart:
            sys.exit(f"{name}: samples are {shift - kernel_shift} ns off the kernels' clock")
        for a, b in zip(found, told):
            if abs(a[1] - b[1] - shift) > apart:
                sys.exit(f"{name}: {a} is {a[1] - b[1] - shift} ns off {b}")
    elif any(value not in there for value, _ in found):
        sys.exit(f"{name}: values that nobody told")
END_PYTHON
sampled=sm__a.sum,dram__b.avg
same() { /usr/bin/python3 compare.py sample "${4:-$sampled}" "${2:-1000}" "${3:-100}" >why 2>&1 || wrong "$1: $(cat why)"; }

# what is counted, and when: as told
for major in 12 13; do
	record --counters=$sampled $major "" train 400
	quiet "CUPTI $major"
	same "CUPTI $major"
	[ "$(lost)" = 0 ] || wrong "CUPTI $major: $(lost) records are lost"
	[ "$(ask "select count(*) > 100 from counter c join counter_track t on t.id = c.track_id where t.name = 'sm__a.sum'")" = 1 ] || wrong "CUPTI $major: too few samples"
	[ "$(ask "select count(*) from slice where category = 'kernel'")" = 2000 ] || wrong "CUPTI $major: kernels beside counters"
	"$TACHO" report run --view counters --steps all | grep -q sm__a.sum || wrong "CUPTI $major: the view has no counters"
done
# times are on the clock of the device's other times: a sample is where the kernels are
[ "$(ask "select min(c.ts) >= (select min(ts) from slice) - 1000000 and max(c.ts) <= (select max(ts + dur) from slice) + 50000000 from counter c join counter_track t on t.id = c.track_id where t.name = 'sm__a.sum'")" = 1 ] ||
	wrong "samples are not where the kernels are"
record --counters=default 12 "" train 100
quiet default
[ "$(ask "select count(distinct t.name) from counter c join counter_track t on t.id = c.track_id where t.name glob '*__*'")" = 7 ] || wrong "the default list"
for scenario in threads unload; do
	record --counters=$sampled 12 "" $scenario 100
	quiet $scenario
	same $scenario
done
record --counters=$sampled 12 "" fork 100
quiet fork
[ "$(grep -c 'child 0' out)" = 2 ] || wrong "a child of a fork dies: $(cat out)"
[ "$(ask "select count(distinct t.upid) from counter c join counter_track t on t.id = c.track_id where t.name = 'sm__a.sum'")" = 3 ] || wrong "the children of a fork count nothing"

# what goes wrong, and ends well
for fault in late threads cycles latesamples noclock noclock,drift; do
	record --counters=$sampled 13 $fault train 1000
	quiet $fault
	same $fault "$([ $fault != noclock,drift ] && echo 2000 || echo 15000)"
	[ "$(lost)" = 0 ] || wrong "$fault: $(lost) records are lost"
done
record --counters=$sampled 12 nocontext train 4000 # the first kernels are told after half a second
quiet nocontext
same nocontext
record --counters=$sampled 12 undefined train 200
quiet undefined
[ "$(ask "select count(*) from counter_track where name = 'sm__a.sum'")" = 0 ] || wrong "a value that is none is recorded"
[ "$(ask "select count(*) > 20 from counter c join counter_track t on t.id = c.track_id where t.name = 'dram__b.avg'")" = 1 ] || wrong "one value that is none hides others"
# ... or in a problem, or in words
for major in 12 13; do
	record --counters=$sampled $major overflow train 1500
	quiet "overflow $major"
	same "overflow $major" 1000 100
	[ "$(lost)" -gt 10 ] || wrong "overflow $major: $(lost) are lost"
	"$TACHO" info run | grep -q "lost records" || wrong "overflow $major: nothing is said to be lost"
	[ "$(ask "select count(*) > 100 from counter c join counter_track t on t.id = c.track_id where t.name = 'sm__a.sum'")" = 1 ] || wrong "overflow $major: it is not started again"
done
record --counters=$sampled 12 badtimes train 400
same badtimes
[ "$(lost)" -gt 10 ] || wrong "badtimes: $(lost) are lost"
record --counters=$sampled 12 nodecode train 1000
says nodecode "what was counted cannot be decoded"
same nodecode
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 5000 ] || wrong "nodecode: kernels are missing"
record --counters=$sampled 12 noprivileges train 50
says noprivileges "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES.*NVreg_RestrictProfilingToAdminUsers=0"
[ "$(grep -c . err)" = 1 ] || wrong "noprivileges is said more than once: $(cat err)"
grep -q "hardware counters" run/unseen || wrong "noprivileges: the run does not say so"
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 250 ] || wrong "noprivileges: kernels are missing"
record --counters=nosuch__x,$sampled,wide__c.sum 12 "" train 100
says "a metric that nobody knows" "nosuch__x is not counted"
says "a metric of another pass" "wide__c.sum is not counted: GH100 cannot count it at once"
same "what is left of a list"
record "--counters=nosuch__x|sm__a.sum,wide__c.sum|dram__b.avg" 12 "" train 100
quiet "the second of two"
same "the second of two"
record --counters=nosuch__x 12 "" train 50
says "nothing left" "no counters are left"
record --counters=default 11 "" train 50
says "CUPTI 11" "has no cuptiProfilerInitialize; counters are counted with 12.6 and later"
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 250 ] || wrong "CUPTI 11: kernels are missing"
SECONDS=0
record --counters=$sampled 12 slowstop train 100
says slowstop "takes too long to stop"
[ $SECONDS -lt 4 ] || wrong "slowstop: the job waits $SECONDS s"
"$TACHO" record -q --counters=$sampled --force -o run -- env TACHO_CUPTI="$(cupti 12)" "$standins/cuda_job" kill 20 >out 2>err || true
[ "$(ask "select count(*) > 100 from counter c join counter_track t on t.id = c.track_id where t.name = 'sm__a.sum'")" = 1 ] || wrong "of a job that is killed, samples are missing"

# --- kernel by kernel: each has its own values, at its begin
counted=sm__a.sum,wide__b.avg
kernels_same() { /usr/bin/python3 compare.py range $counted "${2:-1000}" "${3:-100}" >why 2>&1 || wrong "kernels, $1: $(cat why)"; }
at_kernels() { ask "select count(*) from counter c join counter_track t on t.id = c.track_id join slice s on s.ts = c.ts and s.category in ('kernel', 'collective') where t.name = 'sm__a.sum'$1"; }
for major in 12 13; do
	record --kernel-counters=$counted $major "" train 100
	quiet "kernels, CUPTI $major"
	kernels_same "CUPTI $major"
	[ "$(at_kernels "")" = 500 ] || wrong "kernels, CUPTI $major: $(at_kernels "") values are at the begin of a kernel"
	[ "$(lost)" = 0 ] || wrong "kernels, CUPTI $major: $(lost) records are lost"
done
"$TACHO" report run --view kernel_counters --steps all --json >view.json
/usr/bin/python3 - <<'PYTHON' || wrong "the view of kernels' counters: $(head -c 600 view.json)"
import json
rows = {(row["name"], row["counter"]): row for row in json.load(open("view.json"))}
assert sorted(rows) == [(name, counter) for name in ("_ZN2at6native11elementwiseIfEEvPT_i", "ampere_sgemm_128x64_nn") for counter in ("sm__a.sum", "wide__b.avg")], sorted(rows)
assert sum(row["count"] for row in rows.values()) == 1000
assert all(row["min"] >= 1000 for (name, counter), row in rows.items() if counter == "wide__b.avg")
PYTHON
record --kernel-counters=default 12 "" driver 20
quiet "kernels, driver"
[ "$(ask "select count(distinct t.name), count(*) from counter c join counter_track t on t.id = c.track_id where t.name glob '*__*'")" = 4,80 ] || wrong "kernels, the default list"
for scenario in unload fork; do
	record --kernel-counters=$counted 12 "" $scenario 20
	quiet "kernels, $scenario"
	[ "$(lost)" = 0 ] || wrong "kernels, $scenario: $(lost) records are lost"
	[ "$(at_kernels "")" = $([ $scenario = fork ] && echo 300 || echo 200) ] || wrong "kernels, $scenario: $(at_kernels "") values"
done
# kernels that wait for others, graphs and what is captured are not counted; the rest is (the stand-in stops the job where it would wait within a capture)
record --kernel-counters=$counted 12 "" mixed 10
quiet mixed
[ "$(at_kernels " and s.name like '%nccl%'")" = 0 ] || wrong "mixed: kernels of NCCL are counted"
[ "$(at_kernels "")" = 20 ] || wrong "mixed: $(at_kernels "") values"
kernels_same mixed
for fault in late reverse threads noclock undefined; do
	record --kernel-counters=$counted 13 $fault train 100
	quiet "kernels, $fault"
	[ $fault = undefined ] || kernels_same $fault
	[ "$(lost)" = 0 ] || wrong "kernels, $fault: $(lost) records are lost"
done
record --kernel-counters=$counted 12 noactivity train 100
quiet "kernels, noactivity"
kernels_same noactivity 1000000000
ask "select * from mark" | grep -q "counted kernels that were not told" || wrong "noactivity: the run does not say that kernels were not told: $(ask "select * from mark")"
for fault in moreranges droppedranges; do
	record --kernel-counters=$counted 12 $fault train 100
	quiet "kernels, $fault"
	[ "$(lost)" -ge 100 ] || wrong "kernels, $fault: $(lost) are lost"
	kernels_same $fault 1000 0
done
record --kernel-counters=$counted 12 "" threads 50
[ $(($(lost) + $(ask "select count(*) from counter c join counter_track t on t.id = c.track_id where t.name glob '*__*'"))) -ge 2000 ] ||
	wrong "kernels, threads: values are missing, and nobody counts them"
kernels_same threads 1000 0
record --kernel-counters=$counted 12 nodecode train 100
says "kernels, nodecode" "what was counted cannot be decoded"
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 500 ] || wrong "kernels, nodecode: kernels are missing"
record --kernel-counters=$counted 12 noprivileges train 20
says "kernels, noprivileges" "kernels cannot be counted: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
record --kernel-counters=$counted 11 "" train 20
says "kernels, CUPTI 11" "counters are counted with 12.6 and later"

# all in one program, which the sanitizers see where they are built in
for fault in "" threads overflow badtimes nodecode noprivileges undefined latesamples noclock,drift; do
	for scenario in train fork; do
		rm -rf whole
		mkdir whole
		STANDIN_FAULTS=$fault TACHO_CUPTI=$(cupti 13) TACHO_COUNTERS=$sampled,nosuch__x,wide__c.sum TACHO_COUNTERS_EVERY=500 TACHO_RUN_DIR=whole \
			CUDA_INJECTION64_PATH=INSIDE ASAN_OPTIONS=detect_leaks=0 "$standins/cuda_job_whole" $scenario 100 >out 2>err ||
			wrong "whole, '$fault' $scenario: ended with $?"
		! grep -E "Sanitizer|runtime error" err || wrong "whole, '$fault' $scenario: $(head -20 err)"
		ls whole/*/metadata >/dev/null || wrong "whole, '$fault' $scenario: nothing was recorded"
	done
done
for fault in "" threads reverse noactivity moreranges droppedranges nodecode noprivileges undefined; do
	for scenario in train threads mixed fork; do
		rm -rf whole
		mkdir whole
		STANDIN_FAULTS=$fault TACHO_CUPTI=$(cupti 13) TACHO_KERNEL_COUNTERS=$counted,nosuch__x TACHO_RUN_DIR=whole CUDA_INJECTION64_PATH=INSIDE \
			ASAN_OPTIONS=detect_leaks=0 "$standins/cuda_job_whole" $scenario 20 >out 2>err || wrong "whole, kernels, '$fault' $scenario: ended with $?"
		! grep -E "Sanitizer|runtime error" err || wrong "whole, kernels, '$fault' $scenario: $(head -20 err)"
	done
done

# NVIDIA's headers
IFS=: read -ra headers <<<"${TACHO_CUPTI_HEADERS:-}:/usr/local/cuda/include"
mkdir -p stub/crt
: >stub/string # cupti_profiler_host.h of 12 wants C++'s, and uses nothing of it
for macro in __device_builtin__ __device_builtin_texture_type__ __device_builtin_surface_type__ __cudart_builtin__ __host__ __device__ __global__ CUDARTAPI \
	CUDARTAPI_CDECL CUDAAPI __no_return__ __noinline__; do
	echo "#define $macro"
done >stub/crt/host_defines.h
printf '#define __align__(n) __attribute__((aligned(n)))\n#define __builtin_align__(a) __attribute__((aligned(a)))\n#define __forceinline__ inline\n' >>stub/crt/host_defines.h
cat >same.c <<'C'
#include <stddef.h>
#include <cuda.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_profiler_target.h>
#include <cupti_profiler_host.h>
#include <cupti_pmsampling.h>
#include <cupti_range_profiler.h>
#include "cuda/counters_abi.h"
#define SAME(theirs, their_member, ours, our_member) _Static_assert(offsetof(theirs, their_member) == offsetof(struct ours, our_member) && \
	sizeof(((theirs *)0)->their_member) == sizeof(((struct ours *)0)->our_member), #theirs "." #their_member)
/* ours begins as theirs, and ends no later; where theirs has not grown since 12.6, they are of one size */
#define BEGINS(theirs, ours) SAME(theirs, structSize, ours, size); SAME(theirs, pPriv, ours, reserved)
#define SIZE(theirs, ours, last) _Static_assert(theirs##_STRUCT_SIZE == COUNTERS_SIZE(ours, last), "size of " #theirs); BEGINS(theirs, ours)
#define GROWS(theirs, ours, last) _Static_assert(theirs##_STRUCT_SIZE >= COUNTERS_SIZE(ours, last), "size of " #theirs); BEGINS(theirs, ours)
SIZE(CUpti_Profiler_Initialize_Params, counters_initialize, reserved);
SIZE(CUpti_Device_GetChipName_Params, counters_chip, name); SAME(CUpti_Device_GetChipName_Params, deviceIndex, counters_chip, device);
SAME(CUpti_Device_GetChipName_Params, pChipName, counters_chip, name);
GROWS(CUpti_Profiler_Host_Initialize_Params, counters_host, object); SAME(CUpti_Profiler_Host_Initialize_Params, profilerType, counters_host, profiler);
SAME(CUpti_Profiler_Host_Initialize_Params, pChipName, counters_host, chip);
SAME(CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage, counters_host, availability);
SAME(CUpti_Profiler_Host_Initialize_Params, pHostObject, counters_host, object);
SIZE(CUpti_Profiler_Host_Deinitialize_Params, counters_host_end, object); SAME(CUpti_Profiler_Host_Deinitialize_Params, pHostObject, counters_host_end, object);
SIZE(CUpti_Profiler_Host_ConfigAddMetrics_Params, counters_add, n_names); SAME(CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject, counters_add, object);
SAME(CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames, counters_add, names); SAME(CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics, counters_add, n_names);
SIZE(CUpti_Profiler_Host_GetConfigImageSize_Params, counters_config_size, config_size);
SAME(CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject, counters_config_size, object);
SAME(CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize, counters_config_size, config_size);
SIZE(CUpti_Profiler_Host_GetConfigImage_Params, counters_config, config); SAME(CUpti_Profiler_Host_GetConfigImage_Params, pHostObject, counters_config, object);
SAME(CUpti_Profiler_Host_GetConfigImage_Params, configImageSize, counters_config, config_size);
SAME(CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage, counters_config, config);
SIZE(CUpti_Profiler_Host_GetNumOfPasses_Params, counters_passes, n_passes); SAME(CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize, counters_passes, config_size);
SAME(CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage, counters_passes, config); SAME(CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses, counters_passes, n_passes);
SIZE(CUpti_Profiler_Host_EvaluateToGpuValues_Params, counters_evaluate, values); SAME(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject, counters_evaluate, object);
SAME(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage, counters_evaluate, image);
SAME(CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize, counters_evaluate, image_size);
SAME(CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex, counters_evaluate, index);
SAME(CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames, counters_evaluate, names);
SAME(CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics, counters_evaluate, n_names);
SAME(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues, counters_evaluate, values);
#define Sampling(name) CUpti_PmSampling_##name##_Params
SIZE(CUpti_PmSampling_GetCounterAvailability_Params, sampling_availability, image); SAME(Sampling(GetCounterAvailability), deviceIndex, sampling_availability, device);
SAME(Sampling(GetCounterAvailability), counterAvailabilityImageSize, sampling_availability, image_size);
SAME(Sampling(GetCounterAvailability), pCounterAvailabilityImage, sampling_availability, image);
SIZE(CUpti_PmSampling_Enable_Params, sampling_enable, object); SAME(Sampling(Enable), deviceIndex, sampling_enable, device);
SAME(Sampling(Enable), pPmSamplingObject, sampling_enable, object);
SIZE(CUpti_PmSampling_Start_Params, sampling_object, object); SAME(Sampling(Start), pPmSamplingObject, sampling_object, object);
SIZE(CUpti_PmSampling_Stop_Params, sampling_object, object); SAME(Sampling(Stop), pPmSamplingObject, sampling_object, object);
GROWS(CUpti_PmSampling_SetConfig_Params, sampling_config, trigger); SAME(Sampling(SetConfig), pPmSamplingObject, sampling_config, object);
SAME(Sampling(SetConfig), configSize, sampling_config, config_size); SAME(Sampling(SetConfig), pConfig, sampling_config, config);
SAME(Sampling(SetConfig), hardwareBufferSize, sampling_config, buffer_size); SAME(Sampling(SetConfig), samplingInterval, sampling_config, interval);
SAME(Sampling(SetConfig), triggerMode, sampling_config, trigger);
SIZE(CUpti_PmSampling_GetCounterDataSize_Params, sampling_image_size, image_size); SAME(Sampling(GetCounterDataSize), pPmSamplingObject, sampling_image_size, object);
SAME(Sampling(GetCounterDataSize), pMetricNames, sampling_image_size, names); SAME(Sampling(GetCounterDataSize), numMetrics, sampling_image_size, n_names);
SAME(Sampling(GetCounterDataSize), maxSamples, sampling_image_size, most_samples); SAME(Sampling(GetCounterDataSize), counterDataSize, sampling_image_size, image_size);
SIZE(CUpti_PmSampling_CounterDataImage_Initialize_Params, sampling_image, image); SAME(Sampling(CounterDataImage_Initialize), pPmSamplingObject, sampling_image, object);
SAME(Sampling(CounterDataImage_Initialize), counterDataSize, sampling_image, image_size); SAME(Sampling(CounterDataImage_Initialize), pCounterData, sampling_image, image);
SIZE(CUpti_PmSampling_DecodeData_Params, sampling_decode, overflow); SAME(Sampling(DecodeData), pPmSamplingObject, sampling_decode, object);
SAME(Sampling(DecodeData), pCounterDataImage, sampling_decode, image); SAME(Sampling(DecodeData), counterDataImageSize, sampling_decode, image_size);
SAME(Sampling(DecodeData), decodeStopReason, sampling_decode, stop_reason); SAME(Sampling(DecodeData), overflow, sampling_decode, overflow);
SIZE(CUpti_PmSampling_GetCounterDataInfo_Params, sampling_info, n_completed); SAME(Sampling(GetCounterDataInfo), pCounterDataImage, sampling_info, image);
SAME(Sampling(GetCounterDataInfo), counterDataImageSize, sampling_info, image_size); SAME(Sampling(GetCounterDataInfo), numTotalSamples, sampling_info, n_total);
SAME(Sampling(GetCounterDataInfo), numCompletedSamples, sampling_info, n_completed);
SIZE(CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampling_sample, end); SAME(Sampling(CounterData_GetSampleInfo), pPmSamplingObject, sampling_sample, object);
SAME(Sampling(CounterData_GetSampleInfo), pCounterDataImage, sampling_sample, image); SAME(Sampling(CounterData_GetSampleInfo), counterDataImageSize, sampling_sample, image_size);
SAME(Sampling(CounterData_GetSampleInfo), sampleIndex, sampling_sample, index); SAME(Sampling(CounterData_GetSampleInfo), startTimestamp, sampling_sample, start);
SAME(Sampling(CounterData_GetSampleInfo), endTimestamp, sampling_sample, end);
#define Ranges(name) CUpti_RangeProfiler_##name##_Params
GROWS(CUpti_Profiler_GetCounterAvailability_Params, ranges_availability, image); SAME(CUpti_Profiler_GetCounterAvailability_Params, ctx, ranges_availability, context);
SAME(CUpti_Profiler_GetCounterAvailability_Params, counterAvailabilityImageSize, ranges_availability, image_size);
SAME(CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage, ranges_availability, image);
GROWS(CUpti_RangeProfiler_Enable_Params, ranges_enable, object); SAME(Ranges(Enable), ctx, ranges_enable, context); SAME(Ranges(Enable), pRangeProfilerObject, ranges_enable, object);
SIZE(CUpti_RangeProfiler_Start_Params, ranges_object, object); SAME(Ranges(Start), pRangeProfilerObject, ranges_object, object);
SIZE(CUpti_RangeProfiler_Stop_Params, ranges_stop, has_all_passes); SAME(Ranges(Stop), pRangeProfilerObject, ranges_stop, object);
SAME(Ranges(Stop), isAllPassSubmitted, ranges_stop, has_all_passes);
SIZE(CUpti_RangeProfiler_SetConfig_Params, ranges_config, target_level); SAME(Ranges(SetConfig), pRangeProfilerObject, ranges_config, object);
SAME(Ranges(SetConfig), configSize, ranges_config, config_size); SAME(Ranges(SetConfig), pConfig, ranges_config, config);
SAME(Ranges(SetConfig), counterDataImageSize, ranges_config, image_size); SAME(Ranges(SetConfig), pCounterDataImage, ranges_config, image);
SAME(Ranges(SetConfig), range, ranges_config, mode); SAME(Ranges(SetConfig), replayMode, ranges_config, replay); SAME(Ranges(SetConfig), maxRangesPerPass, ranges_config, most_ranges);
SAME(Ranges(SetConfig), numNestingLevels, ranges_config, n_levels); SAME(Ranges(SetConfig), minNestingLevel, ranges_config, least_level);
SAME(Ranges(SetConfig), passIndex, ranges_config, pass); SAME(Ranges(SetConfig), targetNestingLevel, ranges_config, target_level);
SIZE(CUpti_RangeProfiler_DecodeData_Params, ranges_decode, n_dropped); SAME(Ranges(DecodeData), pRangeProfilerObject, ranges_decode, object);
SAME(Ranges(DecodeData), numOfRangeDropped, ranges_decode, n_dropped);
SIZE(CUpti_RangeProfiler_GetCounterDataSize_Params, ranges_image_size, image_size); SAME(Ranges(GetCounterDataSize), pMetricNames, ranges_image_size, names);
SAME(Ranges(GetCounterDataSize), numMetrics, ranges_image_size, n_names); SAME(Ranges(GetCounterDataSize), maxNumOfRanges, ranges_image_size, most_ranges);
SAME(Ranges(GetCounterDataSize), maxNumRangeTreeNodes, ranges_image_size, most_nodes); SAME(Ranges(GetCounterDataSize), counterDataSize, ranges_image_size, image_size);
SIZE(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, sampling_image, image); SAME(Ranges(CounterDataImage_Initialize), pRangeProfilerObject, sampling_image, object);
SAME(Ranges(CounterDataImage_Initialize), counterDataSize, sampling_image, image_size); SAME(Ranges(CounterDataImage_Initialize), pCounterData, sampling_image, image);
SIZE(CUpti_RangeProfiler_GetCounterDataInfo_Params, ranges_info, n_ranges); SAME(Ranges(GetCounterDataInfo), pCounterDataImage, ranges_info, image);
SAME(Ranges(GetCounterDataInfo), counterDataImageSize, ranges_info, image_size); SAME(Ranges(GetCounterDataInfo), numTotalRanges, ranges_info, n_ranges);
_Static_assert((int)COUNTERS_INVALID_PARAMETER == CUPTI_ERROR_INVALID_PARAMETER && (int)COUNTERS_OUT_OF_MEMORY == CUPTI_ERROR_OUT_OF_MEMORY &&
	(int)COUNTERS_INVALID_METRIC == CUPTI_ERROR_INVALID_METRIC_NAME && (int)COUNTERS_NOT_SUPPORTED == CUPTI_ERROR_NOT_SUPPORTED &&
	(int)COUNTERS_INSUFFICIENT_PRIVILEGES == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES &&
	(int)COUNTERS_VIRTUAL_PRIVILEGES == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES &&
	(int)COUNTERS_OF_RANGES == CUPTI_PROFILER_TYPE_RANGE_PROFILER && (int)COUNTERS_OF_SAMPLES == CUPTI_PROFILER_TYPE_PM_SAMPLING &&
	(int)SAMPLING_CYCLES == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL && (int)SAMPLING_NS == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL &&
	(int)SAMPLING_IMAGE_FULL == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL && (int)RANGES_AUTO == CUPTI_AutoRange &&
	(int)RANGES_KERNEL_REPLAY == CUPTI_KernelReplay, "numbers");
/* and functions take what ours are declared to */
#define TAKES(name, member, parameters) _Static_assert(__builtin_types_compatible_p(__typeof__(cupti##name(NULL)), CUptiResult), #name);
COUNTERS_FUNCTIONS(TAKES) SAMPLING_FUNCTIONS(TAKES) RANGES_FUNCTIONS(TAKES)
C
seen=0
for folder in "${headers[@]}"; do
	[ -n "$folder" ] && [ -e "$folder/cupti_pmsampling.h" ] || continue
	includes=
	for other in "${headers[@]}"; do [ -z "$other" ] || includes+=" -I$other"; done
	# shellcheck disable=SC2086
	${CC:-cc} -std=gnu11 -fsyntax-only -Istub -I"$folder" $includes -I"$TACHO_SOURCE_DIR/probes" same.c || wrong "NVIDIA's headers in $folder say otherwise"
	seen=$((seen + 1))
done
echo "compared with $seen versions of NVIDIA's headers"

# NVIDIA's own host half: chips by name need no GPU. What is counted by default fits in one pass, and what does not is found out.
IFS=: read -ra libraries <<<"${TACHO_CUPTI_LIBRARIES:-}"
seen=0
for library in "${libraries[@]}"; do
	[ -n "$library" ] && [ -e "$library" ] || continue
	for chip in TU102 GA100 GA102 AD102 GH100; do
		least=7
		[ $chip != AD102 ] || least=5 # it has no NVLink
		LD_LIBRARY_PATH=${library%/*} "$standins/counter_metrics" "$library" samples $chip default >out 2>err || wrong "$library: $chip: $(cat out err)"
		[ "$(wc -l <out)" -ge $least ] || wrong "$library: $chip counts $(cat out)"
		LD_LIBRARY_PATH=${library%/*} "$standins/counter_metrics" "$library" ranges $chip default >out 2>err || wrong "$library: ranges of $chip: $(cat out err)"
		[ "$(wc -l <out)" -ge 3 ] || wrong "$library: $chip counts $(cat out) by kernels"
	done
	LD_LIBRARY_PATH=${library%/*} "$standins/counter_metrics" "$library" samples GH100 sm__cycles_active.avg,nosuch__x,sm__warps_active.avg,smsp__inst_executed.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed >out 2>err
	grep -q "nosuch__x is not counted" err || wrong "$library: an unknown metric: $(cat err)"
	grep -q "cannot count it at once" err || wrong "$library: a second pass: $(cat err)"
	[ "$(head -1 out)" = sm__cycles_active.avg ] || wrong "$library: what is left: $(cat out)"
	seen=$((seen + 1))
done
echo "run on the host's half of $seen of NVIDIA's libraries"
exit $failed
