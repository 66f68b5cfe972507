#include "agent/own_files.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/probe.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1) /* Linux 5.9 */
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438 /* Linux 5.6 */
#endif

static TACHO_THREAD_LOCAL bool has_own_files;

bool tacho_own_files(void)
{
	/* Nothing is copied: who waits until all have closed a pipe does not wait for this thread. Where LTTng is the engine, the
	 * process's first record may be of this thread, and LTTng's descriptors must be the job's, whose main thread closes them. */
	if (!has_own_files && !tacho_has_engine)
		has_own_files = syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0;
	return has_own_files;
}

/* The same open file as the job's main thread has. Where that may not be had, it is opened once more, which a socket cannot be. */
static int job_stderr(void)
{
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int fd = -1;

	if (process >= 0) {
		fd = (int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0);
		close(process);
	}
	return fd >= 0 ? fd
		       : open("/proc/self/fd/2",
			      O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

int own_files_stderr(int *ret_close)
{
	*ret_close = has_own_files ? job_stderr() : -1;
	return has_own_files ? *ret_close : STDERR_FILENO;
}
