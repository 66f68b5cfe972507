/* say: the agent's only voice. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/probe.h"

#define MAX_SAID 32

struct saying {
	const char *format;
	va_list args;
};

/* One write, past stdio: the job's own buffers stay as they are. */
static void write_line(void *saying_pointer)
{
	struct saying *saying = saying_pointer;
	char line[1024];
	int length;

	length = snprintf(line, sizeof(line), "tacho: ");
	length += vsnprintf(line + length, sizeof(line) - (size_t)length - 1, saying->format,
			    saying->args);
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	line[length++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

void tacho_say(const char *format, ...)
{
	static const char *said[MAX_SAID];
	static int n_said;
	struct saying saying = { .format = format };
	int place;

	/* Two threads may both say a thing; once too often is no harm, a lock would be. */
	for (int i = 0; i < __atomic_load_n(&n_said, __ATOMIC_ACQUIRE) && i < MAX_SAID; i++)
		if (__atomic_load_n(&said[i], __ATOMIC_ACQUIRE) == format)
			return;
	place = __atomic_fetch_add(&n_said, 1, __ATOMIC_ACQ_REL);
	if (place >= MAX_SAID)
		return;
	__atomic_store_n(&said[place], format, __ATOMIC_RELEASE);

	va_start(saying.args, format);
	tacho_run_aside(write_line, &saying);
	va_end(saying.args);
}
