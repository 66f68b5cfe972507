#!/usr/bin/env bash
# The rocprofiler probe, on a stand-in for AMD's HIP, rocprofiler-sdk of ROCm 6 and 7, and devices: each piece of work of the device is where and as long as the
# stand-in had it, and belongs to its call; ranges, threads, forks, another tool; and what goes wrong ends in a right timeline or a problem with a name. There is no
# GPU in it. TACHO_ROCPROFILER_HEADERS may name folders (with a : between them) that have rocprofiler-sdk/fwd.h: then the declarations are compared with AMD's.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ulimit -c 0
standins=$TACHO_BUILD_DIR/tests/standins
job=$standins/rocprofiler_job
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
score() { "$TACHO" info run --json | grep -o '"score":[0-9]*' | head -1 | cut -d: -f2; }
counted=
options=
# record MAJOR FAULTS SCENARIO [N]; what $counted names is counted
record() {
	local major=$1 faults=$2
	shift 2
	rm -f truth counts
	LD_LIBRARY_PATH=$standins/rocprofiler/$major STANDIN_FAULTS=$faults STANDIN_TRUTH=$work/truth STANDIN_COUNTS=$work/counts \
		"$TACHO" record -q --probes all,rocprofiler ${counted:+"--kernel-counters=$counted"} $options --force -o run -- "$job" "$@" >out 2>err
	[ "$(tail -1 out)" = done ] || wrong "$major '$faults' $*: $(cat out err)"
}
quiet() { [ ! -s err ] || wrong "$1: $(cat err)"; }
cat >compare.py <<'END_PYTHON'
"""compare.py LEAST: what the device did is in the run, as the stand-in had it; LEAST of 100 pieces of work at least."""
import csv, os, statistics, subprocess, sys
out = subprocess.run([os.environ["TACHO"], "query", "run", "--format", "csv",
                      "select s.ts, s.dur, s.category, c.ts as call_ts, c.name as call from slice s join gpu_track t on t.id = s.track_id "
                      "left join slice c on c.id = s.launch_id where s.category in ('kernel', 'memcpy') order by s.ts, s.dur"],
                     check=True, capture_output=True, text=True).stdout
found = list(csv.DictReader(out.splitlines()))
words = {"kernel": "kernel", "copy": "memcpy"}
told = sorted((int(start), int(end) - int(start), words[kind]) for kind, _, start, end, _ in (line.split() for line in open("truth")))
least = int(sys.argv[1])
if len(found) > len(told) or 100 * len(found) < least * len(told):
    sys.exit(f"{len(found)} pieces of work, and not {len(told)}")
if len(found) == len(told) and found:
    shift = statistics.median(int(row["ts"]) - one[0] for row, one in zip(found, told))
    for row, one in zip(found, told):
        if row["category"] != one[2] or abs(int(row["dur"]) - one[1]) > 30 or abs(int(row["ts"]) - one[0] - shift) > 20000:
            sys.exit(f"{row} is not {one}")
launching = {"kernel": "hipLaunchKernel", "memcpy": "hipMemcpyAsync"}
for row in found:
    if row["call"] != launching[row["category"]] or int(row["ts"]) < int(row["call_ts"]):
        sys.exit(f"{row} is before its call, or has none")
END_PYTHON
same() { /usr/bin/python3 compare.py "${2:-100}" || wrong "$1: not what the device did"; }

for major in 0 1; do
	record $major "" train 20
	quiet "$major"
	same "$major"
	[ "$(score)" = 100 ] || wrong "$major: trust $(score)"
	[ "$(ask "select s.name, count(*) from slice s join gpu_track t on t.id = s.track_id group by 1 order by 1" | paste -sd' ')" = \
		"Cijk_Ailk_Bljk_SB_MT128x128,60 Memcpy DtoH,20 Memcpy HtoD,20 Memcpy PtoP,20 _Z3addPf,40" ] || \
		[ "$(ask "select count(*) from slice where category = 'kernel'")" = 100 ] || wrong "$major: other work"
	[ "$(ask "select name, count(*) from slice where name in ('hipMalloc', 'hipFree', 'hipLaunchKernel', 'hipMemcpyAsync', 'hipDeviceSynchronize', 'ncclAllReduce') group by 1 order by 1" |
		paste -sd' ')" = "hipDeviceSynchronize,20 hipFree,20 hipLaunchKernel,100 hipMalloc,20 hipMemcpyAsync,60 ncclAllReduce,20" ] || wrong "$major: calls"
	[ "$(ask "select name, count(*) from slice where name in ('step', 'forward') group by 1 order by 1" | paste -sd' ')" = "forward,20 step,20" ] || wrong "$major: ranges"
	[ "$(ask "select count(*) from mark where name = 'ROCTx: step ends'")" = 20 ] || wrong "$major: marks"
	[ "$(ask "select count(*), sum(bytes) from memory")" = 40,0 ] || wrong "$major: memory: $(ask "select count(*), sum(bytes) from memory")"
	[ "$(ask "select name, architecture, multiprocessors, memory_bytes from device order by device limit 1")" = "Stand-in MI300X,gfx942,304,206158430208" ] || wrong "$major: device"
done
[ "$(ask "select count(distinct c.track_id) from slice s join slice c on c.id = s.launch_id where s.category = 'kernel'")" = 1 ] || wrong "calls are not in their thread"
[ "$(ask "select count(*) from slice where name glob 'hsa_*'")" = 0 ] || wrong "calls of HSA are told though nobody asks"
TACHO_ROCPROFILER=hsa record 1 "" train 5
same "calls of HSA"
[ "$(ask "select count(*) from slice s join slice p on p.id = s.parent_id where s.name = 'hsa_signal_store_screlease' and p.name = 'hipLaunchKernel'")" = 25 ] || wrong "calls of HSA within those of HIP"
record 1 "" threads 10
same threads
[ "$(score)" = 100 ] || wrong "threads: trust $(score)"
[ "$(ask "select count(distinct c.track_id) from slice s join slice c on c.id = s.launch_id where s.category = 'kernel'")" = 4 ] || wrong "threads: calls are not in their threads"
record 1 "" fork 5
[ "$(grep -c 'child 0' out)" = 2 ] || wrong "a child of a fork dies: $(cat out)"
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 50 ] || wrong "fork: $(ask "select count(*) from slice where category = 'kernel'") kernels"
record 1 "" unload 5
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 51 ] || wrong "unload: kernels"
LD_LIBRARY_PATH=$standins/rocprofiler/1 "$TACHO" record -q --probes all,rocprofiler --force -o run -- "$job" kill 200 >out 2>err
[ "$(ask "select count(*) > 500 from slice where category = 'kernel'")" = 1 ] || wrong "kill: $(ask "select count(*) from slice where category = 'kernel'") kernels"

# some steps, and ranks that are recorded in part: work and its counters come and go, ranges stay
counted=SQ_WAVES
for options in "--steps 5:9" "--control 5"; do
	record 1 "" steps 20
	n=$([ "$options" = "--control 5" ] && echo 75 || echo 25)
	[ "$(ask "select count(*) from slice where category = 'kernel'")" = "$n" ] || wrong "$options: $(ask "select count(*) from slice where category = 'kernel'") kernels, not $n"
	[ "$(ask "select count(*) from counter c join counter_track t on t.id = c.track_id where t.name = 'SQ_WAVES'")" = "$n" ] || wrong "$options: counters"
	[ "$(score)" = 100 ] || wrong "$options: trust $(score)"
done
options="--ranks 0"
RANK=1 WORLD_SIZE=2 record 1 "" train 20
[ "$(ask "select category, count(*) from slice group by 1")" = annotation,40 ] || wrong "--ranks: $(ask "select category, count(*) from slice group by 1")"
options=
counted=

# what goes wrong, and ends well
for fault in late reverse unknown scratch noexit; do
	record 1 $fault train 20
	quiet "$fault"
	[ $fault = noexit ] || same "$fault"
	[ "$(score)" = 100 ] || [ $fault = noexit ] || wrong "$fault: trust $(score)"
done
for major in 0 1; do
	record $major scratch train 5
	[ "$(ask "select name, dur between 990 and 1010 from slice where name like 'Scratch%'")" = "Scratch memory: allocated,1" ] || wrong "$major: scratch memory"
done
record 1 unnamed train 5
[ "$(ask "select count(*) from slice where name in ('kernel 1', 'kernel 2')")" = 25 ] || wrong "kernels without names"
record 1 noenter train 5
[ "$(ask "select count(*), sum(category = 'kernel') from slice where category in ('kernel', 'runtime')")" = 25,25 ] || wrong "ends of calls without begins"
# ... and in a problem
lowered() { [ "$(score)" -lt 95 ] || wrong "$1: trust is $(score)"; "$TACHO" info run | grep -q "$2" || wrong "$1 is not called '$2': $("$TACHO" info run | tail -20)"; }
record 1 dropped train 21
"$TACHO" info run | grep -q "lost records: 24" || wrong "dropped records are not counted"
same dropped 80
record 1 short train 21
"$TACHO" info run | grep -q "lost records: 24" || wrong "records that are cut are not counted"
for fault in zero backwards early; do
	record 1 $fault train 21
	lowered $fault "impossible time: 24"
done
record 1 jump train 300
"$TACHO" info run | grep -q "lost records" || wrong "a clock that jumps is no problem"
grep -q "clock has jumped" err || wrong "jump: nobody says so"
[ "$(ask "select max(dur) < 100000 from slice where category = 'kernel'")" != 0 ] || wrong "a jump makes kernels long"
record 1 refuses train 5
grep -q "tells nothing of kernels" err || wrong "refuses: $(cat err)"
grep -q "tells nothing of kernels" run/unseen || wrong "refuses: the run does not say so"
record 1 nocontext train 5
grep -q "gives no context" err || wrong "no context: $(cat err)"
for version in 300 700 20000; do
	STANDIN_VERSION=$version record 1 "" train 2
	grep -q "is not one of those that are known" err || wrong "version $version: $(cat err)"
done

# counters of kernels: each has the stand-in's sum of its instances, at the begin of its kernel
of_kernels="from counter c join counter_track t on t.id = c.track_id join slice s on s.ts = c.ts and s.category = 'kernel' where t.name"
# counts WHAT NAME N: so many values of the counter, each its kernel's
counts() {
	ask "select printf('%.0f', c.value) $of_kernels = '$2' order by c.ts" >values
	awk -v name="$2" '$2 == name { print $1, $3 }' counts | sort -n | cut -d' ' -f2 >expected
	[ "$(wc -l <values)" = "$3" ] || wrong "$1: $(wc -l <values) values of $2"
	cmp -s values expected || wrong "$1: values of $2 are not those of their kernels"
}
for major in 0 1; do
	for fault in "" late countlate reverse; do
		counted="SQ_WAVES,NO_SUCH|TCC_HIT"
		record $major "$fault" train 20
		quiet "counters, $major '$fault'"
		counts "counters, $major '$fault'" SQ_WAVES 100
		counts "counters, $major '$fault'" TCC_HIT 100
		[ "$(score)" = 100 ] || wrong "counters, $major '$fault': trust $(score)"
	done
	"$TACHO" report run --view kernel_counters --steps all --json >view.json
	[ "$(grep -c '"counter":"SQ_WAVES"' view.json)" = 2 ] || wrong "the view has not the counters: $(head -c 300 view.json)"
	counted=default
	record $major "" train 5
	quiet "default counters, $major"
	[ "$(ask "select count(distinct t.name), count(*) $of_kernels glob '[GS]*'")" = 7,175 ] || wrong "$major: the default list: $(ask "select t.name, count(*) $of_kernels glob '*' group by 1")"
done
counted=SQ_WAVES
record 1 "" threads 10
counts "counters, threads" SQ_WAVES 200
record 1 "" together 10
counts "kernels that wait for other ranks" SQ_WAVES 10
record 1 "" fork 5
counts "counters, fork" SQ_WAVES 50
counted="TCC_MISS|TCC_HIT,NO_SUCH|SQ_WAVES|SQ_INSTS_VALU" # the device tells of them the other way round
record 1 "" train 5
counts "the first of several names" TCC_MISS 25
counts "the first that there is" SQ_WAVES 25
[ "$(ask "select count(distinct t.name) $of_kernels glob '[TS]*'")" = 2 ] || wrong "of several names more than one is counted"
counted=SQ_WAVES
record 1 nocounting train 5
grep -q "refuses to count kernels" err && grep -q "hardware counters" run/unseen || wrong "counting is refused: $(cat err)"
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 25 ] || wrong "counting is refused: kernels"
record 1 countwrong train 5
[ "$(ask "select count(*) $of_kernels = 'SQ_WAVES'")" = 0 ] && "$TACHO" info run --json | grep -q '"dropped_events":25,' || wrong "values of another dispatch: $("$TACHO" info run | tail -3)"
counted=NO_SUCH,SQ_WAVES,GRBM_COUNT,GRBM_GUI_ACTIVE,SQ_INSTS_VALU,SQ_INSTS_SALU,SQ_INSTS_LDS,TCC_HIT,TCC_MISS
record 1 "" train 5
grep -q "device 0 has no counter NO_SUCH" err || wrong "a counter that there is not: $(cat err)"
grep -q "device 0 cannot count TCC_MISS together with those before" err || wrong "a counter that does not fit: $(cat err)"
counts "those that fit" TCC_HIT 25
counted=NO_SUCH
record 1 "" train 5
grep -q "of device 0 no counters are left" err || wrong "none are left: $(cat err)"
counted=
"$TACHO" record --probes all,rocprofiler --kernel-counters "SQ WAVES" --force -o run -- true 2>err && wrong "a name with a space is taken"
grep -q "rocprofiler-sdk's, as in SQ_WAVES" err || wrong "a name with a space: $(cat err)"

# other tools, other probes, and none
for order in before alone; do
	[ $order = alone ] || export ROCP_TOOL_LIBRARIES=$standins/rocprofiler/librocprofiler_other.so
	rm -f other
	STANDIN_OTHER=$work/other record 1 "" train 5
	quiet "other tool $order"
	[ "$(ask "select count(*) from slice where category = 'kernel'")" = 25 ] || wrong "other tool $order: kernels"
	[ $order = alone ] || [ "$(cat other)" = 25 ] || wrong "the other tool has $(cat other) kernels"
	unset ROCP_TOOL_LIBRARIES
done
for other in hsa hip; do
	"$TACHO" record --probes all,rocprofiler,$other --force -o run -- true >out 2>err && wrong "rocprofiler and $other are both taken"
	grep -q "rocprofiler records what $other does" err || wrong "rocprofiler and $other: $(cat err)"
done
HSA_TOOLS_LIB=$TACHO_BUILD_DIR/lib/tacho/libtacho_hsa.so record 1 "" train 2
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 0 ] || wrong "work is recorded twice beside the HSA probe"
"$TACHO" record -q --force -o run -- "$job" train 2 >out 2>err
[ "$(cat out)" = done ] && [ "$(ask "select count(*) from slice where category = 'kernel'")" = 0 ] || wrong "the probe is used though nobody asks for it"
[ "$(ROCP_TOOL_LIBRARIES=$TACHO_BUILD_DIR/lib/tacho/libtacho_rocprofiler.so "$job" train 2 2>&1)" = done ] || wrong "the library without the agent does something"

# all in one program, which the sanitizers see where they are built in
for fault in "" late,reverse short unknown dropped zero noenter noexit unnamed scratch countlate; do
	for scenario in train threads fork; do
		rm -rf whole
		mkdir whole
		STANDIN_FAULTS=$fault TACHO_KERNEL_COUNTERS=default TACHO_RUN_DIR=whole ROCP_TOOL_LIBRARIES=INSIDE ASAN_OPTIONS=detect_leaks=0 \
			"${job}_whole" $scenario 5 >out 2>err || wrong "whole, '$fault' $scenario: ended with $?"
		[ ! -s err ] || wrong "whole, '$fault' $scenario: $(head -20 err)"
		ls whole/*/metadata >/dev/null || wrong "whole, '$fault' $scenario: nothing was recorded"
	done
done

# AMD's headers; those of HIP, HSA and others that they look for are empty here
mkdir -p stub/hsa stub/hsakmt stub/rocprofiler-sdk/hip stub/rocprofiler-sdk/kfd stub/rocprofiler-sdk/rocdecode
for name in hip hsa marker rccl; do
	printf 'typedef struct { char c; } rocprofiler_%s_api_args_t, rocprofiler_%s_api_retval_t;\n' $name $name >stub/rocprofiler-sdk/$name.h
done
for name in rocdecode rocjpeg; do
	printf '#pragma once\ntypedef struct { char c; } rocprofiler_%s_api_args_t, rocprofiler_%s_api_retval_t;\ntypedef int rocprofiler_%s_api_id_t;\n' $name $name $name >stub/rocprofiler-sdk/$name.h
done
echo '#include <rocprofiler-sdk/hip.h>' >stub/rocprofiler-sdk/hip/api_args.h
sed -i '1i #pragma once' stub/rocprofiler-sdk/h*.h
printf '#if __has_include(<rocprofiler-sdk/hsa/scratch_memory_id.h>)\n#include <rocprofiler-sdk/hsa/scratch_memory_id.h>\n#endif\n' >>stub/rocprofiler-sdk/hsa.h
mkdir -p stub/rocprofiler-sdk/hsa && touch stub/rocprofiler-sdk/version.h stub/rocprofiler-sdk/hsa/api_trace_version.h
echo '#include <rocprofiler-sdk/rocdecode.h>' | tee stub/rocprofiler-sdk/rocdecode/api_args.h >stub/rocprofiler-sdk/rocdecode/api_id.h
echo 'typedef struct { char c; } rocprofiler_ompt_args_t;' >stub/rocprofiler-sdk/ompt.h
for kind in event_page_migrate event_page_fault event_queue event_unmap_from_gpu event_dropped_events page_migrate page_fault queue; do
	echo "typedef int rocprofiler_kfd_${kind}_operation_t;"
done >stub/rocprofiler-sdk/kfd/kfd_id.h
printf '#pragma once\n#include <stdint.h>\ntypedef struct { uint64_t handle; } hsa_agent_t;\ntypedef int hsa_amd_tool_event_kind_t;\ntypedef int rocprofiler_scratch_memory_args_t;\n' >stub/hsa/hsa.h
printf '#pragma once\n#include <hsa/hsa.h>\nenum { HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_USE_ONCE = 1, HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_ALT = 2 };\n' >stub/hsa/hsa_amd_tool.h
echo '#include <hsa/hsa.h>' | tee stub/hsa/hsa_ext_amd.h stub/hsa/amd_hsa_kernel_code.h >/dev/null
echo 'enum { HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_NONE, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY };' >stub/hsa/hsa_ven_amd_loader.h
for name in HSA_ENGINE_VERSION HSA_ENGINE_ID HSA_CAPABILITY HSA_LINKPROPERTY HSA_MEMORYPROPERTY HsaCacheType; do
	echo "typedef union { unsigned value; } $name;"
done >stub/hsakmt/hsakmttypes.h
printf 'typedef int HSA_IOLINKTYPE;\ntypedef int HSA_HEAPTYPE;\n' >>stub/hsakmt/hsakmttypes.h
cat >same.c <<'C'
#include <stddef.h>
#include <rocprofiler-sdk/fwd.h>
#include <rocprofiler-sdk/agent.h>
#include <rocprofiler-sdk/hsa.h>
#include <rocprofiler-sdk/buffer_tracing.h>
#include <rocprofiler-sdk/callback_tracing.h>
#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/counters.h>
#if __has_include(<rocprofiler-sdk/dispatch_counting_service.h>)
#include <rocprofiler-sdk/dispatch_counting_service.h>
#define COUNTED rocprofiler_dispatch_counting_service_data_t
#define HAS_NEW_SERVICE 1
__typeof__(rocprofiler_configure_callback_dispatch_counting_service) *counting;
#else
#include <rocprofiler-sdk/dispatch_profile.h>
#define COUNTED rocprofiler_profile_counting_dispatch_data_t
#define HAS_NEW_SERVICE 0
__typeof__(rocprofiler_configure_callback_dispatch_profile_counting_service) *counting;
#endif
#if IS_NEW
#define VALUE rocprofiler_counter_record_t
__typeof__(rocprofiler_create_counter_config) *config;
#else
#define VALUE rocprofiler_record_counter_t
__typeof__(rocprofiler_create_profile_config) *config;
#endif
#include "rocprofiler/rocprofiler_abi.h"
#define SAME(theirs, their_member, ours, our_member) _Static_assert(offsetof(theirs, their_member) == offsetof(struct ours, our_member) && \
	sizeof(((theirs *)0)->their_member) == sizeof(((struct ours *)0)->our_member), #theirs "." #their_member)
#if IS_NEW
#define CALL rocp_call_1
SAME(rocprofiler_callback_tracing_record_t, correlation_id.ancestor, rocp_call_1, ancestor);
#else
#define CALL rocp_call_0
#endif
#define SAME_CALL(theirs, ours) SAME(rocprofiler_callback_tracing_record_t, theirs, CALL, ours)
SAME_CALL(thread_id, thread); SAME_CALL(correlation_id.internal, correlation); SAME_CALL(kind, kind); SAME_CALL(operation, operation); SAME_CALL(phase, phase);
SAME_CALL(payload, payload);
_Static_assert(sizeof(rocprofiler_callback_tracing_record_t) == sizeof(struct CALL), "by value");
#define KERNEL rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t
SAME(KERNEL, kernel_id, rocp_kernel_symbol, kernel); SAME(KERNEL, kernel_name, rocp_kernel_symbol, name); SAME(KERNEL, arch_vgpr_count, rocp_kernel_symbol, vgprs);
SAME(KERNEL, accum_vgpr_count, rocp_kernel_symbol, accumulation_vgprs);
#define WORK(theirs) SAME(theirs, size, rocp_work, size); SAME(theirs, kind, rocp_work, kind); SAME(theirs, operation, rocp_work, operation); \
	SAME(theirs, correlation_id.internal, rocp_work, correlation); SAME(theirs, thread_id, rocp_work, thread); SAME(theirs, start_timestamp, rocp_work, start); \
	SAME(theirs, end_timestamp, rocp_work, end)
#define DISPATCH rocprofiler_buffer_tracing_kernel_dispatch_record_t
#define COPY rocprofiler_buffer_tracing_memory_copy_record_t
WORK(DISPATCH); WORK(COPY);
SAME(DISPATCH, dispatch_info.agent_id, rocp_dispatch, agent); SAME(DISPATCH, dispatch_info.queue_id, rocp_dispatch, queue);
SAME(DISPATCH, dispatch_info.kernel_id, rocp_dispatch, kernel); SAME(DISPATCH, dispatch_info.group_segment_size, rocp_dispatch, group_bytes);
SAME(DISPATCH, dispatch_info.workgroup_size, rocp_dispatch, workgroup); SAME(DISPATCH, dispatch_info.grid_size, rocp_dispatch, grid);
SAME(COPY, dst_agent_id, rocp_memcpy, target); SAME(COPY, src_agent_id, rocp_memcpy, source); SAME(COPY, bytes, rocp_memcpy, bytes);
#define SAME_SCRATCH(theirs, ours) _Static_assert(offsetof(rocprofiler_buffer_tracing_scratch_memory_record_t, theirs) == \
	(IS_NEW ? ROCP_SCRATCH_AT_10 : HAS_MEMORY ? ROCP_SCRATCH_AT_06 : ROCP_SCRATCH_AT_04) + offsetof(struct rocp_scratch, ours), "scratch memory: " #theirs)
SAME_SCRATCH(agent_id, agent); SAME_SCRATCH(queue_id, queue); SAME_SCRATCH(start_timestamp, start); SAME_SCRATCH(end_timestamp, end);
#define SAME_AGENT(theirs, ours) SAME(rocprofiler_agent_t, theirs, rocp_agent, ours)
SAME_AGENT(id, id); SAME_AGENT(type, type); SAME_AGENT(lds_size_in_kb, lds_kilobytes); SAME_AGENT(wave_front_size, wave_threads); SAME_AGENT(cu_count, n_compute_units);
SAME_AGENT(gfx_target_version, gfx_version); SAME_AGENT(max_engine_clk_fcompute, clock_mhz); SAME_AGENT(workgroup_max_size, workgroup_max);
SAME_AGENT(local_mem_size, local_bytes); SAME_AGENT(name, name); SAME_AGENT(product_name, product); SAME_AGENT(logical_node_id, logical_node);
SAME(rocprofiler_record_header_t, category, rocp_header, category); SAME(rocprofiler_record_header_t, kind, rocp_header, kind);
SAME(rocprofiler_record_header_t, payload, rocp_header, payload);
SAME(rocprofiler_tool_configure_result_t, initialize, rocp_tool, initialize); SAME(rocprofiler_tool_configure_result_t, tool_data, rocp_tool, data);
#if HAS_MEMORY
#define SAME_MEMORY(theirs, ours) SAME(rocprofiler_callback_tracing_memory_allocation_data_t, theirs, rocp_memory, ours)
SAME_MEMORY(agent_id, agent); SAME_MEMORY(address, address); SAME_MEMORY(allocation_size, bytes);
_Static_assert((int)ROCP_ALLOCATE == (int)ROCPROFILER_MEMORY_ALLOCATION_ALLOCATE && (int)ROCP_VMEM_FREE == (int)ROCPROFILER_MEMORY_ALLOCATION_VMEM_FREE &&
	(int)ROCP_FREE == (int)ROCPROFILER_MEMORY_ALLOCATION_FREE, "allocations");
#endif
SAME(COUNTED, size, rocp_counted, size); SAME(COUNTED, correlation_id.internal, rocp_counted, correlation);
_Static_assert(offsetof(COUNTED, dispatch_info) == offsetof(struct rocp_counted, rest) + (sizeof(COUNTED) > ROCP_COUNTED_WITHOUT_TIMES ? 16 : 0) &&
	sizeof(COUNTED) >= sizeof(struct rocp_counted), "a dispatch that is counted");
#define SAME_INFO(theirs, ours) SAME(rocprofiler_kernel_dispatch_info_t, theirs, rocp_dispatch_info, ours)
SAME_INFO(agent_id, agent); SAME_INFO(queue_id, queue); SAME_INFO(kernel_id, kernel); SAME_INFO(dispatch_id, dispatch);
SAME(VALUE, id, rocp_value, instance); SAME(VALUE, counter_value, rocp_value, value); SAME(VALUE, dispatch_id, rocp_value, dispatch);
_Static_assert(sizeof(VALUE) == (HAS_NEW_SERVICE ? ROCP_VALUE_BYTES : ROCP_OLD_VALUE_BYTES), "values are in an array");
SAME(rocprofiler_counter_info_v0_t, id, rocp_counter_info, id); SAME(rocprofiler_counter_info_v0_t, name, rocp_counter_info, name);
_Static_assert(sizeof(rocprofiler_counter_info_v0_t) <= sizeof(struct rocp_counter_info), "what a counter is, is written there");
_Static_assert(ROCPROFILER_COUNTER_INFO_VERSION_0 == ROCP_COUNTER_INFO_VERSION, "numbers of counters");
_Static_assert(ROCPROFILER_STATUS_SUCCESS == ROCP_SUCCESS && (int)ROCP_ENTER == (int)ROCPROFILER_CALLBACK_PHASE_ENTER &&
	(int)ROCP_EXIT == (int)ROCPROFILER_CALLBACK_PHASE_EXIT && (int)ROCP_TRACING == (int)ROCPROFILER_BUFFER_CATEGORY_TRACING &&
	(int)ROCP_DISCARD == (int)ROCPROFILER_BUFFER_POLICY_DISCARD && (int)ROCP_AGENT_GPU == (int)ROCPROFILER_AGENT_TYPE_GPU &&
	(int)ROCP_KERNEL_SYMBOL == (int)ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER && (int)ROCP_HOST_TO_DEVICE == (int)ROCPROFILER_MEMORY_COPY_HOST_TO_DEVICE &&
	(int)ROCP_DEVICE_TO_DEVICE == (int)ROCPROFILER_MEMORY_COPY_DEVICE_TO_DEVICE && ROCP_AGENT_VERSION == ROCPROFILER_AGENT_INFO_VERSION_0, "numbers");
C
seen=0
IFS=: read -ra headers <<<"${TACHO_ROCPROFILER_HEADERS:-}:/opt/rocm/include"
for folder in "${headers[@]}"; do
	[ -n "$folder" ] && [ -e "$folder/rocprofiler-sdk/fwd.h" ] || continue
	is_new=$(grep -c 'ancestor' "$folder/rocprofiler-sdk/fwd.h")
	has_memory=$(grep -c 'MEMORY_ALLOCATION_VMEM_FREE' "$folder/rocprofiler-sdk/fwd.h")
	${CC:-cc} -std=gnu11 -fsyntax-only -w -Istub -I"$folder" -I"$TACHO_SOURCE_DIR/probes" -DIS_NEW="$((is_new > 0))" -DHAS_MEMORY="$((has_memory > 0))" same.c ||
		wrong "AMD's headers in $folder say otherwise"
	seen=$((seen + 1))
done
echo "compared with $seen versions of AMD's headers"
exit $failed
