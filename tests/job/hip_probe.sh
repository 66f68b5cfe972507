#!/usr/bin/env bash
# The HIP probe, on stand-ins for HIP and for the HSA runtime below it: calls are told once, what the device did belongs to them, kernels have the names that a
# constructor has registered. HIP's own header is compared with the declarations.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
job=$TACHO_BUILD_DIR/tests/standins/hip_job
[ -x "$job" ] || { echo "built without the headers of the HSA runtime"; exit 77; }
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
score() { "$TACHO" info run --json | grep -o '"score":[0-9]*' | head -1 | cut -d: -f2; }
# record FAULTS PROBES [ARGUMENT...]
record() {
	local faults=$1 probes=$2
	shift 2
	STANDIN_FAULTS=$faults timeout 60 "$TACHO" record -q --probes "$probes" --force -o run -- "$job" "$@" >out 2>err
	[ "$(cat out)" = done ] || wrong "'$faults' $probes $*: $(cat out err)"
}
device() { ask "select s.name, count(*), c.name from slice s join gpu_track t on t.id = s.track_id left join slice c on c.id = s.launch_id group by 1, 3 order by 1, 3" | paste -sd' '; }

record "" all,hip,hsa 10
[ ! -s err ] || wrong "$(cat err)"
[ "$(score)" = 100 ] || wrong "trust is $(score)"
[ "$(device)" = "Cijk_Ailk_Bljk_SB,10,hipLaunchKernel Memcpy HtoD,10,hipMemcpy _Z3addPf,10,hipLaunchKernel _Z3mulPf,10,hipModuleLaunchKernel barrier,1,hipDeviceSynchronize barrier,10,hipMemcpy barrier,10,hipStreamSynchronize" ] ||
	wrong "devices: $(device)"
# hipMemcpy calls two others, which lie within it
[ "$(ask "select name, count(*) from slice where name glob 'hip*' group by 1 order by 1" | paste -sd' ')" = \
	"hipDeviceSynchronize,1 hipFree,10 hipLaunchKernel,20 hipMalloc,10 hipMemcpy,10 hipModuleGetFunction,1 hipModuleLaunchKernel,10 hipStreamSynchronize,10" ] ||
	wrong "calls: $(ask "select name, count(*) from slice where name glob 'hip*' group by 1 order by 1" | paste -sd' ')"
[ "$(ask "select count(*) from slice s join slice p on p.id = s.parent_id where s.name = 'hsa kernel dispatch' and p.name in ('hipLaunchKernel', 'hipModuleLaunchKernel')")" = 30 ] ||
	wrong "dispatches do not lie within launches"
record "" hip 10
[ "$(device)" = "" ] && [ "$(ask "select count(*) from slice where category = 'runtime'")" = 72 ] || wrong "without the HSA probe: $(ask "select count(*) from slice where category = 'runtime'")"
record "" hsa 10
[ "$(ask "select count(*) from slice where name glob 'hip*'")" = 0 ] && [ "$(ask "select count(*) from slice where category = 'kernel' and name glob 'kernel 0x*'")" = 30 ] ||
	wrong "without the HIP probe: $(device)"
record "" hip,hsa threads 20
[ "$(ask "select count(*) from slice s join gpu_track t on t.id = s.track_id join slice c on c.id = s.launch_id where s.category = 'kernel' and c.name glob 'hip*Launch*'")" = 240 ] ||
	wrong "threads: $(device)"
record refuses hip,hsa 10
[ "$(ask "select count(*) from slice where category = 'kernel'")" = 24 ] || wrong "refused: $(device)"
record elsewhere hip,hsa 10
[ "$(ask "select count(*) from slice s join slice c on c.id = s.launch_id where s.category = 'kernel' and c.name = 'hsa kernel dispatch'")" = 30 ] ||
	wrong "what HIP's own thread submits belongs to: $(device)"
record "" all 5
[ "$(ask "select count(*) from slice where name glob 'hip*'")" = 0 ] || wrong "the probe is used though nobody asks for it"
[ "$(LD_PRELOAD=$TACHO_BUILD_DIR/lib/tacho/libtacho.so:$TACHO_BUILD_DIR/lib/tacho/libtacho_hip.so "$job" 2 2>&1)" = done ] || wrong "the library without a run does something"

# AMD's own header
header=/usr/include/hip/hip_runtime_api.h
[ -e "$header" ] || { echo "not compared: there is no $header"; exit $failed; }
/usr/bin/python3 - "$header" "$TACHO_SOURCE_DIR/probes/hip/hip_calls.def" <<'PYTHON' || wrong "AMD's header says otherwise"
import re, sys
header = re.sub(r"/\*.*?\*/|//[^\n]*", "", open(sys.argv[1]).read(), flags=re.S)
table = re.sub(r"/\*.*?\*/", "", open(sys.argv[2]).read(), flags=re.S)
def types(parameters):
    parameters = re.sub(r"__dparm\([^)]*\)|=\s*NULL", "", parameters)
    out = []
    for one in parameters.split(","):
        one = re.sub(r"\s+", " ", one).strip()
        if one != "void":
            one = re.sub(r"\w+$", "", one)
        out.append(re.sub(r"\bunsigned int\b", "unsigned", one.replace(" *", "*").replace("*", "* ")).replace(" ", ""))
    return out
n = 0
for name, parameters in re.findall(r"(?:CALL|LAUNCH)\((\w+), \(([^()]*)\)", table):
    theirs = re.search(r"hipError_t\s+" + name + r"\s*\(((?:[^();]|\([^()]*\))*)\)", header)
    assert theirs and types(theirs.group(1)) == types(parameters), (name, types(parameters), theirs and types(theirs.group(1)))
    n += 1
assert n > 50, n
PYTHON
exit $failed
