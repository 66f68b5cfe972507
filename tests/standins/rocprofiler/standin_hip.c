/* Plays HIP, RCCL, ROCTx and two devices: work of a stream is done one after the other, 2 us after it is asked for at the earliest. STANDIN_TRUTH is a
 * file of lines "kind stream start end correlation". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "standin_rocprofiler.h"
#include "standin_sdk.h"

#define N_PENDING 65536
#define N_STREAMS 8
#define POLL_NS	  200000

static struct pending {
	int kind;
	uint64_t due;
	union {
		struct rocp_work work;
		struct rocp_dispatch dispatch;
		struct rocp_memcpy copy;
	} record;
	size_t bytes;
	uint64_t config; /* what is counted of it */
} pending[N_PENDING];
static size_t n_pending;
static uint64_t free_at[N_STREAMS];
static uint64_t n_correlations, n_kernels, n_dispatches, n_done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *truth;

static void spoil(struct rocp_work *work, uint64_t number)
{
	if (number % 7)
		return;
	if (standin_fault("zero"))
		work->start = work->end = 0;
	if (standin_fault("backwards")) {
		uint64_t start = work->start;

		work->start = work->end;
		work->end = start;
	}
	if (standin_fault("early"))
		work->start = work->end = 1000;
}

static void tell_scratch(uint64_t now)
{
	struct {
		uint64_t size;
		int32_t kind, operation;
		uint64_t correlation[MAJOR ? 3 : 2];
		struct rocp_scratch scratch;
		uint64_t flags;
	} record = { .size = sizeof(record), .kind = KIND_SCRATCH, .operation = 1 };

	record.scratch = (struct rocp_scratch){
		.agent = GPU_0, .queue = 0x1000, .start = now - 1000, .end = now
	};
	standin_sdk_record(KIND_SCRATCH, &record, sizeof(record));
}

static void deliver(uint64_t now)
{
	size_t kept = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_pending; i++) {
		struct pending *one = &pending[i];

		if (one->due > now) {
			pending[kept++] = *one;
			continue;
		}
		if (one->config && !standin_fault("countlate"))
			standin_sdk_tell_values(&one->record.dispatch, one->config);
		spoil(&one->record.work, n_done++);
		standin_sdk_record(one->kind, &one->record, one->bytes);
		if (one->config && standin_fault("countlate")) {
			standin_sdk_flush();
			standin_sdk_tell_values(&one->record.dispatch, one->config);
		}
		if (n_done == 3 && standin_fault("scratch"))
			tell_scratch(now);
	}
	n_pending = kept;
	pthread_mutex_unlock(&lock);
	standin_sdk_poll();
}

static void *run_device(void *unused)
{
	const struct timespec pause = { 0, POLL_NS };

	for (;;) {
		deliver(standin_ns());
		nanosleep(&pause, NULL);
	}
	return unused;
}

static void start(void)
{
	const char *path = getenv("STANDIN_TRUTH");
	pthread_t device;

	truth = path ? fopen(path, "w") : NULL;
	standin_sdk_start();
	if (pthread_create(&device, NULL, run_device, NULL) == 0)
		pthread_detach(device);
}

static void submit(struct pending *one, uint64_t ns, int stream, uint64_t correlation)
{
	uint64_t now = standin_ns();
	struct rocp_work *work = &one->record.work;

	pthread_mutex_lock(&lock);
	work->size = one->bytes;
	work->kind = one->kind;
	work->correlation = correlation;
	work->start = now + 2000 > free_at[stream] ? now + 2000 : free_at[stream];
	work->end = free_at[stream] = work->start + ns;
	one->due = work->end + (standin_fault("late") ? 30000000 : 0);
	if (n_pending < N_PENDING)
		pending[n_pending++] = *one;
	if (truth) {
		fprintf(truth, "%s %d %llu %llu %llu\n", one->kind == KIND_COPY ? "copy" : "kernel",
			stream, (unsigned long long)work->start, (unsigned long long)work->end,
			(unsigned long long)correlation);
		fflush(truth);
	}
	pthread_mutex_unlock(&lock);
}

static uint64_t begin(int kind, int operation)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t correlation;

	pthread_once(&once, start);
	correlation = __atomic_add_fetch(&n_correlations, 1, __ATOMIC_RELAXED);
	if (!standin_fault("noenter"))
		standin_sdk_call(kind, operation, ROCP_ENTER, correlation, NULL);
	return correlation;
}

static int end(int kind, int operation, uint64_t correlation)
{
	if (!standin_fault("noexit") || correlation % 5)
		standin_sdk_call(kind, operation, ROCP_EXIT, correlation, NULL);
	return 0;
}

static void tell_memory(int operation, int phase, uint64_t correlation, void *memory, size_t bytes)
{
	struct rocp_memory told = { sizeof(told),
				    0,
				    0,
				    operation == ROCP_ALLOCATE ? GPU_0 : 0,
				    (uint64_t)(uintptr_t)memory,
				    bytes };

	standin_sdk_call(KIND_MEMORY, operation, phase, correlation, &told);
}

int hipMalloc(void **memory, size_t bytes)
{
	uint64_t correlation = begin(KIND_HIP, HIP_MALLOC);

	*memory = malloc(bytes);
	tell_memory(ROCP_ALLOCATE, ROCP_ENTER, correlation, NULL, bytes);
	tell_memory(ROCP_ALLOCATE, ROCP_EXIT, correlation, *memory, bytes);
	return end(KIND_HIP, HIP_MALLOC, correlation);
}

int hipFree(void *memory)
{
	uint64_t correlation = begin(KIND_HIP, HIP_FREE);

	tell_memory(ROCP_FREE, ROCP_ENTER, correlation, memory, 0);
	tell_memory(ROCP_FREE, ROCP_EXIT, correlation, memory, 0);
	free(memory);
	return end(KIND_HIP, HIP_FREE, correlation);
}

int hipMemcpyAsync(void *target, const void *source, size_t bytes, int way, int stream)
{
	static const rocp_handle from[] = { 0, HOST, GPU_0, GPU_0, GPU_0 },
				 to[] = { 0, GPU_0, HOST, GPU_0, GPU_1 };
	static const int told[] = { 0, ROCP_HOST_TO_DEVICE, ROCP_DEVICE_TO_HOST,
				    ROCP_DEVICE_TO_DEVICE, ROCP_DEVICE_TO_DEVICE };
	struct pending one = { .kind = KIND_COPY, .bytes = sizeof(struct rocp_memcpy) };
	uint64_t correlation = begin(KIND_HIP, HIP_MEMCPY);

	(void)target, (void)source;
	one.record.copy.work.operation = told[way];
	one.record.copy.source = from[way];
	one.record.copy.target = to[way];
	one.record.copy.bytes = bytes;
	submit(&one, 5000 + bytes / 10, stream, correlation);
	return end(KIND_HIP, HIP_MEMCPY, correlation);
}

static void name_kernel(struct standin_kernel *kernel)
{
	struct rocp_kernel_symbol symbol = { .size = sizeof(symbol), .vgprs = 96 };

	pthread_mutex_lock(&lock);
	if (!kernel->id) {
		kernel->id = ++n_kernels;
		symbol.kernel = kernel->id;
		symbol.name = kernel->name;
		if (!standin_fault("unnamed"))
			standin_sdk_call(KIND_CODE, ROCP_KERNEL_SYMBOL, ROCP_ENTER, 0, &symbol);
	}
	pthread_mutex_unlock(&lock);
}

int hipLaunchKernel(struct standin_kernel *kernel, uint32_t blocks, uint32_t threads,
		    uint32_t shared, int stream)
{
	struct pending one = { .kind = KIND_KERNEL, .bytes = sizeof(struct rocp_dispatch) };
	uint64_t correlation = begin(KIND_HIP, HIP_LAUNCH);
	struct rocp_dispatch *dispatch = &one.record.dispatch;

	end(KIND_HSA_CORE, 0, begin(KIND_HSA_CORE, 0)); /* the bell of the queue */
	name_kernel(kernel);
	dispatch->agent = GPU_0;
	dispatch->queue = 0x1000 + (rocp_handle)stream;
	dispatch->kernel = kernel->id;
	dispatch->dispatch = __atomic_add_fetch(&n_dispatches, 1, __ATOMIC_RELAXED);
	dispatch->work.correlation = correlation;
	one.config = standin_sdk_ask(dispatch);
	dispatch->group_bytes = shared;
	for (int i = 0; i < 3; i++)
		dispatch->workgroup[i] = dispatch->grid[i] = 1;
	dispatch->workgroup[0] = threads;
	dispatch->grid[0] = blocks * threads;
	if (kernel->ns)
		submit(&one, kernel->ns, stream, correlation);
	return end(KIND_HIP, HIP_LAUNCH, correlation);
}

static bool are_pending(void)
{
	bool are;

	pthread_mutex_lock(&lock);
	are = n_pending > 0;
	pthread_mutex_unlock(&lock);
	return are;
}

int hipDeviceSynchronize(void)
{
	uint64_t correlation = begin(KIND_HIP, HIP_SYNCHRONIZE);

	while (are_pending())
		usleep(200);
	return end(KIND_HIP, HIP_SYNCHRONIZE, correlation);
}

int ncclAllReduce(size_t bytes)
{
	(void)bytes;
	return end(KIND_RCCL, 0, begin(KIND_RCCL, 0));
}

static void mark(int operation, int phase, const char *message, uint64_t id)
{
	struct rocp_marker_call call = { .size = sizeof(call), .returned = id };

	if (operation == ROCP_RANGE_STOP)
		call.given.id = id;
	else
		call.given.message = message;
	standin_sdk_call(KIND_MARKER, operation, phase, 0, &call);
}

static void mark_both(int operation, const char *message, uint64_t id)
{
	mark(operation, ROCP_ENTER, message, operation == ROCP_RANGE_STOP ? id : 0);
	mark(operation, ROCP_EXIT, message, id);
}

void roctxMarkA(const char *message)
{
	mark_both(ROCP_MARK, message, 0);
}

int roctxRangePushA(const char *message)
{
	mark_both(ROCP_PUSH, message, 0);
	return 0;
}

int roctxRangePop(void)
{
	mark_both(ROCP_POP, NULL, 0);
	return 0;
}

uint64_t roctxRangeStartA(const char *message)
{
	static uint64_t n_ranges;
	uint64_t id = __atomic_add_fetch(&n_ranges, 1, __ATOMIC_RELAXED);

	mark_both(ROCP_RANGE_START, message, id);
	return id;
}

void roctxRangeStop(uint64_t id)
{
	mark_both(ROCP_RANGE_STOP, NULL, id);
}
