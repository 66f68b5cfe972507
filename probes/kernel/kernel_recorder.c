/* kernel_recorder: the program `tacho-kernel`, which records what the kernel does with the threads of a job. `tacho record` and `tacho
 * attach` start it before the job; nothing of it runs in the job.
 *
 *     tacho-kernel --run RUN [PID...]    what the caller's process starts, and these
 *     tacho-kernel --check               say what could be recorded here
 *
 * (1) It says one line on its standard output, and then nothing more: "events", "events, but MISSING", "sums WHY" or "nothing WHY".
 * (2) It ends when its standard input does, which the caller holds open: so it ends, and the trace is whole, however the caller ends.
 * (3) It is a program of its own, so that an administrator can give it, and it alone, what the kernel asks for: setcap
 *     cap_bpf,cap_perfmon=ep. Whoever may start it then sees only what becomes of processes of his own. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernel/kernel_programs.h"
#include "kernel/kernel_trace.h"
#include "kernel/thread_sums.h"

#define EVENTS_MS 50  /* between two looks into the ring */
#define SUMS_MS	  200 /* between two looks at /proc */
#define SETTLE_NS                                                                                  \
	UINT64_C(20000000) /* no program in the kernel takes so long from its clock to the ring */
#define MAX_PIDS 4096

struct recorder {
	struct kernel_programs *programs; /* NULL: sums */
	struct kernel_trace *trace;
	int launcher; /* 0: there is none */
	int pids[MAX_PIDS];
	unsigned n_pids;
	int error; /* of writing: then no more is written */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void take_event(void *trace, const void *event, size_t size_bytes)
{
	kernel_trace_add(trace, event, size_bytes);
}

static uint64_t lost(const struct recorder *recorder)
{
	return recorder->programs ? kernel_programs_lost(recorder->programs) : 0;
}

static void look(struct recorder *recorder)
{
	uint64_t limit_ns = now_ns() - SETTLE_NS;

	if (recorder->programs)
		kernel_programs_drain(recorder->programs, take_event, recorder->trace);
	else
		thread_sums_look(recorder->trace, now_ns(), recorder->launcher, getpid(),
				 recorder->pids, recorder->n_pids);
	if (!recorder->error)
		recorder->error = kernel_trace_flush(recorder->trace, limit_ns, lost(recorder));
}

/* Until the caller is gone, or closes the pipe. */
static void record(struct recorder *recorder)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char byte;

	for (;;) {
		int n = poll(&input, 1, recorder->programs ? EVENTS_MS : SUMS_MS);

		look(recorder);
		if (n > 0 && read(STDIN_FILENO, &byte, 1) <= 0)
			return;
	}
}

/* --- the begin ------------------------------------------------------------------------------ */

/* With capabilities of its own, it could look into processes of others. */
static int is_own(int pid)
{
	struct stat process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return getuid() == 0 || (stat(path, &process) == 0 && process.st_uid == getuid());
}

static int parse_pids(struct recorder *recorder, char **arguments)
{
	for (; *arguments; arguments++) {
		char *end;
		long pid = strtol(*arguments, &end, 10);

		if (*end || pid <= 0 || pid > 1 << 22 || recorder->n_pids == MAX_PIDS ||
		    !is_own((int)pid)) {
			fprintf(stderr, "tacho-kernel: %s is no process of yours\n", *arguments);
			return 0;
		}
		recorder->pids[recorder->n_pids++] = (int)pid;
	}
	return 1;
}

static void ignore_signals(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_IGN);
}

static void say(const struct recorder *recorder, const char *why)
{
	const char *missing = recorder->programs ? kernel_programs_missing(recorder->programs) : "";

	if (!recorder->programs)
		printf("sums %s\n", why);
	else if (*missing)
		printf("events, but %s\n", missing);
	else
		printf("events\n");
	fclose(stdout);
}

static int check(struct recorder *recorder)
{
	char why[512];

	recorder->programs = kernel_programs_load(getppid(), NULL, 0, why, sizeof(why));
	say(recorder, why);
	kernel_programs_unload(recorder->programs);
	return 0;
}

int main(int argc, char **argv)
{
	static struct recorder recorder;
	char why[512] = "";

	if (argc == 2 && strcmp(argv[1], "--check") == 0)
		return check(&recorder);
	if (argc < 3 || strcmp(argv[1], "--run") != 0) {
		fprintf(stderr, "usage: tacho-kernel --run RUN [PID...]\n       tacho-kernel "
				"--check\n");
		return 2;
	}
	if (!parse_pids(&recorder, argv + 3))
		return 2;
	ignore_signals();
	recorder.launcher = recorder.n_pids ? 0 : getppid();
	recorder.trace = kernel_trace_open(argv[2]);
	if (!recorder.trace) {
		printf("nothing %s\n", strerror(errno));
		return 1;
	}
	recorder.programs = kernel_programs_load(recorder.launcher, recorder.pids, recorder.n_pids,
						 why, sizeof(why));
	say(&recorder, why);
	record(&recorder);
	recorder.error = kernel_trace_close(recorder.trace, lost(&recorder)) ?: recorder.error;
	kernel_programs_unload(recorder.programs);
	if (recorder.error)
		fprintf(stderr, "tacho: what the kernel did cannot be written: %s\n",
			strerror(-recorder.error));
	return recorder.error != 0;
}
