#!/usr/bin/env bash
# How much memory and time each of 1, 2, 4 and 8 processes takes that report, compare or replay a run together (docs/fleet.md): of
# the first process, and of the largest of the others, the most that was resident, and of it the most of its own memory; pages of
# files are shared by processes of a host. RANKS (64) ranks of STEPS (12) steps of OPERATIONS (10000) are made for reports, and of
# PLAYED (1500) for replays; without an MPI, one process is measured. COMMANDS names some of: op scope code straggler diff replay.
#   bench/peers.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# A launcher's processes have to be tacho itself, so that it is loaded into tacho what looks.
cat >look.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const keys[] = { "VmHWM", "RssAnon" };
static long most[2];

static void look(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		for (int i = 0; i < 2; i++) {
			long value = strncmp(line, keys[i], strlen(keys[i])) ? 0 : atol(line + strlen(keys[i]) + 1);

			most[i] = value > most[i] ? value : most[i];
		}
	if (status)
		fclose(status);
}

static void *watch(void *nothing)
{
	for (;; usleep(10000))
		look();
	return nothing;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, watch, NULL);
}

__attribute__((destructor)) static void tell(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	FILE *out = fopen(getenv("TOLD"), "a");

	if (!rank)
		rank = getenv("PMI_RANK");
	look();
	fprintf(out, "%s %ld %ld\n", rank ? rank : "0", most[0] / 1024, most[1] / 1024);
	fclose(out);
}
END
cc -O1 -shared -fPIC look.c -o look.so -pthread
"$build/tests/shared_run" run.tacho "${RANKS:-64}" "${STEPS:-12}" "${OPERATIONS:-10000}"
"$build/tests/shared_run" played.tacho "${RANKS:-64}" "${STEPS:-12}" "${PLAYED:-1500}"
cp -rl run.tacho same.tacho
declare -A arguments=([op]="report --view op run.tacho" [scope]="report --view scope run.tacho" [code]="report --view code run.tacho"
	[straggler]="report --view straggler --view goodput run.tacho" [diff]="diff run.tacho same.tacho" [replay]="replay played.tacho")
look=(env "TOLD=$work/told" "LD_PRELOAD=$work/look.so" "$build/bin/tacho")

# measure WHAT N OUT COMMAND...: runs it, and prints what its processes told
measure() {
	local what=$1 n=$2 out=$3 began
	shift 3
	rm -f told
	began=$(date +%s%N)
	"$@" >"$out" </dev/null || echo "$what, $n processes: failed"
	awk -v what="$what" -v n="$n" -v ms=$((($(date +%s%N) - began) / 1000000)) '
		$1 == 0 { first = $2; own = $3 }
		$1 > 0 { if ($2 > most) most = $2; if ($3 > most_own) most_own = $3 }
		END { printf "%s, %d processes: first %d MiB (%d its own), others %d (%d), %.1f s\n", what, n, first, own, most, most_own, ms / 1000 }' told
}

for command in ${COMMANDS:-op scope code straggler diff replay}; do
	read -ra words <<<"${arguments[$command]}"
	measure "$command" 1 expected "${look[@]}" "${words[@]}"
	for flavour in openmpi mpich; do
		command -v "mpirun.$flavour" >/dev/null && [ -e "$build/lib/tacho/libtacho_peers_$flavour.so" ] || continue
		for n in 2 4 8; do
			measure "$command by $flavour" $n out "mpirun.$flavour" -n $n "${look[@]}" "${words[@]}"
			cmp -s expected out || echo "$flavour, $n processes print other things"
		done
	done
done
