/* kernel_job MODE ...: a job that says itself what the kernel does with it, so that the recording can be held against it.
 *
 *     gaps CORE SECONDS      runs on that core all the time, in five steps, and measures when it did not: prints the ms in which it
 *                            was away for more than 0.2 ms at a time
 *     hog CORE SECONDS       runs there, too, and says nothing
 *     write FILE MB          writes that much past the page cache, 1 MB at a time, and syncs; prints how many writes there were
 *     flood FILE SECONDS     writes every second block of 4 KiB of a file's first 8 MB, past the page cache, 1024 at once
 *     between FILE N         writes N of the blocks between those, one at a time, in no order
 *     send ADDRESS PORT MB   sends that much, in one step
 *     receive PORT           receives all that one connection brings; prints "ready" before and the bytes behind it
 *     sleep MS               sleeps so often: five times, for that long */
#include <tacho/mark.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MB	 (1 << 20)
#define GAP	 200000
#define BLOCK	 4096
#define N_BLOCKS 1024 /* of `flood`, with as many between them */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int pin(const char *core)
{
	cpu_set_t cores;

	CPU_ZERO(&cores);
	CPU_SET(atoi(core), &cores);
	return sched_setaffinity(0, sizeof(cores), &cores);
}

/* Until `end_ns`; returns how long it was away. */
static int64_t run_until(int64_t end_ns)
{
	int64_t away_ns = 0, before_ns = now_ns();

	for (;;) {
		int64_t at_ns = now_ns();

		if (at_ns - before_ns > GAP)
			away_ns += at_ns - before_ns;
		if (at_ns >= end_ns)
			return away_ns;
		before_ns = at_ns;
	}
}

static int gaps(const char *core, double seconds)
{
	int64_t away_ns = 0, begin_ns;

	if (pin(core) < 0)
		return 1;
	begin_ns = now_ns();
	for (int i = 0; i < 5; i++) {
		TACHO_MARK_SCOPE("step");
		TACHO_MARK_STEP(i);
		away_ns += run_until(begin_ns + (int64_t)(seconds * 1e9 / 5) * (i + 1));
	}
	printf("%.3f\n", (double)away_ns / 1e6);
	return 0;
}

static int write_file(const char *path, int n)
{
	void *block;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0600);

	if (fd < 0 || posix_memalign(&block, 4096, MB))
		return 77;
	memset(block, 7, MB);
	for (int i = 0; i < n; i++) {
		TACHO_MARK_SCOPE("step");
		TACHO_MARK_STEP(i);
		if (write(fd, block, MB) != MB)
			return 1;
	}
	if (fsync(fd) < 0)
		return 1;
	printf("%d\n", n);
	return 0;
}

static int flood(const char *path, double seconds)
{
	static struct iocb requests[N_BLOCKS], *all[N_BLOCKS];
	static struct io_event done[N_BLOCKS];
	int64_t end_ns = now_ns() + (int64_t)(seconds * 1e9);
	aio_context_t context = 0;
	void *block;
	int fd = open(path, O_WRONLY | O_DIRECT);

	if (fd < 0 || posix_memalign(&block, BLOCK, BLOCK) ||
	    syscall(SYS_io_setup, N_BLOCKS, &context) < 0)
		return 77;
	for (int i = 0; i < N_BLOCKS; i++) {
		all[i] = &requests[i];
		requests[i].aio_fildes = (uint32_t)fd;
		requests[i].aio_lio_opcode = IOCB_CMD_PWRITE;
		requests[i].aio_buf = (uintptr_t)block;
		requests[i].aio_nbytes = BLOCK;
		requests[i].aio_offset = (int64_t)BLOCK * 2 * (i * 167 % N_BLOCKS);
	}
	while (now_ns() < end_ns) {
		long n_sent = 0, n_done = 0, n;

		while (n_done < N_BLOCKS) {
			n = n_sent < N_BLOCKS ? syscall(SYS_io_submit, context, 64, all + n_sent)
					      : 0;
			n_sent += n > 0 ? n : 0;
			n = syscall(SYS_io_getevents, context, 1, N_BLOCKS, done, NULL);
			n_done += n > 0 ? n : 0;
		}
	}
	return 0;
}

static int write_between(const char *path, int n)
{
	void *block;
	int fd = open(path, O_WRONLY | O_DIRECT);

	if (fd < 0 || posix_memalign(&block, BLOCK, BLOCK))
		return 77;
	TACHO_MARK_SCOPE("step");
	TACHO_MARK_STEP(0);
	for (int i = 0; i < n; i++)
		if (pwrite(fd, block, BLOCK, (off_t)BLOCK * (2 * (i * 419 % N_BLOCKS) + 1)) !=
		    BLOCK)
			return 1;
	return 0;
}

static int send_all(const char *address, const char *port, int n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char *block = calloc(1, MB);

	if (fd < 0 || !block || inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return 1;
	{
		TACHO_MARK_SCOPE("step");
		TACHO_MARK_STEP(0);
		for (int i = 0; i < n; i++)
			for (int sent = 0; sent < MB;) {
				ssize_t now = send(fd, block + sent, (size_t)(MB - sent), 0);

				if (now <= 0)
					return 1;
				sent += (int)now;
			}
	}
	return 0;
}

static int receive_all(const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, peer;
	char *block = malloc(MB);
	ssize_t n;
	long bytes = 0;

	if (fd < 0 || !block || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0)
		return 1;
	printf("ready\n");
	fflush(stdout);
	peer = accept(fd, NULL, NULL);
	while ((n = recv(peer, block, MB, 0)) > 0)
		bytes += n;
	printf("%ld\n", bytes);
	return n < 0;
}

static int sleep_often(int ms)
{
	for (int i = 0; i < 5; i++) {
		TACHO_MARK_SCOPE("step");
		TACHO_MARK_STEP(i);
		usleep((useconds_t)ms * 1000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	if (strcmp(mode, "gaps") == 0 && argc == 4)
		return gaps(argv[2], atof(argv[3]));
	if (strcmp(mode, "hog") == 0 && argc == 4)
		return pin(argv[2]) < 0 || run_until(now_ns() + (int64_t)(atof(argv[3]) * 1e9)) < 0;
	if (strcmp(mode, "write") == 0 && argc == 4)
		return write_file(argv[2], atoi(argv[3]));
	if (strcmp(mode, "flood") == 0 && argc == 4)
		return flood(argv[2], atof(argv[3]));
	if (strcmp(mode, "between") == 0 && argc == 4)
		return write_between(argv[2], atoi(argv[3]));
	if (strcmp(mode, "send") == 0 && argc == 5)
		return send_all(argv[2], argv[3], atoi(argv[4]));
	if (strcmp(mode, "receive") == 0 && argc == 3)
		return receive_all(argv[2]);
	if (strcmp(mode, "sleep") == 0 && argc == 3)
		return sleep_often(atoi(argv[2]));
	return 2;
}
