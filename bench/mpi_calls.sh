#!/usr/bin/env bash
# mpi_calls.sh [BUILD_DIR]: what a call of MPI costs, recorded and not, with each MPI that is installed: nanoseconds, the least of 9 rounds in each of 5 pairs of
# processes, recorded and not by turns, and their median.
set -u
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mca_base_component_show_load_errors=0

record() { "$build_dir/bin/tacho" record -q --probes mpi --force -o run -- "$@"; }
n_measured=0
for flavour in openmpi mpich; do
	command -v "mpicc.$flavour" >/dev/null && "mpicc.$flavour" -O2 -w "$source_dir/bench/mpi_calls.c" -o "calls.$flavour" 2>/dev/null || continue
	for call in probe message; do
		rm -f plain recorded
		for _ in 1 2 3 4 5; do
			"./calls.$flavour" $call 2>&1 | tail -1 >>plain
			record "./calls.$flavour" $call 2>&1 | tail -1 >>recorded
		done
		echo "$flavour, $call: $(sort -n plain | sed -n 3p) ns, recorded $(sort -n recorded | sed -n 3p) ns"
		n_measured=1
	done
done
[ $n_measured = 1 ] || { echo "no MPI"; exit 77; }
