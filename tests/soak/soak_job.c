/* soak_job SECONDS: what may come together in a process: 64 threads that mark ranges, talk over TCP and come and go, signals at a
 * thousand a second, children by fork that mark ranges, and a library that is opened and closed. At its end it prints how many ranges
 * were marked, which is what the run must have, and how many bytes went over TCP. */
#include <tacho/mark.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	N_THREADS = 64,
	TURNS = 50,	    /* of a thread's life */
	PAUSE_US = 20000,   /* between turns */
	RANGES = 8,	    /* a turn */
	CHILD_RANGES = 100, /* of a forked child */
	SIGNAL_US = 1000,
};

static uint64_t n_ranges, n_child_ranges, n_bytes, n_signals, n_threads, n_children, n_opened;
static double end_s;
static double fork_s, child_s,
	longest_fork_s; /* in fork() of the main thread, and until its child was over */

static void add(uint64_t *sum, uint64_t n)
{
	__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pause_us(unsigned us)
{
	struct timespec pause = { .tv_nsec = (long)us * 1000 };

	while (nanosleep(&pause, &pause) != 0)
		;
}

static void on_signal(int signal)
{
	(void)signal;
	add(&n_signals, 1);
}

/* A connection to ourselves. */
static int connect_pair(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), result = -1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	ends[1] = -1;
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)&address, &length) == 0 &&
	    connect(ends[0], (struct sockaddr *)&address, sizeof(address)) == 0) {
		do
			ends[1] = accept(listener, NULL, NULL);
		while (ends[1] < 0);
		result = 0;
	}
	close(listener);
	return result;
}

static void mark_ranges(int n)
{
	for (int i = 0; i < n; i++) {
		TACHO_MARK_SCOPE("soak outer");
		TACHO_MARK_SCOPE("soak inner");
	}
}

static void talk(const int ends[2])
{
	char message[512] = "soak", answer[512];
	ssize_t got = 0, n;

	if (send(ends[0], message, sizeof(message), 0) != sizeof(message))
		abort();
	while (got < (ssize_t)sizeof(answer)) {
		n = recv(ends[1], answer + got, sizeof(answer) - (size_t)got, 0);
		if (n > 0)
			got += n;
	}
	add(&n_bytes, sizeof(message));
}

static void *work(void *unused)
{
	int ends[2];

	(void)unused;
	if (connect_pair(ends) != 0)
		abort();
	for (int turn = 0; turn < TURNS && now_s() < end_s; turn++) {
		mark_ranges(RANGES);
		add(&n_ranges, 2 * RANGES);
		talk(ends);
		pause_us(PAUSE_US);
	}
	close(ends[0]);
	close(ends[1]);
	add(&n_threads, 1);
	return NULL;
}

/* 64 threads at any time, each of which is followed by another. */
static void *keep_thread(void *unused)
{
	while (now_s() < end_s) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, unused) != 0)
			abort();
		pthread_join(thread, NULL);
	}
	return NULL;
}

static void fork_child(void)
{
	double begin_s = now_s(), forked_s;
	pid_t child = fork();

	if (child == 0) {
		mark_ranges(CHILD_RANGES);
		_exit(0);
	}
	forked_s = now_s();
	while (waitpid(child, NULL, 0) < 0)
		;
	fork_s += forked_s - begin_s;
	child_s += now_s() - forked_s;
	if (forked_s - begin_s > longest_fork_s)
		longest_fork_s = forked_s - begin_s;
	add(&n_children, 1);
	add(&n_child_ranges, 2 * CHILD_RANGES);
}

static void open_and_close(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		abort();
	dlclose(handle);
	add(&n_opened, 1);
}

int main(int argc, char **argv)
{
	struct itimerval timer = { { 0, SIGNAL_US }, { 0, SIGNAL_US } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t threads[N_THREADS];

	end_s = now_s() + (argc > 1 ? atof(argv[1]) : 10);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < N_THREADS; i++)
		if (pthread_create(&threads[i], NULL, keep_thread, NULL) != 0)
			abort();
	setitimer(ITIMER_REAL, &timer, NULL);
	while (now_s() < end_s) {
		fork_child();
		open_and_close("libutil.so.1");
		if (argc > 2)
			open_and_close(argv[2]);
		pause_us(PAUSE_US);
	}
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	timer = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("ranges %llu bytes %llu\n", (unsigned long long)(n_ranges + n_child_ranges),
	       (unsigned long long)n_bytes);
	fprintf(stderr, "threads %llu children %llu signals %llu opened %llu\n",
		(unsigned long long)n_threads, (unsigned long long)n_children,
		(unsigned long long)n_signals, (unsigned long long)n_opened);
	if (n_children)
		fprintf(stderr, "fork %.2f ms, the longest %.2f, child %.2f ms\n",
			1e3 * fork_s / (double)n_children, 1e3 * longest_fork_s,
			1e3 * child_s / (double)n_children);
	return 0;
}
