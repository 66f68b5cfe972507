#!/usr/bin/env bash
# What several processes of Open MPI and MPICH replay is what one process replays, byte for byte: of a run of 64 ranks, of a job of
# MPI, and of DistributedDataParallel. What they cannot do is refused by all of them, once; nobody waits for one that is killed.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0 n_flavours=0
python=${PYTHON:-/usr/bin/python3}
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's libraries keep memory to the end
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1
wrong() { echo "$flavour: $*"; failed=1; }
together() { timeout 120 "mpirun.$flavour" -n "$@" >out 2>err </dev/null; }
# same N ARGUMENT...: as one process says it
same() {
	local n=$1
	shift
	"$TACHO" replay "$@" >expected || wrong "one process: $*"
	together "$n" "$TACHO" replay "$@" || wrong "$n processes fail: $*: $(cat err)"
	cmp expected out || wrong "$n processes say other things: $*"
}
# refused WORDS N ARGUMENT...: with exit code 2, and one message
refused() {
	local words=$1 n=$2
	shift 2
	together "$n" "$TACHO" replay "$@"
	[ $? = 2 ] || wrong "not refused: $*"
	[ ! -s out ] || wrong "it said something: $*"
	[ "$(grep -c '^tacho [a-z]*: ' err)" = 1 ] && grep '^tacho' err | grep -q -e "$words" || wrong "$*: $(cat err)"
}
# The processes that replay the run of that name.
list_processes() {
	local process
	for process in /proc/[0-9]*; do
		tr '\0' ' ' <"$process/cmdline" | grep -q "^[^ ]*tacho replay $work/$1" && echo "${process#/proc/}"
	done 2>/dev/null # some end while one looks
}

flavour="one process"
"$TACHO_BUILD_DIR/tests/shared_run" job.tacho 64 4 40 || exit 1
"$TACHO_BUILD_DIR/tests/shared_run" large.tacho 8 6 20000 || exit 1
cat >ddp.py <<'END'
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(1)
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 384), nn.ReLU(), nn.Linear(384, 960), nn.ReLU(), nn.Linear(960, 12)),
                                bucket_cap_mb=0.5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(6):
    optimizer.zero_grad()
    model(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
END
if "$python" -c 'import torch.distributed' 2>/dev/null; then
	timeout 120 "$TACHO" record -q -n 3 -o ddp.tacho -- "$python" ddp.py >said 2>&1 </dev/null || { cat said; failed=1; }
fi
for flavour in openmpi mpich; do
	command -v "mpirun.$flavour" >/dev/null && [ -e "$TACHO_BUILD_DIR/lib/tacho/libtacho_peers_$flavour.so" ] || continue
	together 2 true || { echo "$flavour: does not run here"; continue; }
	n_flavours=$((n_flavours + 1))
	for n in 2 4 8; do
		same $n job.tacho --json --what-if straggler:5=1.5 --what-if bandwidth=2x
	done
	same 4 job.tacho
	same 3 job.tacho --all --explain --step 2
	same 2 job.tacho --what-if straggler:0-7=2 --what-if ranks=256 --unfolded --json
	same 8 job.tacho --what-if cores=4 --sensitivity --all
	same 4 job.tacho --samples 3 --what-if latency=+50us
	if [ -d ddp.tacho ]; then
		same 2 ddp.tacho --json --explain
		same 3 ddp.tacho --all --what-if bucket_mb=2 --what-if straggler:1=1.3
		same 2 ddp.tacho --all --what-if fusion=2 --what-if compress=bf16
	fi
	if [ -e "$TACHO_BUILD_DIR/lib/tacho/libtacho_mpi_$flavour.so" ] &&
		"mpicc.$flavour" -O1 -w "$TACHO_SOURCE_DIR/tests/job/mpi_job.c" -o job 2>/dev/null &&
		timeout 120 "$TACHO" record -q --force -o mpi.tacho -- "mpirun.$flavour" -n 4 ./job steps >said 2>&1 </dev/null; then
		same 2 mpi.tacho --json
		same 4 mpi.tacho --all --what-if straggler:2=2
	fi
	refused "several recordings" 2 job.tacho,large.tacho
	refused "several recordings" 2 job.tacho --also large.tacho
	refused "export a replay" 3 job.tacho --export replay.json
	refused "what-if 'scale:op~aten::operation_1=0.5'.*straggler:RANKS=F" 2 job.tacho --what-if scale:op~aten::operation_1=0.5
	refused "rank 64" 2 job.tacho --what-if straggler:64=2
	refused "no step 99" 4 job.tacho --step 99
	refused "no-run" 2 no-run

	# one is killed while all of them are at it
	(
		timeout 60 "mpirun.$flavour" -n 4 "$TACHO" replay "$work/large.tacho" --samples 40 >killed 2>&1 </dev/null
		echo $? >code
	) &
	pid=
	for _ in $(seq 400); do
		pid=$(list_processes large | tail -1)
		[ -n "$pid" ] && [ "$(list_processes large | wc -l)" = 4 ] && break
		sleep 0.02
	done
	kill -9 "$pid" || wrong "there is nobody to be killed: $(cat killed)"
	wait
	case $(cat code) in
	0 | 124) wrong "killed, it ends with $(cat code): $(cat killed)" ;;
	esac
	[ -z "$(list_processes large)" ] || wrong "some wait for one that was killed"
done
[ $n_flavours -gt 0 ] || exit 77
exit $failed
