#!/usr/bin/env bash
# The CUDA probe, on stand-ins for NVIDIA's driver, runtime and CUPTI of majors 11 to 13: each piece of work of the device is where and as
# long as the stand-in had it, and belongs to its call; graphs, managed memory, threads, forks; and what goes wrong with CUPTI ends in a
# right timeline or a problem with a name. There is no GPU in it. TACHO_CUPTI_HEADERS may name folders (with a : between them) with
# NVIDIA's cupti.h and cuda.h, besides /usr/local/cuda/include: then the declarations are compared with theirs.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ulimit -c 0
standins=$TACHO_BUILD_DIR/tests/standins
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
score() { "$TACHO" info run --json | grep -o '"score":[0-9]*' | head -1 | cut -d: -f2; }
cupti() { ls "$standins/cuda/$1"/libcupti.so.*; }
# record MAJOR FAULTS SCENARIO [N]
record() {
	local major=$1 faults=$2
	shift 2
	rm -f truth
	STANDIN_FAULTS=$faults STANDIN_TRUTH=$work/truth TACHO_CUPTI=$(cupti "$major") \
		"$TACHO" record -q --force -o run -- "$standins/cuda_job" "$@" >out 2>err
	[ "$(tail -1 out)" = done ] || wrong "CUPTI $major '$faults' $*: $(cat out err)"
}
quiet() { [ ! -s err ] || wrong "$1: $(cat err)"; }

cat >compare.py <<'END_PYTHON'
"""compare.py LEAST APART_NS: what the device did is in the run, as the stand-in had it and no further off; LEAST of 100 pieces of work at least."""
import csv, os, statistics, subprocess, sys
out = subprocess.run([os.environ["TACHO"], "query", "run", "--format", "csv",
                      "select s.ts, s.dur, t.stream, s.category, c.ts as call_ts, c.name as call from slice s join gpu_track t on t.id = s.track_id "
                      "left join slice c on c.id = s.launch_id where s.category in ('kernel', 'memcpy', 'memset') order by s.ts"],
                     check=True, capture_output=True, text=True).stdout
found = list(csv.DictReader(out.splitlines()))
words = {"kernel": "kernel", "copy": "memcpy", "fill": "memset"}
told = []
for line in open("truth"):
    kind, stream, start, end, correlation = line.split()
    told.append((int(start), int(end) - int(start), int(stream), words[kind]))
told.sort()
least = int(sys.argv[1])
if len(found) > len(told) or 100 * len(found) < least * len(told):
    sys.exit(f"{len(found)} pieces of work, and not {len(told)}")
if not found:
    sys.exit(0)
# the run's times begin with its first record: how far the two clocks are apart is the same for all
def apart(row, one):
    return int(row["ts"]) - one[0]
if len(found) == len(told):
    shift = statistics.median(apart(row, one) for row, one in zip(found, told))
    for row, one in zip(found, told):
        if row["category"] != one[3] or int(row["stream"]) != one[2]:
            sys.exit(f"{row} is not {one}")
        if abs(apart(row, one) - shift) > int(sys.argv[2]) or abs(int(row["dur"]) - one[1]) > 15:
            sys.exit(f"{row} is {apart(row, one) - shift} ns off {one}")
else:
    lengths = {}
    for one in told:
        lengths.setdefault((one[2], one[3]), set()).add(one[1])
    for row in found:
        if not any(abs(int(row["dur"]) - ns) <= 15 for ns in lengths[(int(row["stream"]), row["category"])]):
            sys.exit(f"{row} was not told")
for row in found:
    if not row["call"] or int(row["ts"]) < int(row["call_ts"]):
        sys.exit(f"{row} is before its call, or has none")
END_PYTHON
# a clock that drifts by 200 of a million is followed after 50 ms: before, times are up to 10 us off
same() { /usr/bin/python3 compare.py "${2:-100}" "${3:-5000}" || wrong "$1: not what the device did"; }

for major in 11 12 13; do
	record $major "" train 20
	quiet "CUPTI $major"
	same "CUPTI $major"
	[ "$(score)" = 100 ] || wrong "CUPTI $major: trust $(score)"
	[ "$(ask "select count(*) from slice where category = 'runtime' and name = 'cudaLaunchKernel'")" = 100 ] || wrong "CUPTI $major: launches"
	[ "$(ask "select count(*) from slice where name glob 'cuMem*' or name = 'cuLaunchKernel' or name = 'cudaSetDevice'")" = 0 ] ||
		wrong "CUPTI $major: calls of the driver by the runtime, or cheap ones, are told"
	record $major "" graph 5
	quiet "CUPTI $major graph"
	[ "$(ask "select count(*) from flow f join slice s on s.id = f.slice_out where f.category = 'flow' and s.name = 'cudaLaunchKernel'")" = 10 ] ||
		wrong "CUPTI $major: what a graph did is not tied to what was captured"
done
record 12 "" train 20
[ "$(ask "select count(*), sum(bytes) from memory")" = 40,0 ] || wrong "memory: $(ask "select count(*), sum(bytes) from memory")"
[ "$(ask "select name, architecture, multiprocessors, memory_bytes from device")" = "Stand-in H100,9.0,132,85899345920" ] || wrong "device"
[ "$(ask "select count(*) from counter")" = 2 ] || wrong "memory pool"
# what comes before, in and after the device, by name (the stand-in submits a kernel 1 us after it is queued); the driver's memory beside its pools
"$TACHO" report run --view launch --steps all --json >launch.json
"$TACHO" report run --view memory_layers --json >layers.json
/usr/bin/python3 - <<'PYTHON' || wrong "views: $(cat launch.json layers.json)"
import json
rows = {row["name"]: row for row in json.load(open("launch.json"))}
assert all(row["before_mean_us"] >= 0 and row["call_mean_us"] > 0 and row["seen_mean_us"] > 0 for row in rows.values())
gemm = rows["ampere_sgemm_128x64_nn"]
assert gemm["count"] == 60 and abs(gemm["mean_us"] - 40) < 0.1
assert abs(gemm["queued_mean_us"] - gemm["submitted_mean_us"] - 1) < 0.1 and gemm["delay_mean_us"] < gemm["queued_mean_us"] + 1
assert rows["Memset (Device)"]["queued_mean_us"] is None
layers = {(row["layer"], row["name"]): (row["memory"], row["count"], row["peak_bytes"], row["last_bytes"]) for row in json.load(open("layers.json"))}
assert layers == {("driver", "blocks handed out"): ("gpu 0", 20, 1 << 20, 0), ("pool", "reserved"): ("gpu 0", 1, 2 << 20, 2 << 20),
                  ("pool", "used"): ("gpu 0", 1, 1 << 20, 1 << 20)}
PYTHON
[ "$(ask "select count(*) from slice where category = 'sync' and name in ('Stream Wait Event', 'Stream Sync', 'Context Sync')")" = 41 ] || wrong "waits"
[ "$(ask "select count(distinct int_value) from args where key = 'args.registers per thread' or key = 'registers'")" != 0 ] ||
	wrong "registers: $(ask "select distinct key from args" | paste -sd' ')"
if ! ldd "$TACHO" | grep -q libasan; then # its runtime wants to be the first library
	LD_PRELOAD=$(c++ -print-file-name=libstdc++.so.6) record 12 "" train 2
	[ "$(ask "select count(*) from slice where name like 'void at::native::elementwise%' or name like 'at::native::elementwise%'")" != 0 ] || wrong "names of C++"
fi

record 13 "" driver 5
same driver
[ "$(ask "select count(*) from slice where name = 'cuLaunchKernel'")" = 5 ] || wrong "the driver's own calls"
record 13 "" managed
[ "$(ask "select count(*) from slice where name = 'Memcpy HtoD (Unified Memory)'")" = 2 ] || wrong "unified memory"
[ "$(ask "select count(*) from slice where name = 'Memcpy PtoP (Device -> Device)'")" = 1 ] || wrong "a copy to another device"
record 12 "" threads 10
same threads
[ "$(score)" = 100 ] || wrong "threads: trust"
record 12 "" fork 5
[ "$(grep -c 'child 0' out)" = 2 ] || wrong "a child of a fork dies: $(cat out)"
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 75 ] || wrong "the children of a fork"
record 12 "" unload 5
same unload
"$TACHO" record -q --force -o run -- env TACHO_CUPTI="$(cupti 12)" "$standins/cuda_job" kill 5 >out 2>err
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 25 ] || wrong "kill: what was told a second before is missing"
[ "$(ask "select count(*) from slice where name = 'cudaLaunchKernel'")" = 26 ] || wrong "kill: calls"

# what others have recorded, played: kernels come out as they went in. TACHO_PLAYED may name another Kineto trace.
played=${TACHO_PLAYED:-$TACHO_SOURCE_DIR/tests/data/kineto/first.pt.trace.json}
for major in 11 12 13; do
	/usr/bin/python3 - "$played" >played <<'PYTHON' || wrong "$played cannot be played"
import gzip, json, sys
path = sys.argv[1]
trace = json.load((gzip.open if path.endswith(".gz") else open)(path, "rt"))
rows = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") in ("kernel", "Kernel")]
for e in sorted(rows, key=lambda e: e["ts"])[:1000]:
    args = e.get("args", {})
    print("kernel", min(int(1000 * float(e["dur"])), 200000), (args.get("grid") or [1])[0], (args.get("block") or [1])[0],
          int(args.get("shared memory", 0)), e["name"])
PYTHON
	PLAYED=played record $major "" played
	cut -d' ' -f2,6- played | sort >want
	ask "select dur || ' ' || name from slice where category in ('kernel', 'collective') order by ts" | sed 's/^"//; s/"$//; s/""/"/g' | sort >have
	[ -s want ] && /usr/bin/python3 - <<'PYTHON' || wrong "what $played has is not what came of it with CUPTI $major"
want, have = ([line.rstrip("\n").split(" ", 1) for line in open(name)] for name in ("want", "have"))
by_name = lambda rows: sorted((name, int(ns)) for ns, name in rows)
want, have = by_name(want), by_name(have)
assert len(want) == len(have) and all(a[0] == b[0] and abs(a[1] - b[1]) <= 2 for a, b in zip(want, have)), (len(want), len(have))
PYTHON
done

# what goes wrong, and ends well
for fault in late reverse unknown strange threads threads,reverse,late noclock noclock,drift noexit; do
	record 12 $fault train 20
	quiet "$fault"
	[ $fault = noexit ] || same "$fault" 100 $([ $fault != noclock,drift ] || echo 15000)
	[ "$(score)" = 100 ] || [ $fault = noexit ] || wrong "$fault: trust $(score)"
done
record 12 noclock,drift train 1000
[ "$(ask "select max(abs(dur - 40000)) <= 20 from slice where name like '%sgemm%'")" = 1 ] || wrong "a clock that drifts is not followed"
# ... and in a problem
lowered() { [ "$(score)" -lt 90 ] || wrong "$1: trust is $(score)"; "$TACHO" info run | grep -q "$2" || wrong "$1 is not called '$2'"; }
record 12 dropped train 20
lowered dropped "lost records: 22"
same dropped 85
record 12 short train 20
"$TACHO" info run | grep -q "lost records: [1-9]" || wrong "a record that is cut is not counted"
for fault in zero backwards early; do
	record 12 $fault train 21
	lowered $fault "impossible time: 15"
	same $fault 85
done
record 12 noclock,jump train 60
lowered jump "lost records"
grep -q "clock has jumped" err || wrong "jump: nobody says so"
same jump 0
record 12 noenter train 5
[ "$(ask "select count(*), sum(category = 'kernel') from slice where category in ('kernel', 'runtime')")" = 25,25 ] || wrong "ends of calls without begins"
record 13 busy train 5
grep -q "CUPTI is in use by CUPTI for Nsight Systems" err || wrong "busy: $(cat err)"
grep -q "in use by CUPTI for Nsight Systems" run/unseen || wrong "busy: the run does not say so"
record 12 busy train 5
grep -q "CUPTI is in use by another tool" err || wrong "busy, without a name: $(cat err)"
record 12 refuses train 5
grep -q "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" err || wrong "refuses: $(cat err)"
TACHO_CUPTI=/nowhere/libcupti.so "$TACHO" record -q --force -o run -- "$standins/cuda_job" train 2 >out 2>err
grep -q "CUPTI cannot be used: /nowhere" err || wrong "no CUPTI: $(cat err)"
[ "$(cat out)" = done ] || wrong "no CUPTI: the job says $(cat out)"

# steps that are not wanted, other tools
CUDA_INJECTION64_PATH=/other/tool.so "$TACHO" record --force -o run -- "$standins/cuda_job" train 1 >out 2>err
grep -q 'CUDA_INJECTION64_PATH names /other/tool.so already' err || wrong "nobody says that another tool was there first"
record 12 "" train 3
"$TACHO" record -q --probes socket --force -o run -- "$standins/cuda_job" train 2 >out 2>err
[ ! -s err ] || wrong "without the probe: $(cat err)"
[ "$(CUDA_INJECTION64_PATH=$TACHO_BUILD_DIR/lib/tacho/libtacho_cuda.so "$standins/cuda_job" train 2 2>&1)" = done ] ||
	wrong "the library without the agent does something"

# all in one program, which the sanitizers see where they are built in
for fault in "" late,reverse threads short unknown dropped zero noclock,drift strange noenter noexit; do
	for scenario in train graph managed threads; do
		rm -rf whole
		mkdir whole
		STANDIN_FAULTS=$fault TACHO_CUPTI=$(cupti 13) TACHO_RUN_DIR=whole CUDA_INJECTION64_PATH=INSIDE ASAN_OPTIONS=detect_leaks=0 \
			"$standins/cuda_job_whole" $scenario 5 >out 2>err || wrong "whole, '$fault' $scenario: ended with $?"
		[ ! -s err ] || wrong "whole, '$fault' $scenario: $(head -20 err)"
		ls whole/*/metadata >/dev/null || wrong "whole, '$fault' $scenario: nothing was recorded"
	done
done

# NVIDIA's headers
IFS=: read -ra headers <<<"${TACHO_CUPTI_HEADERS:-}:/usr/local/cuda/include"
mkdir -p stub/crt
for macro in __device_builtin__ __device_builtin_texture_type__ __device_builtin_surface_type__ __cudart_builtin__ __host__ __device__ __global__ CUDARTAPI \
	CUDARTAPI_CDECL CUDAAPI __no_return__ __noinline__; do
	echo "#define $macro"
done >stub/crt/host_defines.h
printf '#define __align__(n) __attribute__((aligned(n)))\n#define __builtin_align__(a) __attribute__((aligned(a)))\n#define __forceinline__ inline\n' >>stub/crt/host_defines.h
cat >same.c <<'C'
#include <stddef.h>
#include <cuda.h>
#include <cupti_result.h>
#include <cupti_callbacks.h>
#include <cupti_activity.h>
#define CUPTI_SUCCESS OURS
#include "cuda/cupti_abi.h"
#undef CUPTI_SUCCESS
#define SAME(theirs, their_member, ours, our_member) _Static_assert(offsetof(theirs, their_member) == offsetof(struct ours, our_member) && \
	sizeof(((theirs *)0)->their_member) == sizeof(((struct ours *)0)->our_member), #theirs "." #their_member)
#define TIMES(theirs, ours) SAME(theirs, kind, ours, kind); SAME(theirs, start, ours, start); SAME(theirs, end, ours, end)
#define PLACE(theirs, ours) SAME(theirs, deviceId, ours, device); SAME(theirs, contextId, ours, context); SAME(theirs, streamId, ours, stream); \
	SAME(theirs, correlationId, ours, correlation); SAME(theirs, graphNodeId, ours, graph_node)
TIMES(Kernel, cupti_kernel); PLACE(Kernel, cupti_kernel);
SAME(Kernel, registersPerThread, cupti_kernel, registers); SAME(Kernel, gridX, cupti_kernel, grid[0]); SAME(Kernel, blockZ, cupti_kernel, block[2]);
SAME(Kernel, staticSharedMemory, cupti_kernel, static_shared); SAME(Kernel, dynamicSharedMemory, cupti_kernel, dynamic_shared);
SAME(Kernel, name, cupti_kernel, name); SAME(Kernel, queued, cupti_kernel, queued); SAME(Kernel, submitted, cupti_kernel, submitted);
TIMES(Memcpy, cupti_memcpy); PLACE(Memcpy, cupti_memcpy); SAME(Memcpy, copyKind, cupti_memcpy, copy_kind); SAME(Memcpy, srcKind, cupti_memcpy, source_kind);
SAME(Memcpy, dstKind, cupti_memcpy, target_kind); SAME(Memcpy, bytes, cupti_memcpy, bytes);
TIMES(CUpti_ActivityMemcpyPtoP4, cupti_memcpy_peer); PLACE(CUpti_ActivityMemcpyPtoP4, cupti_memcpy_peer);
SAME(CUpti_ActivityMemcpyPtoP4, srcDeviceId, cupti_memcpy_peer, source_device); SAME(CUpti_ActivityMemcpyPtoP4, dstDeviceId, cupti_memcpy_peer, target_device);
TIMES(Memset, cupti_memset); PLACE(Memset, cupti_memset); SAME(Memset, bytes, cupti_memset, bytes); SAME(Memset, memoryKind, cupti_memset, memory_kind);
TIMES(Sync, cupti_synchronization); SAME(Sync, type, cupti_synchronization, type); SAME(Sync, correlationId, cupti_synchronization, correlation);
SAME(Sync, contextId, cupti_synchronization, context); SAME(Sync, streamId, cupti_synchronization, stream); SAME(Sync, cudaEventId, cupti_synchronization, event);
SAME(Event, correlationId, cupti_cuda_event, correlation); SAME(Event, contextId, cupti_cuda_event, context); SAME(Event, streamId, cupti_cuda_event, stream);
SAME(Event, eventId, cupti_cuda_event, event);
TIMES(Overhead, cupti_overhead); SAME(Overhead, overheadKind, cupti_overhead, overhead_kind);
TIMES(Uvm, cupti_unified_memory); SAME(Uvm, counterKind, cupti_unified_memory, counter_kind); SAME(Uvm, value, cupti_unified_memory, value);
SAME(Uvm, srcId, cupti_unified_memory, source); SAME(Uvm, dstId, cupti_unified_memory, target); SAME(Uvm, streamId, cupti_unified_memory, stream);
SAME(Pool, deviceId, cupti_memory_pool, device); SAME(Pool, size, cupti_memory_pool, bytes); SAME(Pool, timestamp, cupti_memory_pool, timestamp);
SAME(Pool, utilizedSize, cupti_memory_pool, used_bytes);
SAME(Context, contextId, cupti_context, context); SAME(Context, deviceId, cupti_context, device);
SAME(Device, globalMemoryBandwidth, cupti_device, kilobytes_per_s); SAME(Device, globalMemorySize, cupti_device, memory_bytes);
SAME(Device, numThreadsPerWarp, cupti_device, warp_threads); SAME(Device, coreClockRate, cupti_device, clock_khz);
SAME(Device, numMultiprocessors, cupti_device, n_multiprocessors); SAME(Device, maxWarpsPerMultiprocessor, cupti_device, warps);
SAME(Device, maxSharedMemoryPerMultiprocessor, cupti_device, shared_bytes); SAME(Device, maxRegistersPerMultiprocessor, cupti_device, registers);
SAME(Device, maxRegistersPerBlock, cupti_device, block_registers); SAME(Device, maxSharedMemoryPerBlock, cupti_device, block_shared_bytes);
SAME(Device, maxThreadsPerBlock, cupti_device, block_threads); SAME(Device, computeCapabilityMajor, cupti_device, major); SAME(Device, id, cupti_device, device);
SAME(Device, name, cupti_device, name);
SAME(CUpti_CallbackData, callbackSite, cupti_call, site); SAME(CUpti_CallbackData, functionName, cupti_call, function);
SAME(CUpti_CallbackData, functionParams, cupti_call, parameters); SAME(CUpti_CallbackData, functionReturnValue, cupti_call, result);
SAME(CUpti_CallbackData, symbolName, cupti_call, symbol); SAME(CUpti_CallbackData, context, cupti_call, context); SAME(CUpti_CallbackData, correlationId, cupti_call, correlation);
SAME(CUpti_ResourceData, resourceDescriptor, cupti_resource, descriptor);
SAME(CUpti_GraphData, node, cupti_graph, node); SAME(CUpti_GraphData, originalNode, cupti_graph, original_node);
SAME(CUpti_ActivityUnifiedMemoryCounterConfig, scope, cupti_unified_memory_config, scope);
SAME(CUpti_ActivityUnifiedMemoryCounterConfig, enable, cupti_unified_memory_config, enable);
#if MAJOR >= 13
SAME(CUpti_SubscriberParams, oldSubscriberName, cupti_subscriber, old_name); SAME(CUpti_SubscriberParams, oldSubscriberSize, cupti_subscriber, old_name_size);
#endif
_Static_assert((int)CUPTI_CONCURRENT_KERNEL == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && (int)CUPTI_MEMCPY_PEER == (int)CUPTI_ACTIVITY_KIND_MEMCPY2 &&
	(int)CUPTI_MEMORY_POOL == (int)CUPTI_ACTIVITY_KIND_MEMORY_POOL && (int)CUPTI_CUDA_EVENT == (int)CUPTI_ACTIVITY_KIND_CUDA_EVENT &&
	(int)CUPTI_UNIFIED_MEMORY == (int)CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER && (int)CUPTI_RESOURCE == (int)CUPTI_CB_DOMAIN_RESOURCE &&
	(int)CUPTI_CONTEXT_CREATED == (int)CUPTI_CBID_RESOURCE_CONTEXT_CREATED && (int)CUPTI_GRAPH_NODE_CLONED == (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED && (int)CUPTI_UVM_DTOD == (int)CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD &&
	(int)CUPTI_CONTEXT_SYNC == (int)CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE &&
	(int)CUPTI_MULTIPLE_SUBSCRIBERS == (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "numbers");
C
# newest NAME HEADER: the struct of that name with the highest number
newest() { grep -o "^} CUpti_Activity$1[0-9]*;" "$2" | tr -d '};' | tr -d ' ' | sort -V | tail -1; }
seen=0
for folder in "${headers[@]}"; do
	header=$folder/cupti_activity.h
	[ -n "$folder" ] && [ -e "$header" ] || continue
	version=$(grep -o 'CUPTI_API_VERSION [0-9]*' "$folder/cupti_version.h" | tail -1 | cut -d' ' -f2)
	major=11
	[ "$version" -lt 19 ] 2>/dev/null || major=12
	[ "$version" -lt 100000 ] || major=13
	includes=
	for other in "${headers[@]}"; do [ -z "$other" ] || includes+=" -I$other"; done
	# shellcheck disable=SC2086
	${CC:-cc} -std=gnu11 -fsyntax-only -Istub -I"$folder" $includes -I"$TACHO_SOURCE_DIR/probes" -DMAJOR=$major \
		-DKernel="$(newest Kernel "$header")" -DMemcpy="$(newest Memcpy "$header")" -DMemset="$(newest Memset "$header")" \
		-DSync="$(newest Synchronization "$header")" -DEvent="$(newest CudaEvent "$header")" -DOverhead="$(newest Overhead "$header")" \
		-DUvm="$(newest UnifiedMemoryCounter "$header")" -DPool="$(newest MemoryPool "$header")" -DContext="$(newest Context "$header")" \
		-DDevice="$(newest Device "$header")" same.c || wrong "NVIDIA's headers in $folder say otherwise"
	seen=$((seen + 1))
done
echo "compared with $seen versions of NVIDIA's headers"
exit $failed
