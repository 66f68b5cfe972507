/* call_filters: how many filters of system calls (seccomp) a process is under, as /proc says. For `tacho
 * record` and for the agent, which compares. Libc only. */
#ifndef TACHO_CALL_FILTERS_H
#define TACHO_CALL_FILTERS_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number behind `key` in `text`; 0: there is no such line. */
static inline uint64_t call_filters_number(const char *text, const char *key)
{
	const char *line = strstr(text, key);

	return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

/* Kernels before 5.9 tell only whether there are any: 1. Without /proc: 0. */
static inline uint64_t call_filters_count(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint64_t n;

	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	n = call_filters_number(text, "\nSeccomp_filters:");
	return n ? n : call_filters_number(text, "\nSeccomp:") != 0;
}

#endif
