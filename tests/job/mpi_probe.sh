#!/usr/bin/env bash
# The MPI probe, with Open MPI and MPICH, in C and Fortran: which send went with which receive, who was late, collectives of groups, requests of
# all sorts, errors; steps and their replay; one recorder for the job, and one for each rank.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0 n_flavours=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
wrong() { echo "$flavour: $*"; failed=1; }
record() { timeout 120 "$TACHO" record -q --force -o run -- "mpirun.$flavour" -n 4 "$@" >out 2>err </dev/null; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
is_trusted() { "$TACHO" info --json run | grep -q '"score":100' || wrong "$1: trust: $("$TACHO" info run | sed -n '/^Trust/,/^rank/p')"; }

for flavour in openmpi mpich; do
	command -v "mpirun.$flavour" >/dev/null && [ -e "$TACHO_BUILD_DIR/lib/tacho/libtacho_mpi_$flavour.so" ] || continue
	"mpicc.$flavour" -O1 -w "$TACHO_SOURCE_DIR/tests/job/mpi_job.c" -o job 2>/dev/null || continue
	timeout 60 "mpirun.$flavour" -n 4 ./job ring >/dev/null 2>&1 </dev/null || { echo "$flavour: does not run here"; continue; }
	n_flavours=$((n_flavours + 1))

	record ./job ring || wrong "ring: $(cat out err)"
	[ ! -s out ] && [ ! -s err ] || wrong "ring said: $(cat out err)"
	is_trusted ring
	# each rank's own size, four times, from one to the next
	ask "select bytes, count(*) from collective where ranks = 2 group by 1 order by 1" | tr '\n' ' ' | grep -qx '8,4 16,4 24,4 32,4 ' || wrong "ring: other messages"
	ask "select count(*) from slice where category = 'wait' and name in ('MPI_Send', 'MPI_Recv')" | grep -qx 32 || wrong "ring: other waits"
	[ "$("$TACHO" info --json run | grep -o '"record_cost_pct":[0-9.e-]*' | head -1)" != '"record_cost_pct":0' ] || wrong "it is said to cost nothing"

	record ./job tags || wrong "tags: $(cat out err)"
	is_trusted tags
	ask "select count(*), sum(ranks) from collective" | grep -qx 6,12 || wrong "tags: other messages"

	# a receive waits 300 ms for its sender, then a synchronous send for its receiver (less, where a loaded machine holds up who waits)
	record ./job late || wrong "late: $(cat out err)"
	is_trusted late
	ask "select count(*) from collective where name = 'MPI_Ssend' and dur >= 200000000 and last_begin_ts - ts >= 200000000" | grep -qx 2 || wrong "late: $(ask 'select * from collective')"
	ask "select count(*) from slice where name in ('MPI_Recv', 'MPI_Ssend') and category = 'wait' and dur >= 200000000" | grep -qx 2 || wrong "late: other waits"

	record ./job collectives || wrong "collectives: $(cat out err)"
	is_trusted collectives
	ask "select name, coalesce(bytes, 0), ranks, count(*) from collective group by 1, 2, 3 order by 1, 2, 3" >found
	diff - found <<-END || wrong "other collectives"
		MPI_Allgather,64,4,2
		MPI_Allgatherv,64,4,1
		MPI_Allreduce,8,2,2
		MPI_Allreduce,16,2,2
		MPI_Allreduce,32,2,2
		MPI_Allreduce,64,4,11
		MPI_Alltoall,64,4,1
		MPI_Barrier,0,4,1
		MPI_Bcast,32,4,1
		MPI_Gather,8,4,1
		MPI_Iallreduce,64,4,1
		MPI_Reduce,64,4,1
		MPI_Scatter,8,4,1
		MPI_Send,8,2,2
	END

	record ./job requests || wrong "requests: $(cat out err)"
	is_trusted requests
	ask "select name, ranks, count(*) from collective group by 1, 2 order by 1, 2" >found
	diff - found <<-END || wrong "other messages of requests"
		MPI_Barrier,4,1
		MPI_Isend,2,48
		MPI_Send_init,2,20
		MPI_Sendrecv,2,4
		MPI_Sendrecv_replace,2,4
	END

	record ./job beside || wrong "beside: $(cat out err)"
	ask "select t.name, max(c.value), count(*) from counter c join track t on t.id = c.track_id group by 1 order by 1" >found
	diff - found <<-END || wrong "other bytes beside"
		MPI file bytes,4,4
		MPI one-sided bytes,4,4
	END

	record ./job errors || wrong "errors: $(cat out err)"
	is_trusted errors

	record ./job steps || wrong "steps: $(cat out err)"
	is_trusted steps
	ask "select count(distinct step) from step" | awk '{ exit !($1 >= 28) }' || wrong "steps: $(ask 'select count(distinct step) from step')"
	"$TACHO" replay --json run >replay.json || wrong "steps cannot be replayed"
	python3 - <<-END || wrong "another replay: $(head -c 300 replay.json)"
		import json
		replay = json.load(open("replay.json"))
		assert replay["measured_step_ms"] > 0 and abs(replay["error_pct"]) < 2, replay["error_pct"]
	END

	# one recorder for each rank: one folder, one run
	rm -rf each
	timeout 120 "mpirun.$flavour" -n 4 "$TACHO" record -q -o each -- ./job ring >out 2>err </dev/null || wrong "a recorder for each: $(cat out err)"
	[ "$(cd each && echo rank-*)" = "rank-0 rank-1 rank-2 rank-3" ] || wrong "other folders: $(ls each)"
	"$TACHO" query --format csv each "select count(*) from collective where ranks = 2" | tail -n +2 | grep -qx 16 || wrong "the ranks' runs are not one"
	timeout 120 "$TACHO" record -q --force --probes torch -o run -- "mpirun.$flavour" -n 4 ./job ring >out 2>err </dev/null
	ask "select count(*) from slice where name like 'MPI%'" | grep -qx 0 || wrong "a probe that is not wanted is there"

	command -v "mpif90.$flavour" >/dev/null && "mpif90.$flavour" -O1 "$TACHO_SOURCE_DIR/tests/job/mpi_fortran.f90" -o fortran 2>/dev/null || { echo "$flavour: no Fortran"; continue; }
	record ./fortran || wrong "Fortran: $(cat out err)"
	grep -q done out || wrong "Fortran said: $(cat out)"
	is_trusted Fortran
	ask "select name, coalesce(bytes, 0), ranks, count(*) from collective group by 1, 2, 3 order by 1, 2, 3" >found
	diff - found <<-END || wrong "other calls of Fortran"
		MPI_Allgather,16,4,1
		MPI_Allreduce,64,4,1
		MPI_Barrier,0,4,1
		MPI_Bcast,40,2,2
		MPI_Isend,8,2,4
		MPI_Isend,16,2,4
		MPI_Isend,24,2,4
		MPI_Isend,32,2,4
		MPI_Sendrecv,24,2,4
	END
done
[ $n_flavours -gt 0 ] || { echo "no MPI"; exit 77; }
exit $failed
