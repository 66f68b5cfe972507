/* device_records_job COUNTS [N]: what a job with devices records, without any: two threads call a runtime, and a thread of the
 * "device's library" tells in batches, late and in reverse, what their devices did. How much of each was told is in the file
 * COUNTS, for a test to compare with, also after a SIGKILL. N launches a thread; without N it goes on for ever. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/activity.h"

#define N_THREADS 2
#define N_QUEUES  2
#define N_RING	  1024 /* a thread's */
#define BATCH	  64
#define LATE_EACH 50 /* launches a function */
#define STEP_EACH 500

/* What each has told, by thread or, for what devices did, by device. */
struct counts {
	uint64_t calls[N_THREADS], kernels[N_THREADS], copies[N_THREADS], waits[N_THREADS];
	uint64_t functions[N_THREADS], samples, ticks_busy[N_THREADS], hz;
};

static volatile struct counts *counts;
static uint64_t n_wanted, work_ticks;

/* From the thread that calls to the thread that tells. */
static struct ring {
	struct {
		uint64_t correlation, begin;
	} calls[N_RING];
	uint64_t n_made, n_taken; /* atomic */
} rings[N_THREADS];
static bool has_ended[N_THREADS]; /* atomic */

static uint32_t class_of(enum trace_kind kind, const char *name)
{
	return tacho_class(kind, name, strlen(name));
}

/* What is dropped, since the agent's helper waits for a core, is tried again. */
#define UNTIL_TOLD(record)                                                                         \
	while (!(record))                                                                          \
	usleep(1000)

static void add(volatile uint64_t *count, uint64_t n)
{
	__atomic_store_n(count, *count + n, __ATOMIC_RELEASE);
}

static void *launch(void *number)
{
	uintptr_t thread = (uintptr_t)number;
	struct ring *ring = &rings[thread];
	uint32_t kernel = class_of(TRACE_KIND_RUNTIME, "cudaLaunchKernel");
	uint32_t copy = class_of(TRACE_KIND_RUNTIME, "cudaMemcpyAsync");
	uint32_t flow = class_of(TRACE_KIND_FLOW, "batch");
	uint32_t late = class_of(TRACE_KIND_LATE, "train.c(1): step");
	uint64_t begin = tacho_ticks();

	for (uint64_t i = 0; !n_wanted || i < n_wanted; i++) {
		uint64_t correlation = thread << 40 | (i + 1);
		struct record_slice *call;

		if (thread == 0 && i % STEP_EACH == 0) {
			char number[24];

			snprintf(number, sizeof(number), "%" PRIu64, i / STEP_EACH);
			tacho_mark("step", (int64_t)(i / STEP_EACH), 0, number);
		}
		while (ring->n_made - __atomic_load_n(&ring->n_taken, __ATOMIC_ACQUIRE) >= N_RING)
			usleep(200);
		UNTIL_TOLD(call = tacho_slice_begin(i % 8 ? kernel : copy, correlation));
		if (i % BATCH == 0)
			UNTIL_TOLD(tacho_flow(flow, correlation, TRACE_FLOW_BEGIN,
					      TRACE_FLOW_CONTROL, TRACE_FLOW_OF_PROCESS));
		ring->calls[i % N_RING].correlation = correlation;
		ring->calls[i % N_RING].begin = tacho_ticks();
		__atomic_store_n(&ring->n_made, i + 1, __ATOMIC_RELEASE);
		tacho_slice_finish(call);
		add(&counts->calls[thread], 1);
		if (i % LATE_EACH == LATE_EACH - 1) {
			uint64_t end = tacho_ticks();

			UNTIL_TOLD(tacho_slice_late(late, TRACE_KIND_FUNCTION, begin, end, 0));
			add(&counts->functions[thread], 1);
			begin = end;
		}
		if (!n_wanted && i % BATCH == BATCH - 1) /* no faster than memory is made ready */
			usleep(1000);
	}
	__atomic_store_n(&has_ended[thread], true, __ATOMIC_RELEASE);
	return NULL;
}

static struct {
	uint32_t kernel, copy, wait, counter, flush, flow;
} classes;
static uint64_t queue_end[N_THREADS][N_QUEUES];

/* What a device did for call number `i`: a microsecond of work in a queue that is free. */
static struct tacho_activity activity_of(uintptr_t thread, uint64_t i)
{
	const struct ring *ring = &rings[thread];
	uint64_t *end = &queue_end[thread][i % N_QUEUES];
	struct tacho_activity activity = { .begin = ring->calls[i % N_RING].begin,
					   .correlation = ring->calls[i % N_RING].correlation,
					   .queued = ring->calls[i % N_RING].begin,
					   .device = (int32_t)thread,
					   .queue = 7 + (uint32_t)(i % N_QUEUES) };

	if (activity.begin < *end)
		activity.begin = *end;
	activity.end = *end = activity.begin + work_ticks;
	return activity;
}

static void tell_one(uintptr_t thread, uint64_t i, const struct tacho_activity *activity)
{
	const struct tacho_launch shape = { { 4, 2, 1 }, { 128, 1, 1 }, 32, 1024 };

	if (i % 8) {
		UNTIL_TOLD(tacho_device_kernel(classes.kernel, activity, &shape));
		add(&counts->kernels[thread], 1);
	} else {
		UNTIL_TOLD(tacho_copy(classes.copy, activity, 4096, TRACE_HOST_TO_DEVICE, -1));
		add(&counts->copies[thread], 1);
	}
	add(&counts->ticks_busy[thread], activity->end - activity->begin);
}

/* `n` calls of the thread from the first that was not told: behind their ends, and the last first. */
static void tell(uintptr_t thread, uint64_t first, uint64_t n)
{
	struct tacho_activity activities[BATCH];
	struct record_slice *range;

	for (uint64_t i = 0; i < n; i++)
		activities[i] = activity_of(thread, first + i);
	while (tacho_ticks() < activities[n - 1].end ||
	       (n > 1 && tacho_ticks() < activities[n - 2].end))
		usleep(10);
	UNTIL_TOLD(range = tacho_slice_begin(classes.flush, 0));
	for (uint64_t i = n; i-- > 0;)
		tell_one(thread, first + i, &activities[i]);
	if (first % BATCH == 0)
		UNTIL_TOLD(tacho_flow(classes.flow, activities[0].correlation, TRACE_FLOW_END,
				      TRACE_FLOW_CONTROL, TRACE_FLOW_OF_PROCESS));
	UNTIL_TOLD(tacho_device_wait(classes.wait, &activities[n - 1], 0, 0));
	add(&counts->waits[thread], 1);
	UNTIL_TOLD(tacho_counter(classes.counter, (double)n));
	add(&counts->samples, 1);
	tacho_slice_finish(range);
	__atomic_store_n(&rings[thread].n_taken, first + n, __ATOMIC_RELEASE);
}

static void *tell_all(void *unused)
{
	uint64_t told[N_THREADS] = { 0 };
	bool is_done = false;

	(void)unused;
	while (!is_done) {
		is_done = true;
		for (uintptr_t thread = 0; thread < N_THREADS; thread++) {
			bool is_last = __atomic_load_n(&has_ended[thread], __ATOMIC_ACQUIRE);
			uint64_t n = __atomic_load_n(&rings[thread].n_made, __ATOMIC_ACQUIRE) -
				     told[thread];

			if (n > BATCH)
				n = BATCH;
			if (n == BATCH || (is_last && n)) {
				tell(thread, told[thread], n);
				told[thread] += n;
				is_done = false;
			}
			is_done &= is_last;
		}
		usleep(100);
	}
	return NULL;
}

static void tell_devices(void)
{
	for (int32_t device = 0; device < N_THREADS; device++) {
		const struct record_device facts = { .device = device,
						     .n_multiprocessors = 80,
						     .memory_bytes = 1 << 30 };

		tacho_device(class_of(TRACE_KIND_DEVICE, "Device X"), &facts, "sm_99");
		tacho_queue(class_of(TRACE_KIND_QUEUE, "side"), device, 8);
		tacho_device_memory(class_of(TRACE_KIND_DEVICE_ALLOC, "cudaMalloc"), device, 0x1000,
				    4096);
		tacho_device_memory(class_of(TRACE_KIND_DEVICE_FREE, "cudaFree"), device, 0x1000,
				    0);
	}
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t threads[N_THREADS], teller;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return 1;
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		return 1;
	n_wanted = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	counts->hz = (tacho_clock_scale * 1000000 >> 40) * 1000;
	work_ticks = tacho_clock_scale * 1000 >> 40;
	tell_devices();
	classes.kernel = class_of(TRACE_KIND_DEVICE_KERNEL, "gemm");
	classes.copy = class_of(TRACE_KIND_COPY, "Memcpy HtoD (Pinned -> Device)");
	classes.wait = class_of(TRACE_KIND_DEVICE_WAIT, "Stream Sync");
	classes.counter = class_of(TRACE_KIND_COUNTER, "batch");
	classes.flush = class_of(TRACE_KIND_ANNOTATION, "flush");
	classes.flow = class_of(TRACE_KIND_FLOW, "batch");
	for (uintptr_t i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, launch, (void *)i);
	pthread_create(&teller, NULL, tell_all, NULL);
	for (uintptr_t i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(teller, NULL);
	return 0;
}
