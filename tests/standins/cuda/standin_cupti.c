/* standin_cupti: in place of libcupti.so of the major MAJOR: hands on what the stand-in for the driver tells, as CUPTI does: calls at once,
 * activities late, in buffers, with a clock of its own. What goes wrong is in STANDIN_FAULTS:
 *
 *     late        activities are told when somebody asks for them (flush), and not before
 *     reverse     ... in reverse
 *     dropped     every 10th is dropped, and counted
 *     short       the last record of a buffer is cut
 *     unknown     records of a kind that nobody knows
 *     zero        every 7th kernel has no times
 *     backwards   every 7th kernel ends before it begins
 *     early       every 7th kernel began 10 s before the process
 *     noclock     it takes no clock of others; its own is CLOCK_MONOTONIC and 1,000,000 s
 *     drift       ... which is fast by 200 of a million
 *     jump        ... which goes forward by 5 s in the middle
 *     busy        somebody uses it already
 *     refuses     it does not want to
 *     threads     buffers are asked for by, and come back in, threads of their own
 *     strange     buffers that nobody gave come back, too
 *     noenter, noexit   begins, ends of calls are not told
 *     (and what goes wrong with counters: standin_counters.c) */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"
#include "standin_counters.h"

#define N_PENDING 65536
#define AHEAD_NS  UINT64_C(1000000000000000)
#define N_IDS	  1024

#if MAJOR == 11
enum {
	API_VERSION = 18,
	KERNEL = 200,
	COPY = 88,
	PEER = 96,
	FILL = 88,
	SYNC = 40,
	EVENT = 24,
	OVERHEAD = 40,
	UVM = 64,
	POOL = 72,
	DEVICE = 176,
	CONTEXT = 16
};
#elif MAJOR == 12
enum {
	API_VERSION = 28,
	KERNEL = 208,
	COPY = 96,
	PEER = 96,
	FILL = 88,
	SYNC = 56,
	EVENT = 56,
	OVERHEAD = 56,
	UVM = 104,
	POOL = 72,
	DEVICE = 184,
	CONTEXT = 32
};
#else
enum {
	API_VERSION = 130500,
	KERNEL = 248,
	COPY = 112,
	PEER = 96,
	FILL = 104,
	SYNC = 56,
	EVENT = 80,
	OVERHEAD = 56,
	UVM = 104,
	POOL = 80,
	DEVICE = 192,
	CONTEXT = 40
};
#endif
enum { UNKNOWN = 64, UNKNOWN_KIND = 200 };

struct pending {
	uint8_t record[256];
	uint64_t ready_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *pending;
static unsigned n_pending, n_told, n_kernels;
static size_t n_dropped;
static pid_t owner;
static cupti_callback *callback;
static void *callback_data;
static cupti_request_buffer *request;
static cupti_buffer_complete *complete;
static cupti_timestamp *clock_of_theirs;
static uint64_t enabled_kinds;
static uint8_t enabled_ids[4][N_IDS];
static unsigned period_ms;
static uint64_t first_ns;

static size_t size_of(uint32_t kind)
{
	switch (kind) {
	case CUPTI_CONCURRENT_KERNEL:
		return KERNEL;
	case CUPTI_MEMCPY:
		return COPY;
	case CUPTI_MEMCPY_PEER:
		return PEER;
	case CUPTI_MEMSET:
		return FILL;
	case CUPTI_SYNCHRONIZATION:
		return SYNC;
	case CUPTI_CUDA_EVENT:
		return EVENT;
	case CUPTI_OVERHEAD:
		return OVERHEAD;
	case CUPTI_UNIFIED_MEMORY:
		return UVM;
	case CUPTI_MEMORY_POOL:
		return POOL;
	case CUPTI_DEVICE:
		return DEVICE;
	case CUPTI_CONTEXT:
		return CONTEXT;
	}
	return UNKNOWN;
}

/* --- clock ---------------------------------------------------------------------------------- */

static uint64_t own_clock(uint64_t mono_ns)
{
	uint64_t since = mono_ns - first_ns, ns = mono_ns + AHEAD_NS;

	if (standin_has_fault("drift"))
		ns += since / 5000;
	if (standin_has_fault("jump") && n_kernels > 100)
		ns += UINT64_C(5000000000);
	return ns;
}

/* CUPTI fits a device's clock to that of the host that it was given. */
static uint64_t their_ns, their_mono_ns;

static void fit_clock(void)
{
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t before = standin_now_ns(), theirs = clock_of_theirs(),
			 width = standin_now_ns() - before;

		if (width >= narrowest)
			continue;
		narrowest = width;
		their_ns = theirs;
		their_mono_ns = before + width / 2;
	}
}

static uint64_t to_clock(uint64_t mono_ns)
{
	if (!mono_ns)
		return 0;
	return clock_of_theirs ? their_ns + (mono_ns - their_mono_ns) : own_clock(mono_ns);
}

#if MAJOR >= 12
uint64_t standin_counters_clock(uint64_t mono_ns)
{
	return to_clock(mono_ns);
}
#else
bool standin_counters_kernel(const struct cupti_kernel *kernel)
{
	return kernel != NULL;
}
#endif

/* --- records -------------------------------------------------------------------------------- */

static void shift(uint64_t *ns)
{
	*ns = to_clock(*ns);
}

static void spoil(struct cupti_kernel *kernel)
{
	if (++n_kernels % 7)
		return;
	if (standin_has_fault("zero"))
		kernel->start = kernel->end = 0;
	if (standin_has_fault("backwards"))
		kernel->end = kernel->start - 100000;
	if (standin_has_fault("early"))
		kernel->start -= UINT64_C(10000000000);
}

static void set_times(void *record)
{
	struct cupti_kernel *kernel = record;
	struct cupti_memcpy *copy =
		record; /* fills and copies of peers have their times there, too */
	struct cupti_synchronization *wait = record;
	struct cupti_unified_memory *moved = record;
	struct cupti_overhead *overhead = record;
	struct cupti_memory_pool *pool = record;

	switch (kernel->kind) {
	case CUPTI_CONCURRENT_KERNEL:
		shift(&kernel->start), shift(&kernel->end), shift(&kernel->completed);
		shift(&kernel->queued), shift(&kernel->submitted);
		spoil(kernel);
		break;
	case CUPTI_MEMCPY:
	case CUPTI_MEMCPY_PEER:
	case CUPTI_MEMSET:
		shift(&copy->start), shift(&copy->end);
		break;
	case CUPTI_SYNCHRONIZATION:
		shift(&wait->start), shift(&wait->end);
		break;
	case CUPTI_UNIFIED_MEMORY:
		shift(&moved->start), shift(&moved->end);
		break;
	case CUPTI_OVERHEAD:
		shift(&overhead->start), shift(&overhead->end);
		break;
	case CUPTI_MEMORY_POOL:
		shift(&pool->timestamp);
		break;
	}
}

static void add(const void *record, size_t size, uint64_t ready_ns)
{
	uint32_t kind = *(const uint32_t *)record;

	if (kind == CUPTI_CONCURRENT_KERNEL && !standin_counters_kernel(record))
		return;
	if (kind < 64 && !(enabled_kinds & UINT64_C(1) << kind))
		return;
	pthread_mutex_lock(&lock);
	if (pending && n_pending < N_PENDING) {
		memset(pending[n_pending].record, 0xa5, sizeof(pending[n_pending].record));
		memcpy(pending[n_pending].record, record, size);
		pending[n_pending].ready_ns = ready_ns;
		set_times(pending[n_pending++].record);
	}
	pthread_mutex_unlock(&lock);
}

/* As many as are ready and fit; the rest stays. */
static size_t fill(uint8_t *buffer, size_t size, bool is_forced)
{
	uint64_t now = standin_now_ns();
	size_t used = 0;
	unsigned kept = 0;

	if (standin_has_fault("unknown")) {
		memset(buffer, 0, UNKNOWN);
		*(uint32_t *)buffer = UNKNOWN_KIND;
		used = UNKNOWN;
	}
	for (unsigned i = 0; i < n_pending; i++) {
		struct pending *one =
			&pending[standin_has_fault("reverse") ? n_pending - 1 - i : i];
		size_t record_size = size_of(*(uint32_t *)one->record);

		if (used + record_size > size || (!is_forced && one->ready_ns > now)) {
			if (!standin_has_fault("reverse"))
				pending[kept++] = *one;
			else
				kept++;
			continue;
		}
		if (standin_has_fault("dropped") && ++n_told % 10 == 0) {
			n_dropped++;
			continue;
		}
		memcpy(buffer + used, one->record, record_size);
		used += record_size;
	}
	n_pending = standin_has_fault("reverse") ? 0 : kept;
	if (standin_has_fault("short") && used > 40)
		used -= 40;
	return used;
}

static void *flush(void *is_forced)
{
	uint8_t *buffer = NULL;
	size_t size = 0, max_records = 0, used;

	if (!request || !pending)
		return NULL;
	do {
		request(&buffer, &size, &max_records);
		if (!buffer || !size)
			return NULL;
		pthread_mutex_lock(&lock);
		used = fill(buffer, size, is_forced != NULL);
		pthread_mutex_unlock(&lock);
		complete(NULL, 0, buffer, size, used);
		if (standin_has_fault("strange"))
			complete(NULL, 0, NULL, 0, 0);
	} while (is_forced && n_pending && used);
	return NULL;
}

static void flush_somewhere(bool is_forced)
{
	static char yes;
	pthread_t thread;

	if (!standin_has_fault("threads")) {
		flush(is_forced ? &yes : NULL);
		return;
	}
	pthread_create(&thread, NULL, flush, is_forced ? &yes : NULL);
	pthread_join(thread, NULL);
}

static void *work(void *unused)
{
	while (period_ms) {
		usleep(period_ms * 1000);
		if (!standin_has_fault("late"))
			flush_somewhere(false);
	}
	return unused;
}

/* --- what the driver tells ------------------------------------------------------------------- */

static void on_call(uint32_t domain, uint32_t id, struct cupti_call *call)
{
	if (callback && enabled_ids[domain][id % N_IDS])
		callback(callback_data, domain, id, call);
}

static void on_node(uint32_t id, struct cupti_resource *resource)
{
	if (callback && enabled_ids[CUPTI_RESOURCE][id])
		callback(callback_data, CUPTI_RESOURCE, id, resource);
}

/* --- what CUPTI exports ----------------------------------------------------------------------- */

#define EXPORT_OF(name, parameters, is_needed)                                                     \
	__attribute__((visibility("default"))) int cupti##name parameters;
CUPTI_FUNCTIONS(EXPORT_OF)
#undef EXPORT_OF

int cuptiGetVersion(uint32_t *version)
{
	*version = API_VERSION;
	return 0;
}

int cuptiSubscribe(void **subscriber, cupti_callback *function, void *data)
{
	struct standin_hooks *hooks = standin_hooks();

	if (standin_has_fault("busy"))
		return CUPTI_MULTIPLE_SUBSCRIBERS;
	if (standin_has_fault("refuses"))
		return 35;
	if (owner != getpid()) { /* a child of a fork begins anew */
		pthread_mutex_init(&lock, NULL);
		callback = NULL;
		enabled_kinds = 0;
		memset(enabled_ids, 0, sizeof(enabled_ids));
		n_pending = 0;
		period_ms = 0;
	}
	if (callback)
		return CUPTI_MULTIPLE_SUBSCRIBERS;
	owner = getpid();
	if (!pending)
		pending = calloc(N_PENDING, sizeof(*pending));
	first_ns = standin_now_ns();
	callback = function;
	callback_data = data;
	*subscriber = &callback;
	hooks->call = on_call;
	hooks->node = on_node;
	hooks->activity = add;
	return 0;
}

#if MAJOR >= 13
int cuptiSubscribe_v2(void **subscriber, cupti_callback *function, void *data,
		      struct cupti_subscriber *parameters)
{
	if (!standin_has_fault("busy"))
		return cuptiSubscribe(subscriber, function, data);
	snprintf(parameters->old_name, parameters->old_name_size, "CUPTI for Nsight Systems");
	return CUPTI_MULTIPLE_SUBSCRIBERS;
}
#endif

int cuptiUnsubscribe(void *subscriber)
{
	(void)subscriber;
	callback = NULL;
	return 0;
}

int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain)
{
	(void)subscriber;
	memset(enabled_ids[domain], (int)enable, N_IDS);
	return 0;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t id)
{
	(void)subscriber;
	enabled_ids[domain][id % N_IDS] = (uint8_t)enable;
	return 0;
}

int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
	*name = standin_name(domain, id);
	return *name ? 0 : 1;
}

int cuptiGetDeviceId(void *context, uint32_t *device)
{
	(void)context;
	*device = 0;
	return 0;
}

int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
	*id = *(uint64_t *)node;
	return 0;
}

int cuptiGetTimestamp(uint64_t *ns)
{
	*ns = clock_of_theirs ? clock_of_theirs() : own_clock(standin_now_ns());
	return 0;
}

int cuptiGetResultString(int result, const char **text)
{
	*text = result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR";
	return 0;
}

int cuptiActivityRegisterCallbacks(cupti_request_buffer *requests, cupti_buffer_complete *completes)
{
	request = requests;
	complete = completes;
	return 0;
}

int cuptiActivityRegisterTimestampCallback(cupti_timestamp *timestamp)
{
	if (standin_has_fault("noclock"))
		return 27;
	if (clock_of_theirs && clock_of_theirs != timestamp)
		abort(); /* never registered again */
	clock_of_theirs = timestamp;
	fit_clock();
	return 0;
}

static void tell_device(void)
{
	struct cupti_device device = { .kind = CUPTI_DEVICE,
				       .memory_bytes = UINT64_C(80) << 30,
				       .kilobytes_per_s = 3350000000u,
				       .warp_threads = 32,
				       .clock_khz = 1980000,
				       .n_multiprocessors = 132,
				       .warps = 64,
				       .shared_bytes = 233472,
				       .registers = 65536,
				       .block_registers = 65536,
				       .block_shared_bytes = 49152,
				       .block_threads = 1024,
				       .major = 9,
				       .name = "Stand-in H100" };
	struct cupti_context context = { CUPTI_CONTEXT, 1, 0 };
	struct cupti_memory_pool pool = { .kind = CUPTI_MEMORY_POOL,
					  .operation = 1,
					  .bytes = 1 << 21,
					  .used_bytes = 1 << 20,
					  .timestamp = standin_now_ns() };
	struct cupti_overhead overhead = { .kind = CUPTI_OVERHEAD,
					   .overhead_kind = 5 << 16,
					   .start = standin_now_ns() };

	overhead.end = overhead.start + 3000;
	add(&device, sizeof(device), 0);
	add(&context, sizeof(context), 0);
	add(&pool, sizeof(pool), 0);
	add(&overhead, sizeof(overhead), overhead.end);
}

int cuptiActivityEnable(uint32_t kind)
{
	enabled_kinds |= UINT64_C(1) << (kind & 63);
	return 0;
}

int cuptiActivityDisable(uint32_t kind)
{
	enabled_kinds &= ~(UINT64_C(1) << (kind & 63));
	return 0;
}

int cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	(void)enable;
	return 0;
}

int cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_unified_memory_config *configs,
					       uint32_t n)
{
	return n && configs[0].enable ? 0 : 1;
}

int cuptiActivityFlushAll(uint32_t flags)
{
	flush_somewhere(flags & CUPTI_FLUSH_FORCED);
	return 0;
}

/* The device is told of when its context is made. */
int cuptiActivityFlushPeriod(uint32_t milliseconds)
{
	pthread_t thread;

	tell_device();
	if (period_ms)
		return 0;
	period_ms = milliseconds;
	if (pthread_create(&thread, NULL, work, NULL) == 0)
		pthread_detach(thread);
	return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_size, const void **record)
{
	const uint8_t *next = *record;

	next = next ? next + size_of(*(const uint32_t *)next) : buffer;
	if (next >= buffer + valid_size)
		return CUPTI_MAX_LIMIT_REACHED;
	*record = next;
	return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context, (void)stream;
	*n = n_dropped;
	n_dropped = 0;
	return 0;
}
