/* say: the agent's only voice. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/probe.h"

#define MAX_SAID 32

void tacho_say(const char *format, ...)
{
	static const char *said[MAX_SAID];
	static int n_said;
	char line[1024];
	va_list args;
	int length, place;

	/* Two threads may both say a thing; once too often is no harm, a lock would be. */
	for (int i = 0; i < __atomic_load_n(&n_said, __ATOMIC_ACQUIRE) && i < MAX_SAID; i++)
		if (__atomic_load_n(&said[i], __ATOMIC_ACQUIRE) == format)
			return;
	place = __atomic_fetch_add(&n_said, 1, __ATOMIC_ACQ_REL);
	if (place >= MAX_SAID)
		return;
	__atomic_store_n(&said[place], format, __ATOMIC_RELEASE);

	length = snprintf(line, sizeof(line), "tacho: ");
	va_start(args, format);
	length += vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format, args);
	va_end(args);
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	line[length++] = '\n';
	/* One write, past stdio: the job's own buffers stay as they are. */
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}
