/* stack_use: how much of its stack a thread has used after a first call of what the agent or a probe
 * stands before. Prints one number, the bytes from the stack's end to the lowest that was written.
 *
 *     stack_use HOOK thread    in a thread of PTHREAD_STACK_MIN bytes
 *     stack_use HOOK signal    in a handler on a signal stack of SIGSTKSZ bytes
 *
 * Whoever runs it with and without the agent knows what the agent's hook takes. The stack is shared
 * memory and the call is made in a child, so that a hook that ends the process can be asked, too. */
#include <dlfcn.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATTERN	    0xa5
#define ANNOTATION  1	  /* TRACE_KIND_ANNOTATION */
#define BEYOND	    65536 /* what lies below a stack, to see what runs over its end */
#define MATRIX_SIZE 4

static int ends[2], epoll_fd, pipe_ends[2];
static void *(*begin_slice)(int kind, const char *name, uint64_t id);
static void (*end_slice)(void *slice);
static uint32_t (*declare)(int kind, const char *name, size_t length);
static void (*sgemm)(const char *, const char *, const int *, const int *, const int *,
		     const float *, const float *, const int *, const float *, const int *,
		     const float *, float *, const int *);

/* --- the hooks ------------------------------------------------------------------------------ */

static void call_record(void)
{
	if (begin_slice)
		end_slice(begin_slice(ANNOTATION, "small", 0));
}

static void call_class(void)
{
	if (declare)
		declare(ANNOTATION, "another", 7);
}

static void call_send(void)
{
	if (send(ends[0], "x", 1, 0) != 1)
		_exit(1);
}

static void call_read(void)
{
	char byte;

	if (read(ends[1], &byte, 1) != 1)
		_exit(1);
}

static void call_poll(void)
{
	struct pollfd wanted = { .fd = ends[0], .events = POLLIN };

	poll(&wanted, 1, 1);
}

static void call_epoll(void)
{
	struct epoll_event event;

	epoll_wait(epoll_fd, &event, 1, 1);
}

static void call_write_pipe(void)
{
	if (write(pipe_ends[1], "x", 1) != 1)
		_exit(1);
}

static void *do_nothing(void *unused)
{
	return unused;
}

static void call_thread(void)
{
	static pthread_attr_t attributes; /* large, and not what is asked about */
	static pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	if (pthread_create(&thread, &attributes, do_nothing, NULL) == 0)
		pthread_join(thread, NULL);
}

static void call_dlsym(void)
{
	dlsym(RTLD_DEFAULT, "puts");
}

static void call_sgemm(void)
{
	static const float one = 1, zero;
	static const int n = MATRIX_SIZE;
	static float a[MATRIX_SIZE * MATRIX_SIZE], b[MATRIX_SIZE * MATRIX_SIZE],
		c[MATRIX_SIZE * MATRIX_SIZE];

	if (sgemm)
		sgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}

static void call_exit(void)
{
	_exit(0);
}

static const struct {
	const char *name;
	void (*call)(void);
} hooks[] = {
	{ "record", call_record },    { "class", call_class },
	{ "send", call_send },	      { "read", call_read },
	{ "poll", call_poll },	      { "epoll_wait", call_epoll },
	{ "write", call_write_pipe }, { "pthread_create", call_thread },
	{ "dlsym", call_dlsym },      { "sgemm", call_sgemm },
	{ "_exit", call_exit },
};

/* --- what they need ------------------------------------------------------------------------- */

static void connect_ends(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct epoll_event event = { .events = EPOLLIN };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0 ||
	    connect(ends[0], (struct sockaddr *)&address, length) < 0)
		exit(2);
	ends[1] = accept(listener, NULL, NULL);
	epoll_fd = epoll_create1(0);
	if (ends[1] < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ends[0], &event) < 0 ||
	    pipe(pipe_ends) < 0)
		exit(2);
}

/* A byte to receive, sent so that no hook sees it. */
static void prepare(const char *hook)
{
	void *blas =
		strcmp(hook, "sgemm") == 0 ? dlopen("libblas.so.3", RTLD_NOW | RTLD_GLOBAL) : NULL;

	*(void **)&begin_slice = dlsym(RTLD_DEFAULT, "tacho_slice_begin_named");
	*(void **)&end_slice = dlsym(RTLD_DEFAULT, "tacho_slice_end_named");
	*(void **)&declare = dlsym(RTLD_DEFAULT, "tacho_class");
	*(void **)&sgemm = blas ? dlsym(RTLD_DEFAULT, "sgemm_") : NULL;
	connect_ends();
	if (strcmp(hook, "read") == 0 && syscall(SYS_sendto, ends[0], "x", 1, 0, NULL, 0) != 1)
		exit(2);
	/* The process records; the thread to come has not yet. */
	if (strcmp(hook, "class") == 0 || strcmp(hook, "_exit") == 0)
		call_record();
}

/* --- the stacks ----------------------------------------------------------------------------- */

static void (*call)(void);

static void *run_thread(void *unused)
{
	call();
	return unused;
}

static void on_signal(int unused)
{
	(void)unused;
	call();
}

static void call_in_thread(char *stack, size_t size)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, stack, size) != 0 ||
	    pthread_create(&thread, &attributes, run_thread, NULL) != 0)
		exit(2);
	pthread_join(thread, NULL);
}

static void call_in_handler(char *stack, size_t size)
{
	const stack_t place = { .ss_sp = stack, .ss_size = size };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&place, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	bool is_signal = argc == 3 && strcmp(argv[2], "signal") == 0;
	size_t size = is_signal ? 8192 : PTHREAD_STACK_MIN, used = 0;
	unsigned char *memory = mmap(NULL, BEYOND + size, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	for (size_t i = 0; argc == 3 && i < sizeof(hooks) / sizeof(*hooks); i++)
		if (strcmp(hooks[i].name, argv[1]) == 0)
			call = hooks[i].call;
	if (!call || memory == MAP_FAILED)
		return 2;
	memset(memory, PATTERN, BEYOND + size);
	if (fork() == 0) {
		prepare(argv[1]);
		if (is_signal)
			call_in_handler((char *)memory + BEYOND, size);
		else
			call_in_thread((char *)memory + BEYOND, size);
		_exit(0);
	}
	if (wait(&status) < 0 || status != 0)
		return 1;
	for (size_t i = 0; i < BEYOND + size && !used; i++)
		if (memory[i] != PATTERN)
			used = BEYOND + size - i;
	printf("%zu\n", used);
	return 0;
}
