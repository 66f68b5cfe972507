#include "agent/losses.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/settings.h"
#include "common/probe.h"
#include "trace/trace_layout.h"

static const char *run_dir = "";

void losses_configure(const struct agent_settings *settings)
{
	run_dir = settings->run_dir;
}

struct loss {
	uint64_t n_records;
	const char *cause;
};

/* Add `rest`, behind who writes it, to the run's file `name`. */
static void add_line(const char *name, const char *rest)
{
	char path[PATH_MAX + 16], host[256], line[768];
	int length, fd;

	if (gethostname(host, sizeof(host) - 1) < 0)
		strcpy(host, "?");
	host[sizeof(host) - 1] = '\0';
	snprintf(path, sizeof(path), "%s/%s", run_dir, name);
	length = snprintf(line, sizeof(line), "%d\t%.200s\t%.500s\n", (int)getpid(), host, rest);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, line, (size_t)length) != (ssize_t)length)
		errno = 0;
	close(fd);
}

static void write_line(void *loss_pointer)
{
	const struct loss *loss = loss_pointer;
	char rest[256];

	snprintf(rest, sizeof(rest), "%llu\t%.200s", (unsigned long long)loss->n_records,
		 loss->cause);
	add_line(TRACE_LOSSES_FILE, rest);
}

void losses_note(uint64_t n_records, const char *cause)
{
	struct loss loss = { .n_records = n_records, .cause = cause };

	tacho_run_aside(write_line, &loss);
}

void losses_note_unseen(const char *what, const char *why)
{
	char rest[512];

	if (!*run_dir)
		return;
	snprintf(rest, sizeof(rest), "%.64s\t%.400s", what, why);
	for (char *c = rest; *c; c++)
		if (*c == '\n')
			*c = ' ';
	add_line(TRACE_UNSEEN_FILE, rest);
}
