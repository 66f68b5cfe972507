#!/usr/bin/env bash
# Every process knows its rank, by the variables of the launcher that started it; an exec'd program and
# a forked child get traces of their own, with the same rank; tacho's own -n sets the variables.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >work.c <<'EOF'
#include "common/probe.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void record(const char *name)
{
	void *slice = tacho_slice_begin_named(TRACE_KIND_ANNOTATION, name, 0);

	tacho_slice_end_named(slice);
}

int main(int argc, char **argv)
{
	record(argc > 1 ? argv[1] : "plain");
	if (argc > 1 && strcmp(argv[1], "fork") == 0) {
		if (fork() == 0) {
			record("child");
			_exit(0);
		}
		wait(NULL);
	}
	if (argc > 1 && strcmp(argv[1], "exec") == 0)
		execl(argv[0], argv[0], "after exec", (char *)NULL);
	return 0;
}
EOF
cc -O1 -D_GNU_SOURCE -I"$TACHO_SOURCE_DIR/src" -I"$TACHO_SOURCE_DIR/probes" work.c -o work \
	-L"$TACHO_BUILD_DIR/lib/tacho" -ltacho -Wl,-rpath,"$TACHO_BUILD_DIR/lib/tacho"
unset RANK WORLD_SIZE LOCAL_RANK

# identity NAME -> "rank local_rank world_size job" of each process, sorted
identity() {
	for metadata in "$1"/*/metadata; do
		sed -n 's/^\t\(rank\|local_rank\|world_size\|job\) = \(.*\);$/\2/p' "$metadata" | tr '\n' ' '
		echo
	done | sort
}
# expect NAME LINE...
expect() {
	local name=$1
	shift
	diff <(printf '%s \n' "$@" | sort) <(identity "$name") || { echo "wrong in $name"; exit 1; }
}
tacho() { "$TACHO" record -q -o "$@"; }

tacho none -- ./work
expect none '-1 -1 -1 ""'
RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 TORCHELASTIC_RUN_ID=job7 tacho torchrun -- ./work
expect torchrun '3 1 8 "job7"'
SLURM_PROCID=2 SLURM_LOCALID=0 SLURM_NTASKS=4 SLURM_JOB_ID=99 tacho slurm -- ./work
expect slurm '2 0 4 "99"'
RANK=junk PMI_RANK=1 PMI_SIZE=2 tacho junk -- ./work
expect junk/rank-1 '1 -1 2 ""'
tacho two -n 2 -- ./work
expect two '0 0 2 ""' '1 1 2 ""'
RANK=5 tacho fork -- ./work fork
expect fork '5 -1 -1 ""' '5 -1 -1 ""'
RANK=6 tacho exec -- ./work exec
expect exec '6 -1 -1 ""' '6 -1 -1 ""'
[ "$(ls -d exec/*-*/ | wc -l)" = 2 ]
if command -v mpirun >/dev/null; then
	tacho mpi -- mpirun --allow-run-as-root --oversubscribe -n 2 ./work
	# mpirun's job id differs from run to run; the ranks do not. It looks for OpenCL's devices itself, and has no rank.
	[ "$(identity mpi | grep -v '^-1 ' | cut -d' ' -f1-3)" = $'0 0 2\n1 1 2' ] || { identity mpi; exit 1; }
fi
