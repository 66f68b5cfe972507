#include "kernel/thread_sums.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/kernel_trace.h"

#define MAX_DEPTH 64 /* of processes that start processes */
#define NS_PER_S  UINT64_C(1000000000)

/* A file of /proc, as a text in `text`; 0: it is not there, or empty. */
static size_t read_file(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	while (n < room - 1 && (got = read(fd, text + n, room - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	text[n] = '\0';
	return n;
}

static uint64_t number_behind(const char *text, const char *key)
{
	const char *found = strstr(text, key);

	return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

/* Fields of /proc/PID/stat behind the name, which may hold anything: proc(5) counts the state, the first, as field 3. */
static void read_stat(const char *text, struct thread_sums *sums)
{
	static const unsigned minor = 10, major = 12, io_wait = 42;
	const char *at = strrchr(text, ')');
	long ticks = sysconf(_SC_CLK_TCK);

	if (!at)
		return;
	at++;
	for (unsigned field = 3; *at; field++) {
		uint64_t value = strtoull(at + strspn(at, " "), NULL, 10);

		if (field == minor)
			sums->minor_faults = value;
		else if (field == major)
			sums->major_faults = value;
		else if (field == io_wait && ticks > 0)
			sums->io_wait_ns = value * (NS_PER_S / (uint64_t)ticks);
		at += strspn(at, " ");
		at += strcspn(at, " ");
	}
}

static int read_thread(int pid, int tid, struct thread_sums *sums)
{
	char path[96], text[4096];

	*sums = (struct thread_sums){ .pid = (uint32_t)pid, .tid = (uint32_t)tid };
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	if (read_file(path, text, sizeof(text)) &&
	    sscanf(text, "%" SCNu64 " %" SCNu64, &sums->run_ns, &sums->wait_ns) != 2)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (!read_file(path, text, sizeof(text)))
		return 0;
	read_stat(text, sums);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	if (read_file(path, text, sizeof(text))) {
		sums->n_given_up = number_behind(text, "\nvoluntary_ctxt_switches:");
		sums->n_taken = number_behind(text, "\nnonvoluntary_ctxt_switches:");
	}
	return 1;
}

struct look {
	struct kernel_trace *trace;
	uint64_t now_ns;
	int self;
	unsigned n;
};

static void look_below(struct look *look, int pid, unsigned depth);

static void look_at_children(struct look *look, int pid, const char *tid, unsigned depth)
{
	char path[300], text[16384], *at = text;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", pid, tid);
	if (!read_file(path, text, sizeof(text)))
		return;
	for (;;) {
		long child = strtol(at, &at, 10);

		if (child <= 0)
			return;
		if (child != look->self)
			look_below(look, (int)child, depth + 1);
	}
}

/* The threads of the process, if it is one of the job's (`is_job`), and all below it. */
static void look_at_threads(struct look *look, int pid, int is_job, unsigned depth)
{
	char path[64];
	struct dirent *entry;
	struct thread_sums sums;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		int tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		if (is_job && read_thread(pid, tid, &sums)) {
			kernel_trace_add_sums(look->trace, look->now_ns, &sums);
			look->n++;
		}
		look_at_children(look, pid, entry->d_name, depth);
	}
	if (tasks)
		closedir(tasks);
}

static void look_below(struct look *look, int pid, unsigned depth)
{
	if (depth < MAX_DEPTH)
		look_at_threads(look, pid, 1, depth);
}

unsigned thread_sums_look(struct kernel_trace *trace, uint64_t now_ns, int launcher, int self,
			  const int *pids, unsigned n_pids)
{
	struct look look = { .trace = trace, .now_ns = now_ns, .self = self };

	if (launcher)
		look_at_threads(&look, launcher, 0, 0);
	for (unsigned i = 0; i < n_pids; i++)
		look_below(&look, pids[i], 0);
	return look.n;
}
