/* time_namespace: by how much the CLOCK_MONOTONIC that this process reads is ahead of the machine's.
 *
 * A process in a time namespace of its own (unshare --time, CRIU) reads a CLOCK_MONOTONIC that was
 * set ahead or back; the TSC and CLOCK_REALTIME are the machine's. The kernel tells the offset in
 * /proc/self/timens_offsets (time_namespaces(7)), for the namespace that the children will be in:
 * not ours, after an unshare() of our own.
 *
 * For the agent, and for `tacho record`, which calibrates the clock. Libc only. */
#ifndef TACHO_TIME_NAMESPACE_H
#define TACHO_TIME_NAMESPACE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 0 also where there are no time namespaces, and where it cannot be known. */
static inline int64_t time_namespace_ahead_ns(void)
{
	char own[64], children[64], text[256];
	ssize_t n_own = readlink("/proc/self/ns/time", own, sizeof(own));
	ssize_t n_children =
		readlink("/proc/self/ns/time_for_children", children, sizeof(children));
	long long seconds, ns;
	ssize_t length = 0;
	int fd;

	if (n_own <= 0 || n_own != n_children || memcmp(own, children, (size_t)n_own) != 0)
		return 0;
	fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[length > 0 ? length : 0] = '\0';
	if (sscanf(text, "monotonic %lld %lld", &seconds, &ns) != 2 ||
	    seconds > INT64_MAX / 2000000000 || seconds < INT64_MIN / 2000000000)
		return 0;
	return (int64_t)seconds * 1000000000 + (int64_t)ns;
}

#endif
