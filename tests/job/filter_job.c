/* filter_job: a program that talks TCP with itself and then restricts its system calls, so that one call more
 * than its own ends it. Records through the agent where there is one, and prints the same with and without.
 *
 *     filter_job strict     SECCOMP_MODE_STRICT: read, write, _exit, nothing else
 *     filter_job prctl      a filter of the same kind, set by prctl()
 *     filter_job syscall    ... by syscall(SYS_seccomp), for all threads, one of which goes on to read
 *     filter_job exec       a filter that forbids what the agent would need, and then execs itself as `talk`
 *     filter_job talk       only talks
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ALLOW	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define DENY	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define IF(call)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1)
#define COUNT(rows) (sizeof(rows) / sizeof(*(rows)))

static int ends[2], pipe_ends[2];
static int
	is_reading; /* atomic: the thread is past the calls of its start, which the filter would forbid */

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void connect_ends(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0 ||
	    connect(ends[0], (struct sockaddr *)&address, length) < 0)
		fail("connect");
	ends[1] = accept(listener, NULL, NULL);
	if (ends[1] < 0 || pipe(pipe_ends) < 0)
		fail("accept");
}

/* By read and write alone. */
static void talk(const char *line)
{
	char byte;

	for (int i = 0; i < 100; i++)
		if (write(ends[0], "x", 1) != 1 || read(ends[1], &byte, 1) != 1)
			syscall(SYS_exit, 3);
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		syscall(SYS_exit, 4);
}

static void set_filter(struct sock_filter *rows, size_t n, int by_syscall)
{
	struct sock_fprog program = { .len = (unsigned short)n, .filter = rows };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		fail("no_new_privs");
	if (by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				 &program) != 0
		       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		fail("seccomp");
}

static void allow_little(int by_syscall)
{
	struct sock_filter rows[] = { CALL,  IF(SYS_read),	   ALLOW, IF(SYS_write),
				      ALLOW, IF(SYS_exit),	   ALLOW, IF(SYS_exit_group),
				      ALLOW, IF(SYS_rt_sigreturn), ALLOW, DENY };

	set_filter(rows, COUNT(rows), by_syscall);
}

/* What a program of these may do without, and the agent may not. */
static void forbid_some(void)
{
	struct sock_filter rows[] = { CALL, IF(SYS_getsockopt),	 DENY, IF(SYS_mkdir),
				      DENY, IF(SYS_getpeername), DENY, IF(SYS_ftruncate),
				      DENY, IF(SYS_rename),	 DENY, ALLOW };

	set_filter(rows, COUNT(rows), 0);
}

static void *read_pipe(void *unused)
{
	char byte;

	__atomic_store_n(&is_reading, 1, __ATOMIC_RELEASE);
	while (read(pipe_ends[0], &byte, 1) ==
	       1) /* to the end: a thread that ends makes other calls */
		;
	return unused;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	pthread_t thread;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (strcmp(mode, "exec") == 0) {
		forbid_some();
		execl(argv[0], argv[0], "talk", NULL);
	}
	connect_ends();
	if (strcmp(mode, "talk") == 0) {
		talk("talked\n");
		return 7;
	}
	talk("before\n");
	if (strcmp(mode, "strict") == 0) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
		talk("strict\n");
		syscall(SYS_exit, 5);
	}
	if (pthread_create(&thread, NULL, read_pipe, NULL) != 0)
		fail("pthread_create");
	while (!__atomic_load_n(&is_reading, __ATOMIC_ACQUIRE))
		sched_yield();
	allow_little(strcmp(mode, "syscall") == 0);
	talk("filtered\n");
	for (int i = 0; i < 100; i++)
		if (write(pipe_ends[1], "x", 1) != 1)
			return 8;
	talk("done\n");
	_exit(6);
}
