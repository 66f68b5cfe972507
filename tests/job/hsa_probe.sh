#!/usr/bin/env bash
# The HSA probe, on a stand-in for AMD's runtime: each piece of work of the device is as long and where the stand-in had it, and belongs to its call; the program's
# own signals have their values and times; faults end in a right timeline or a problem with a name. There is no device in it. Where Debian's runtime is, a
# program that uses it without a device ends as it does without tacho. AMD's header of the tables is compared with the declarations.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
job=$TACHO_BUILD_DIR/tests/standins/hsa_job
[ -x "$job" ] || { echo "built without the headers of the HSA runtime"; exit 77; }
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
score() { "$TACHO" info run --json | grep -o '"score":[0-9]*' | head -1 | cut -d: -f2; }
# record FAULTS [N]
record() {
	rm -f truth
	env ${1:+STANDIN_FAULTS=$1} STANDIN_TRUTH="$work/truth" "$TACHO" record -q --probes all,hsa --force -o run -- "$job" "${2:-10}" >out 2>err
	[ "$(cat out)" = done ] || wrong "'$1': $(cat out err)"
}
record "" 10
[ ! -s err ] || wrong "$(cat err)"
[ "$(score)" = 100 ] || wrong "trust is $(score)"
[ "$(ask "select s.name, count(*) from slice s join gpu_track t on t.id = s.track_id where t.device = 0 group by 1 order by 1" | paste -sd' ')" = \
	"Cijk_Ailk_Bljk_SB,20 Memcpy HtoD,10 _Z3addPf,10 barrier,10" ] || wrong "other work: $(ask "select name, count(*) from slice group by 1")"
/usr/bin/python3 - <<'PYTHON' || wrong "not what the device did"
import csv, os, statistics, subprocess, sys
out = subprocess.run([os.environ["TACHO"], "query", "run", "--format", "csv", "select s.ts, s.dur, s.category, c.ts as call_ts from slice s "
                      "join gpu_track t on t.id = s.track_id left join slice c on c.id = s.launch_id order by s.ts"], check=True, capture_output=True, text=True).stdout
found = list(csv.DictReader(out.splitlines()))
words = {"kernel": "kernel", "copy": "memcpy", "barrier": "sync"}
told = sorted((int(start), int(end) - int(start), words[kind]) for kind, _, start, end in (line.split() for line in open("truth")))
assert len(found) == len(told), (len(found), len(told))
shift = statistics.median(int(row["ts"]) - one[0] for row, one in zip(found, told))
for row, one in zip(found, told):
    assert row["category"] == one[2] and abs(int(row["dur"]) - one[1]) <= 30 and abs(int(row["ts"]) - one[0] - shift) < 20000, (row, one, shift)
    assert row["call_ts"] and int(row["call_ts"]) <= int(row["ts"]), row
PYTHON
[ "$(ask "select count(*), sum(bytes), max(device) from memory")" = 20,0,1 ] || [ "$(ask "select count(*), sum(bytes) from memory")" = 20,0 ] || wrong "memory of pools"
[ "$(ask "select count(*) > 0, min(value), max(value) > 0 from counter c join counter_track t on t.id = c.track_id where t.name like 'HSA queue%depth'" 2>/dev/null)" = 1,0.0,1 ] ||
	[ "$(ask "select count(*), min(value) from counter")" = 80,0 ] || [ "$(ask "select count(*), min(value) from counter")" = 80,0.0 ] || wrong "depth of the queue: $(ask "select count(*), min(value), max(value) from counter")"
[ "$(ask "select count(*) from slice where name in ('hsa_queue_create', 'hsa_shut_down', 'hsa_amd_memory_pool_free') and category = 'runtime'")" = 12 ] || wrong "calls"
record late 10
[ "$(score)" = 100 ] && [ "$(ask "select count(*) from slice where category = 'kernel'")" = 30 ] || wrong "late: $(score)"
record zero 10
"$TACHO" info run | grep -q "impossible time: 7" || wrong "kernels without times are no problem"
record jump 40
"$TACHO" info run | grep -q "lost records" || wrong "a clock that jumps is no problem"
[ "$(ask "select max(dur) < 50000 from slice where category = 'kernel'")" = 1 ] || wrong "a jump makes kernels long"
record signals 10
"$TACHO" info run | grep -q "lost records" || wrong "work that cannot be followed is not counted"
record short 10
grep -q "other tables of functions than are known" err || wrong "a runtime of another kind: $(cat err)"

# without the probe, and not unless it is asked for
"$TACHO" record -q --force -o run -- "$job" 2 >out 2>err
[ "$(cat out)" = done ] && [ "$(ask "select count(*) from slice where category = 'kernel'")" = 0 ] || wrong "the probe is used though nobody asks for it"
HSA_TOOLS_LIB=/other/tool.so "$TACHO" record --probes hsa --force -o run -- "$job" 1 >out 2>err
grep -q 'HSA_TOOLS_LIB names /other/tool.so already' err || wrong "nobody says that another tool was there first"
[ "$(HSA_TOOLS_LIB=$TACHO_BUILD_DIR/lib/tacho/libtacho_hsa.so "$job" 2 2>&1)" = done ] || wrong "the library without the agent does something"

# all in one program, which the sanitizers see where they are built in
for fault in "" late zero signals; do
	rm -rf whole
	mkdir whole
	env ${fault:+STANDIN_FAULTS=$fault} TACHO_RUN_DIR=whole HSA_TOOLS_LIB=INSIDE ASAN_OPTIONS=detect_leaks=0 "${job}_whole" 5 >out 2>err || wrong "whole, '$fault': ended with $?"
	[ "$(cat out)" = done ] && [ ! -s err ] || wrong "whole, '$fault': $(head -20 out err)"
	ls whole/*/metadata >/dev/null || wrong "whole, '$fault': nothing was recorded"
done

# the real runtime, where it is: there is no device
printf '#include <hsa/hsa.h>\n#include <stdio.h>\nint main(void) { printf("%%d\\n", hsa_init()); return 0; }\n' >real.c
if ${CC:-cc} real.c -o real -lhsa-runtime64 2>/dev/null; then
	./real >alone 2>&1
	"$TACHO" record -q --probes hsa --force -o run -- ./real >out 2>err
	cmp -s alone out || wrong "the real runtime says $(cat out err), alone $(cat alone)"
fi
# AMD's own header, which is C++ and looks for others in a folder inc/
mkdir -p stub && ln -s /usr/include/hsa stub/inc
sed -n '/define HSA_CORE_FUNCTIONS/,/^$/p; /define HSA_AMD_FUNCTIONS/,/^$/p' "$TACHO_SOURCE_DIR/probes/hsa/hsa_abi.h" >lists.h
cat >same.cc <<'CPP'
#include <cstddef>
#include "hsa/hsa_api_trace.h"
#include "lists.h"
#define TABLE CoreApiTable
#define CHECK(name) static_assert(offsetof(TABLE, name##_fn) == 16 + 8 * (__COUNTER__ - first), #name);
namespace core { constexpr int first = __COUNTER__ + 1; HSA_CORE_FUNCTIONS(CHECK) }
#undef TABLE
#define TABLE AmdExtTable
namespace amd { constexpr int first = __COUNTER__ + 1; HSA_AMD_FUNCTIONS(CHECK) }
static_assert(offsetof(HsaApiTable, core_) == 16 && offsetof(HsaApiTable, amd_ext_) == 24, "tables");
CPP
c++ -std=c++17 -fsyntax-only -w -Istub -I. same.cc || wrong "AMD's header says otherwise"
exit $failed
