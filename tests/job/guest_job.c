/* guest_job: a program that does, on demand, what jobs do to a library that lives in them. It writes
 * records through the agent where there is one, and prints the same with and without.
 *
 *     guest_job MODE [ARGUMENT]
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANNOTATION 1	/* TRACE_KIND_ANNOTATION */
#define PATIENCE   1000 /* drops that are waited for, a millisecond each */

static void *(*begin_slice)(int kind, const char *name, uint64_t id);
static void (*end_slice)(void *slice);
static void (*write_mark)(const char *name, int64_t first, int64_t second, const char *text);

static void find_agent(void)
{
	*(void **)&begin_slice = dlsym(RTLD_DEFAULT, "tacho_slice_begin_named");
	*(void **)&end_slice = dlsym(RTLD_DEFAULT, "tacho_slice_end_named");
	*(void **)&write_mark = dlsym(RTLD_DEFAULT, "tacho_mark");
}

/* `n` slices named `name`, with ids from 0, and how many of them were dropped. No faster than a job
 * would: records that come quicker than memory can be made ready are dropped. */
static uint64_t try_to_record(const char *name, uint64_t n)
{
	uint64_t n_dropped = 0;

	for (uint64_t id = 0; begin_slice && id < n; id++) {
		void *slice = begin_slice(ANNOTATION, name, id);

		end_slice(slice);
		if (id % 200 == 199)
			usleep(500);
		if (!slice && n_dropped++ < PATIENCE) /* the agent's helper waits for a core */
			usleep(1000);
	}
	return n_dropped;
}

/* The same, until all are recorded, or that seems to be impossible. */
static void record(const char *name, uint64_t n)
{
	for (uint64_t n_dropped = 0; n > 0 && n_dropped < 60 * PATIENCE; n_dropped += n)
		n = try_to_record(name, n);
}

static void *run_thread(void *unused)
{
	record("thread", 1000);
	return unused;
}

static void work(void)
{
	pthread_t thread;

	record("main", 1000);
	if (pthread_create(&thread, NULL, run_thread, NULL) == 0)
		pthread_join(thread, NULL);
	puts("worked");
}

static int fork_workers(void)
{
	int n_good = 0, status;

	fflush(stdout);
	for (int i = 0; i < 4; i++) {
		if (fork() == 0) {
			record("worker", 500);
			_exit(i);
		}
	}
	while (wait(&status) > 0)
		n_good += WIFEXITED(status);
	record("after fork", 100);
	printf("%d workers\n", n_good);
	return 0;
}

static int print_much(void)
{
	for (int i = 0; i < 655360; i++) { /* 16 bytes each: 10 MiB */
		printf("line %010d\n", i);
		if (i % 100 == 0)
			record("print", 1);
	}
	return 0;
}

/* As a daemon does: everything but standard input, output and error. */
static int close_all(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	work();
	record("more", 10000);
	puts("closed");
	return 0;
}

/* As a launcher does between fork and exec, again and again, with a file of its own in between: what is in that file at the end. */
static int close_while_recording(const char *path)
{
	int n_own = 0, fd;

	for (int i = 0; i < 10000; i++) {
		for (fd = 3; fd < 8; fd++)
			close(fd);
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		for (int copy = 3; copy < 8; copy++)
			dup2(fd, copy);
		if (i % 20 == 0)
			record("closing", 200);
		n_own += write(3, "own", 3) == 3 && lseek(3, 0, SEEK_END) == 3;
	}
	printf("%d times nobody else wrote\n", n_own);
	return 0;
}

/* The descendant outlives the command; it says in `path` that it got through, and has ended when the
 * descriptors that it inherited are closed. */
static int daemonize(const char *path)
{
	char done[4096];

	snprintf(done, sizeof(done), "%s.done", path);
	fflush(stdout);
	if (fork() > 0)
		return 0;
	setsid();
	if (fork() > 0)
		_exit(0);
	if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) ||
	    !freopen("/dev/null", "w", stderr))
		_exit(1);
	usleep(200000);
	record("daemon", 1000);
	_exit(rename(path, done) != 0);
}

static int fill(const char *count)
{
	try_to_record("fill", strtoull(count, NULL, 10));
	puts("filled");
	return 3;
}

static int is_filled; /* atomic */

static void *fill_in_thread(void *count)
{
	try_to_record("fill", strtoull(count, NULL, 10));
	__atomic_store_n(&is_filled, 1, __ATOMIC_RELEASE);
	return count;
}

/* A thread that records little marks the steps of one that records much. */
static int mark_steps(char *count)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fill_in_thread, count) != 0)
		return 1;
	for (int step = 0; !__atomic_load_n(&is_filled, __ATOMIC_ACQUIRE); step++) {
		if (write_mark)
			write_mark("step", step, 0, "");
		usleep(20000);
	}
	pthread_join(thread, NULL);
	puts("marked");
	return 3;
}

/* No descriptor left: the agent must not need one. */
static int no_files(void)
{
	int fd, n = 0;

	record("first", 10);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	printf("last error %d\n", errno == EMFILE);
	try_to_record("then", 10000);
	return n > 0 ? 0 : 1;
}

/* --- files that are cut while they are mapped ----------------------------------------------- */

static sigjmp_buf after_fault;

static void on_bus(int signal_number)
{
	(void)signal_number;
	siglongjmp(after_fault, 1);
}

/* A store behind the end of a mapped file of its own: its own affair. */
static int fault(const char *path, int is_caught)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *page;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return 1;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || ftruncate(fd, 0) < 0)
		return 1;
	if (is_caught)
		signal(SIGBUS, on_bus);
	record("before", 100); /* the agent comes after the job's handler */
	puts("faults");
	fflush(stdout);
	if (sigsetjmp(after_fault, 1) == 0)
		*(volatile char *)page = 1;
	puts("caught");
	return 5;
}

static void *try_in_thread(void *unused)
{
	try_to_record("thread", 1000);
	return unused;
}

/* Somebody cuts every file of the recording; then the job goes on, in this thread and in others. */
static int cut(void)
{
	pthread_t thread;

	record("before", 1000);
	if (getenv("TACHO_RUN_DIR"))
		if (system("for f in \"$TACHO_RUN_DIR\"/*/[0-9]*; do LD_PRELOAD= truncate -s 0 "
			   "\"$f\"; done"))
			return 1;
	try_to_record("after", 1000);
	if (pthread_create(&thread, NULL, try_in_thread, NULL) == 0)
		pthread_join(thread, NULL);
	puts("went on");
	return 6;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";

	find_agent();
	if (strcmp(mode, "work") == 0)
		return work(), 0;
	if (strcmp(mode, "exit") == 0)
		return work(), atoi(argument);
	if (strcmp(mode, "_exit") == 0)
		work(), fflush(stdout), _exit(atoi(argument));
	if (strcmp(mode, "signal") == 0)
		return work(), fflush(stdout), raise(atoi(argument)), 0;
	if (strcmp(mode, "fork") == 0)
		return fork_workers();
	if (strcmp(mode, "exec") == 0)
		return work(), fflush(stdout), execl(argv[0], argv[0], "exit", "4", NULL);
	if (strcmp(mode, "exec_clean") == 0)
		return work(), fflush(stdout),
		       execle(argv[0], argv[0], "exit", "4", NULL, (char *[]){ NULL });
	if (strcmp(mode, "print") == 0)
		return print_much();
	if (strcmp(mode, "close") == 0)
		return close_all();
	if (strcmp(mode, "closing") == 0)
		return close_while_recording(argument);
	if (strcmp(mode, "daemon") == 0)
		return daemonize(argument);
	if (strcmp(mode, "fill") == 0)
		return fill(argument);
	if (strcmp(mode, "steps") == 0)
		return mark_steps(argv[2]);
	if (strcmp(mode, "fault") == 0)
		return fault(argument, 0);
	if (strcmp(mode, "catch") == 0)
		return fault(argument, 1);
	if (strcmp(mode, "cut") == 0)
		return cut();
	if (strcmp(mode, "files") == 0)
		return no_files();
	if (strcmp(mode, "cat") == 0) {
		int c;

		while ((c = getchar()) != EOF)
			putchar(c);
		return 0;
	}
	fprintf(stderr, "guest_job: no mode '%s'\n", mode);
	return 99;
}
