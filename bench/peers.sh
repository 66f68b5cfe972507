#!/usr/bin/env bash
# How much memory each of 1, 2, 4 and 8 processes takes that report a run together (docs/fleet.md): the most that was resident, of it
# its own memory, and pages of files, which processes of a host share. RANKS (64) ranks of STEPS (12) steps of OPERATIONS
# (10000) are made; without an MPI, one process is measured.
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

static const char *const keys[] = { "VmHWM", "RssAnon", "RssFile" };
static long most[3];

static void look(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		for (int i = 0; i < 3; i++) {
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
	FILE *out = fopen(getenv("TOLD"), "a");

	look();
	fprintf(out, "%ld MiB: %ld its own, %ld of files\n", most[0] / 1024, most[1] / 1024, most[2] / 1024);
	fclose(out);
}
END
cc -O1 -shared -fPIC look.c -o look.so -pthread
"$build/tests/shared_run" run.tacho "${RANKS:-64}" "${STEPS:-12}" "${OPERATIONS:-10000}"
look=(env "TOLD=$work/told" "LD_PRELOAD=$work/look.so" "$build/bin/tacho" report --view op run.tacho)
"${look[@]}" >expected
echo "one process: $(cat told)"
for flavour in openmpi mpich; do
	command -v "mpirun.$flavour" >/dev/null && [ -e "$build/lib/tacho/libtacho_peers_$flavour.so" ] || continue
	for n in 2 4 8; do
		rm -f told
		"mpirun.$flavour" -n $n "${look[@]}" >out </dev/null
		cmp -s expected out || echo "$flavour, $n processes print other things"
		echo "$flavour, $n processes, the largest: $(sort -n told | tail -1)"
	done
done
