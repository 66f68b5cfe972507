#!/usr/bin/env bash
# soak.sh [SECONDS]: all probes that have something here to record, together for so long (600): 64 threads, forks, signals, dlopen and
# dlclose, TCP, the heap, PyTorch with data-loader workers, programs of OpenCL, gRPC and MPI, of BLAS, ITT and NVTX, and the kernel's events
# where it may be asked. Fails if a record is lost, a process hangs, or the run has other numbers than the programs counted.
# TACHO, TACHO_SOURCE_DIR and TACHO_BUILD_DIR as the tests have them; PYTHON: one with PyTorch.
set -u
seconds=${1:-600}
source_dir=${TACHO_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build_dir=${TACHO_BUILD_DIR:-$source_dir/build/default}
export TACHO=${TACHO:-$build_dir/bin/tacho}
python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/tacho-soak-XXXXXX")
[ "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }
cc -O2 -D_GNU_SOURCE -I"$source_dir/include" "$source_dir/tests/soak/soak_job.c" -o soak_job -lpthread -ldl || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
if command -v mpicc.openmpi >/dev/null && [ -e "$build_dir/lib/tacho/libtacho_mpi_openmpi.so" ]; then
	mpicc.openmpi -O1 -w "$source_dir/tests/job/mpi_job.c" -o mpi_job || exit 1
fi
# it fails where there is no device
[ -x "$build_dir/tests/opencl_calls" ] && "$build_dir/tests/opencl_calls" profiled >/dev/null 2>&1 && cp "$build_dir/tests/opencl_calls" .
probes=all,malloc
[ "$("$build_dir/lib/tacho/tacho-kernel" --check 2>/dev/null)" != events ] || probes+=,kernel
echo "probes $probes"
blas=$(ldconfig -p | sed -n 's/^\t\(libblas.so.3\) .*/\1/p' | head -1)
cat >all.sh <<'END'
export OMP_NUM_THREADS=1
./soak_job "$1" $3 >job.out 2>job.err &
jobs=$!
if "$2" -c "import torch" 2>/dev/null; then
	"$2" "$4/tests/soak/soak_torch.py" "$1" >torch.out 2>torch.err &
	jobs="$jobs $!"
fi
end=$((SECONDS + $1))
while [ $SECONDS -lt $end ]; do
	for program in itt_calls nvtx_calls blas_calls grpc_core; do
		[ -x "$5/tests/$program" ] && "$5/tests/$program" >/dev/null 2>&1 && echo $program >>ran
	done
	[ -x opencl_calls ] && ./opencl_calls profiled >/dev/null 2>&1 && echo opencl_calls >>ran
	[ -x mpi_job ] && mpirun.openmpi -n 4 ./mpi_job ring >/dev/null 2>&1 </dev/null && echo mpi_job >>ran
	sleep 1
done
wait $jobs
END
# what waits for a lock for ever is ended by the limit
timeout $((seconds + 300)) "$TACHO" record -q --probes "$probes" -o run -- bash all.sh "$seconds" "$python" "$blas" "$source_dir" "$build_dir" >said 2>&1
code=$?
[ $code = 0 ] || wrong "exit $code (124: something hangs): $(tail -3 said)"
cat job.err job.out torch.out 2>/dev/null
# What the run has, beside what the programs counted, or what their own tests say of each time that they ran. A run of many processes
# takes long to be read, so it is asked once.
times() { grep -cx "$1" ran 2>/dev/null; }
counts=()
count() { # count WHAT EXPECTED SQL
	counts+=("select '$1', '$2', ($3)")
}
count ranges "$(sed -n 's/^ranges \([0-9]*\) .*/\1/p' job.out)" "select count(*) from slice where name in ('soak outer', 'soak inner')"
count "bytes sent" "$(sed -n 's/^ranges .* bytes \([0-9]*\)$/\1/p' job.out)" "select sum(bytes) from message where bytes = 512 and direction = 'send'"
[ ! -s torch.out ] || count operations "$(sed -n 's/^operations //p' torch.out)" "select count(*) from slice where name = 'aten::special_erfcx'"
count "gRPC calls" $((4 * $(times grpc_core))) \
	"select count(*) from flow join slice s on s.id = slice_out where s.name = '/core/Short' and flow.category = 'request'"
count "OpenCL kernels and copies" $((200 * $(times opencl_calls))) \
	"select count(*) from slice s join gpu_track t on t.id = s.track_id where s.category in ('kernel', 'memcpy')"
count "MPI sends" $((16 * $(times mpi_job))) "select count(*) from slice where name = 'MPI_Send' and category = 'wait'"
printf -v sql '%s union all ' "${counts[@]}"
"$TACHO" query --format csv run "${sql% union all }" | tail -n +2 >counted || wrong "the run cannot be asked"
[ "$(wc -l <counted)" = ${#counts[@]} ] || wrong "the run was not asked"
awk -F, '{ print $1 ": " $3; if ($2 != $3) { print "but the programs counted " $2; wrong = 1 } } END { exit wrong }' counted || failed=1
"$TACHO" info run --json >info.json || wrong "the run cannot be read"
python3 - <<'END' || failed=1
import json
info = json.load(open("info.json"))
print("processes %d, events %d, dropped %d, trust %s" % (
    len(info["processes"]), info["events"], info["dropped_events"], info["trust"]["score"]))
print(*("%s %s %s" % (problem["kind"], problem["count"], problem["where"]) for problem in info["trust"]["problems"]), sep="\n")
bad = [process for process in info["processes"] if process.get("exit") not in (0, None)]
if info["dropped_events"] or bad:
    print("dropped, or ended badly: %s" % bad[:3])
    raise SystemExit(1)
END
if command -v babeltrace2 >/dev/null; then
	# some processes at a time: it opens all files of all at once, and of ten minutes these are more than a process may open
	ulimit -n "$(ulimit -H -n)"
	for metadata in run/*/metadata; do echo "${metadata%/metadata}"; done | xargs -n 30 babeltrace2 -o dummy >/dev/null 2>bt.err ||
		wrong "babeltrace2: $(head -c 1000 bt.err)"
fi
exit $failed
