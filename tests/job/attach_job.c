/* attach_job MODE [PACE]: a program that is attached to at bad moments, until SIGTERM; then it says whether all went as it should.
 * It sees EINTR, wrong memory, lost threads; it exits with 1 where something is odd, and is killed where it hangs.
 *
 *   malloc   one thread that allocates and frees, without a pause
 *   mallocs  eight of them
 *   fork     forks without a pause; the children allocate and end
 *   vfork    waits most of the time for a child of vfork()
 *   calls    waits in read, nanosleep, poll, epoll_wait and a futex, each in a thread
 *   epoll    one thread, which waits in epoll_wait without end
 *   sleep    one thread, which sleeps
 *   loader   one thread, in dlopen() most of the time, which waits there for a file that comes slowly
 *   vectors  one thread, which computes with the longest registers that there are
 *   handler  a signal interrupts malloc(), and its handler takes most of the time
 *   threads  200 threads, which wait and work; PACE (1) times as long, for a slow machine */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static volatile int n_odd; /* what must not happen */
static volatile unsigned long n_rounds;
static long pace = 1;

static void odd(const char *what)
{
	fprintf(stderr, "attach_job: %s: %s\n", what, strerror(errno));
	n_odd++;
}

static void over(int number)
{
	(void)number;
	is_over = 1;
}

static unsigned next(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 8;
}

#define N_BLOCKS 64

static void *allocate(void *seed)
{
	unsigned state = (unsigned)(size_t)seed + 1;
	unsigned char *blocks[N_BLOCKS] = { 0 };
	size_t sizes[N_BLOCKS] = { 0 };

	while (!is_over) {
		unsigned i = next(&state) % N_BLOCKS;

		if (blocks[i] && (blocks[i][0] != i || blocks[i][sizes[i] - 1] != i))
			odd("memory has changed");
		free(blocks[i]);
		sizes[i] = 1 + next(&state) % (next(&state) % 16 ? 500 : 300000);
		blocks[i] = malloc(sizes[i]);
		if (!blocks[i]) {
			odd("no memory");
			break;
		}
		blocks[i][0] = blocks[i][sizes[i] - 1] = (unsigned char)i;
		n_rounds++;
	}
	for (unsigned i = 0; i < N_BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

static void run_threads(unsigned n, void *(*function)(void *))
{
	pthread_t *threads = calloc(n, sizeof(*threads));

	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, function, (void *)(size_t)i) != 0)
			odd("pthread_create");
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void fork_all_the_time(void)
{
	while (!is_over) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			char *memory = malloc(5000);

			memset(memory, 1, 5000);
			free(memory);
			_exit(7);
		}
		if (child < 0) {
			odd("fork");
			break;
		}
		while (waitpid(child, &status, 0) < 0)
			if (errno != EINTR || !is_over)
				odd("waitpid");
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
			odd("a child ended in another way");
		n_rounds++;
	}
}

static void vfork_all_the_time(void)
{
	while (!is_over) {
		int status;
		pid_t child = vfork();

		if (child == 0) {
			execl("/bin/sleep", "sleep", "0.05", (char *)NULL);
			_exit(1);
		}
		while (waitpid(child, &status, 0) < 0)
			if (errno != EINTR || !is_over)
				odd("waitpid");
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			odd("a child ended in another way");
		n_rounds++;
	}
}

/* --- calls that wait ------------------------------------------------------------------------ */

static int pipes[3][2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned n_told;

static void sleep_ns(long ns)
{
	const struct timespec time = { 0, ns };

	if (nanosleep(&time, NULL) < 0 && !is_over)
		odd("nanosleep");
}

static void *tell(void *unused)
{
	(void)unused;
	while (!is_over) {
		sleep_ns(20000000);
		for (int i = 0; i < 3; i++)
			if (write(pipes[i][1], "x", 1) != 1)
				odd("write");
		pthread_mutex_lock(&lock);
		n_told++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		n_rounds++;
	}
	for (int i = 0; i < 3; i++)
		close(pipes[i][1]);
	pthread_mutex_lock(&lock);
	n_told++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *read_bytes(void *unused)
{
	char byte;
	ssize_t n;

	(void)unused;
	while ((n = read(pipes[0][0], &byte, 1)) != 0)
		if (n < 0 && !is_over)
			odd("read");
	return NULL;
}

static void *poll_bytes(void *unused)
{
	struct pollfd fd = { pipes[1][0], POLLIN, 0 };
	char byte;

	(void)unused;
	for (;;) {
		if (poll(&fd, 1, -1) < 0 && !is_over)
			odd("poll");
		if (read(pipes[1][0], &byte, 1) == 0)
			return NULL;
	}
}

static void *epoll_bytes(void *unused)
{
	struct epoll_event event = { .events = EPOLLIN }, found;
	int fd = epoll_create1(0);
	char byte;

	(void)unused;
	epoll_ctl(fd, EPOLL_CTL_ADD, pipes[2][0], &event);
	for (;;) {
		if (epoll_wait(fd, &found, 1, -1) < 0 && !is_over)
			odd("epoll_wait");
		if (read(pipes[2][0], &byte, 1) == 0)
			return NULL;
	}
}

static void *await_told(void *unused)
{
	unsigned seen = 0;

	(void)unused;
	pthread_mutex_lock(&lock);
	while (!is_over) {
		while (n_told == seen && !is_over)
			pthread_cond_wait(&changed, &lock);
		seen = n_told;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *call(void *number)
{
	static void *(*const calls[])(void *) = { tell, read_bytes, poll_bytes, epoll_bytes,
						  await_told };

	return calls[(size_t)number % 5](NULL);
}

static void wait_in_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN }, found;
	int fd = epoll_create1(0), ends[2];

	if (pipe(ends) < 0)
		odd("pipe");
	epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event);
	while (!is_over) {
		n_rounds++;
		if (epoll_wait(fd, &found, 1, -1) < 0 && !is_over)
			odd("epoll_wait");
	}
}

static void sleep_without_end(void)
{
	const struct timespec time = { 1000000, 0 };

	while (!is_over) {
		n_rounds++;
		if (nanosleep(&time, NULL) < 0 && !is_over)
			odd("nanosleep");
	}
}

/* --- registers ------------------------------------------------------------------------------ */

#if defined(__x86_64__)
/* Wait with a pattern in a register; whether all of it is there then. */
static int vectors_are_kept(unsigned long spins)
{
	unsigned found;

	__asm__ volatile("	pcmpeqb %%xmm15, %%xmm15\n"
			 "1:	dec %1\n"
			 "	jnz 1b\n"
			 "	pmovmskb %%xmm15, %0\n"
			 : "=r"(found), "+r"(spins)
			 :
			 : "xmm15", "cc");
	return found == 0xffff;
}
#elif defined(__aarch64__)
static int long_vectors_are_kept(unsigned long spins)
{
	unsigned long n_lanes, n_found, n_kept;

	__asm__ volatile("	.arch_extension sve\n"
			 "	mov z31.b, #7\n"
			 "	ptrue p7.b\n"
			 "	cntb %0\n"
			 "1:	subs %3, %3, #1\n"
			 "	b.ne 1b\n"
			 "	cntp %1, p7, p7.b\n"
			 "	ptrue p7.b\n"
			 "	cmpeq p6.b, p7/z, z31.b, #7\n"
			 "	cntp %2, p7, p6.b\n"
			 : "=&r"(n_lanes), "=&r"(n_found), "=&r"(n_kept), "+r"(spins)
			 :
			 : "v31", "cc");
	return n_found == n_lanes && n_kept == n_lanes;
}

/* Wait with a pattern in a register; whether all of it is there then. */
static int vectors_are_kept(unsigned long spins)
{
	unsigned found;

	if (getauxval(AT_HWCAP) & HWCAP_SVE)
		return long_vectors_are_kept(spins);
	__asm__ volatile("	movi v31.16b, #7\n"
			 "1:	subs %1, %1, #1\n"
			 "	b.ne 1b\n"
			 "	uaddlv h30, v31.16b\n"
			 "	umov %w0, v30.h[0]\n"
			 : "=r"(found), "+r"(spins)
			 :
			 : "v30", "v31", "cc");
	return found == 7 * 16;
}
#else
static int vectors_are_kept(unsigned long spins)
{
	for (volatile unsigned long i = 0; i < spins; i++)
		;
	return 1;
}
#endif

static void compute(void)
{
	while (!is_over) {
		if (!vectors_are_kept(100000000))
			odd("a register has changed");
		n_rounds++;
	}
}

/* --- a signal handler ----------------------------------------------------------------------- */

static void take_time(int number)
{
	struct timespec begin, now;

	(void)number;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!is_over &&
		 (now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 20000000);
}

static void be_interrupted(void)
{
	struct sigaction action = { .sa_handler = take_time, .sa_flags = SA_RESTART };
	struct itimerval time = { { 0, 21000 }, { 0, 21000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &time, NULL);
	allocate(NULL);
}

/* --- the loader ----------------------------------------------------------------------------- */

#define SLOW_LIBRARY "./slow.so"

/* The other end of a pipe with a name: whoever opens it to read waits until this one does to write. */
static void give_slowly(void)
{
	for (;;) {
		int file;

		sleep_ns(50000000);
		file = open(SLOW_LIBRARY, O_WRONLY);
		if (file < 0)
			_exit(1);
		close(file);
	}
}

/* With the loader's locks held nearly always: a new thread that waits for one of them is to be woken when it is free. */
static void load_slowly(void)
{
	pid_t giver;

	if (mkfifo(SLOW_LIBRARY, 0600) < 0 || (giver = fork()) < 0) {
		odd("a slow library");
		return;
	}
	if (giver == 0)
		give_slowly();
	while (!is_over) {
		if (dlopen(SLOW_LIBRARY, RTLD_NOW))
			odd("a library without a byte was loaded");
		for (volatile int i = 0; i < 3000000; i++)
			;
		n_rounds++;
	}
	kill(giver, SIGKILL);
	waitpid(giver, NULL, 0);
	unlink(SLOW_LIBRARY);
}

/* --- many threads --------------------------------------------------------------------------- */

static void *work_or_wait(void *number)
{
	unsigned state = (unsigned)(size_t)number;

	while (!is_over) {
		if ((size_t)number % 10 == 0) {
			void *memory = malloc(next(&state) % 10000);

			free(memory);
		}
		sleep_ns(pace * (1000000 + (long)(next(&state) % 5000000)));
		n_rounds++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = over };
	const char *mode = argc > 1 ? argv[1] : "";

	if (argc > 2)
		pace = atol(argv[2]);
	sigaction(SIGTERM, &action, NULL);
	for (int i = 0; i < 3; i++)
		if (pipe(pipes[i]) < 0)
			return 2;
	puts("ready");
	fflush(stdout);
	if (strcmp(mode, "malloc") == 0)
		allocate(NULL);
	else if (strcmp(mode, "mallocs") == 0)
		run_threads(8, allocate);
	else if (strcmp(mode, "fork") == 0)
		fork_all_the_time();
	else if (strcmp(mode, "vfork") == 0)
		vfork_all_the_time();
	else if (strcmp(mode, "calls") == 0)
		run_threads(5, call);
	else if (strcmp(mode, "epoll") == 0)
		wait_in_epoll();
	else if (strcmp(mode, "sleep") == 0)
		sleep_without_end();
	else if (strcmp(mode, "loader") == 0)
		load_slowly();
	else if (strcmp(mode, "vectors") == 0)
		compute();
	else if (strcmp(mode, "handler") == 0)
		be_interrupted();
	else if (strcmp(mode, "threads") == 0)
		run_threads(200, work_or_wait);
	else
		return 2;
	printf("%lu rounds\n", n_rounds);
	return n_odd ? 1 : 0;
}
