/* say: the agent's only voice. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/losses.h"
#include "agent/own_files.h"
#include "common/probe.h"

#define MAX_SAID 32

struct saying {
	const char *unseen; /* what of the job; NULL: nothing of it */
	const char *format;
	va_list args;
};

/* One write, past stdio: the job's own buffers stay as they are. */
static void write_line(void *saying_pointer)
{
	static const char voice[] = "tacho: ";
	struct saying *saying = saying_pointer;
	char line[1024];
	int length, fd, to_close;

	length = snprintf(line, sizeof(line), voice);
	length += vsnprintf(line + length, sizeof(line) - (size_t)length - 1, saying->format,
			    saying->args);
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	if (saying->unseen)
		losses_note_unseen(saying->unseen, line + strlen(voice));
	line[length++] = '\n';
	fd = own_files_stderr(&to_close);
	if (write(fd, line, (size_t)length) < 0)
		length = 0; /* who closed it does not want to hear it */
	if (to_close >= 0)
		close(to_close);
}

/* Whether `format` is said for the first time in this process. */
static bool is_new(const char *format)
{
	static const char *said[MAX_SAID];
	static int n_said;
	int place;

	/* Two threads may both say a thing; once too often is no harm, a lock would be. */
	for (int i = 0; i < __atomic_load_n(&n_said, __ATOMIC_ACQUIRE) && i < MAX_SAID; i++)
		if (__atomic_load_n(&said[i], __ATOMIC_ACQUIRE) == format)
			return false;
	place = __atomic_fetch_add(&n_said, 1, __ATOMIC_ACQ_REL);
	if (place >= MAX_SAID)
		return false;
	__atomic_store_n(&said[place], format, __ATOMIC_RELEASE);
	return true;
}

static void say_once(const char *unseen, const char *format, va_list args)
{
	struct saying saying = { .unseen = unseen, .format = format };

	if (!is_new(format))
		return;
	va_copy(saying.args, args);
	tacho_run_aside(write_line, &saying);
	va_end(saying.args);
}

void tacho_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_once(NULL, format, args);
	va_end(args);
}

void tacho_unseen(const char *what, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_once(what, format, args);
	va_end(args);
}
