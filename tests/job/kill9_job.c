/* kill9_job COUNTS: records slices without end in two threads, nested three deep, and writes into the
 * file COUNTS how many of each thread's outermost slices have ended, for a test to compare with after
 * a SIGKILL. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ANNOTATION 1 /* TRACE_KIND_ANNOTATION */
#define N_THREADS  2

static void *(*begin_slice)(int kind, const char *name, uint64_t id);
static void (*end_slice)(void *slice);
static volatile uint64_t *counts;

/* A slice that is dropped, since the agent's helper waits for a core, is tried again. */
static void *begin(const char *name, uint64_t id)
{
	void *slice;

	while (!(slice = begin_slice(ANNOTATION, name, id)))
		usleep(1000);
	return slice;
}

static void *run(void *number)
{
	static const char *const names[N_THREADS] = { "outer0", "outer1" };
	uintptr_t thread = (uintptr_t)number;

	for (uint64_t id = 0;; id++) {
		void *outer = begin(names[thread], id);
		void *middle = begin("middle", id);
		void *inner = begin("inner", id);

		if (id % 32 == 31) /* no faster than memory is made ready */
			usleep(500);
		end_slice(inner);
		end_slice(middle);
		end_slice(outer);
		__atomic_store_n(&counts[thread], id + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t other;

	*(void **)&begin_slice = dlsym(RTLD_DEFAULT, "tacho_slice_begin_named");
	*(void **)&end_slice = dlsym(RTLD_DEFAULT, "tacho_slice_end_named");
	if (fd < 0 || !begin_slice || !end_slice || ftruncate(fd, 4096) < 0)
		return 1;
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED || pthread_create(&other, NULL, run, (void *)(uintptr_t)1) != 0)
		return 1;
	run((void *)(uintptr_t)0);
	return 0;
}
