/* What devices do: packets that are submitted to queues, and copies, each with the time at which it was done.
 *
 *     program's packet (signal S) ----> the same packet with a signal of ours ----> the device
 *                                                     | done: the runtime calls done()
 *        S gets our signal's times, and is counted down <----+----> DEVICE_KERNEL
 *
 * (1) What the program would see of its signal it sees: its value, and the times that the device wrote into it.
 * (2) Where no signal can be had, the packet goes as it is, and is not told of.
 * (3) done() runs in a thread of the runtime. What is not done at the end is waited for a while. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/activity.h"
#include "common/demangle.h"
#include "common/device_clock.h"
#include "common/region_stack.h"
#include "hsa/hsa_probe.h"

#define N_WORK	  8192 /* at once */
#define N_QUEUES  256
#define N_KERNELS 4096 /* a power of 2 */
#define N_TRIED	  16   /* places looked at for a kernel */
#define N_BURST	  64   /* packets handed on in one go */
#define FINISH_MS 500

/* --- kernels' names ------------------------------------------------------------------------- */

static struct {
	uint64_t object; /* atomic */
	uint32_t class_id;
} kernels[N_KERNELS];
static pthread_mutex_t naming =
	PTHREAD_MUTEX_INITIALIZER; /* once a kernel, where its object is asked for */

/* The place of the object, or a free one; N_KERNELS: there is none. */
static unsigned kernel_place(uint64_t object)
{
	unsigned first = (unsigned)(object >> 6 ^ object >> 18);

	for (unsigned i = 0; i < N_TRIED; i++) {
		unsigned at = (first + i) % N_KERNELS;
		uint64_t there = __atomic_load_n(&kernels[at].object, __ATOMIC_ACQUIRE);

		if (!there || there == object)
			return at;
	}
	return N_KERNELS;
}

void hsa_kernel_name(uint64_t object, hsa_executable_symbol_t symbol)
{
	unsigned at = kernel_place(object);
	char name[2048];
	uint32_t length = 0;

	if (!object || at == N_KERNELS ||
	    __atomic_load_n(&kernels[at].object, __ATOMIC_ACQUIRE) == object ||
	    hsa_core.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH,
						    &length) != HSA_STATUS_SUCCESS ||
	    !length || length >= sizeof(name) ||
	    hsa_core.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME,
						    name) != HSA_STATUS_SUCCESS)
		return;
	if (length > 3 && memcmp(name + length - 3, ".kd", 3) == 0)
		length -= 3;
	name[length] = '\0';
	pthread_mutex_lock(&naming);
	at = kernel_place(object);
	if (at < N_KERNELS && !kernels[at].object) {
		kernels[at].class_id = demangled_class(TRACE_KIND_DEVICE_KERNEL, name, length);
		__atomic_store_n(&kernels[at].object, object, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&naming);
}

/* `launched`: what a runtime above says that it has launched. */
static uint32_t kernel_class(uint64_t object, uint32_t launched)
{
	unsigned at = kernel_place(object);
	char name[32];

	if (at < N_KERNELS && __atomic_load_n(&kernels[at].object, __ATOMIC_ACQUIRE) == object)
		return kernels[at].class_id;
	if (launched)
		return launched;
	snprintf(name, sizeof(name), "kernel 0x%llx", (unsigned long long)object);
	return tacho_class(TRACE_KIND_DEVICE_KERNEL, name, strlen(name));
}

/* --- work ----------------------------------------------------------------------------------- */

struct queue {
	uint64_t id;
	hsa_agent_t agent;
	int device;
	int32_t depth; /* atomic: packets that are submitted and not done */
	uint32_t depth_class;
};

static struct queue queues[N_QUEUES];
static uint32_t n_queues; /* atomic */

enum work_kind { WORK_KERNEL, WORK_BARRIER, WORK_COPY };

/* Free, taken, and with a signal that stays its own. */
static struct work {
	uint32_t is_taken; /* atomic */
	enum work_kind kind;
	hsa_signal_t signal, original; /* handle 0: none */
	hsa_agent_t agent;
	struct queue *queue; /* NULL: a copy */
	uint64_t object, bytes, correlation, queued_ticks;
	uint32_t kernel_class; /* where the object has no name; 0: not known */
	int device, peer;
	enum trace_direction direction;
	struct tacho_launch launch;
} works[N_WORK];
static uint32_t next_work, n_running; /* atomic */
static uint64_t n_dispatches;	      /* atomic */

static struct device_clock hsa_clock;
static uint64_t frequency_hz;
/* done() is called by one thread of the runtime; another runtime's would wait. */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

static uint64_t ns_of(uint64_t ticks)
{
	return frequency_hz ? (uint64_t)((unsigned __int128)ticks * 1000000000u / frequency_hz) : 0;
}

static uint64_t read_clock(const void *unused)
{
	uint64_t ticks = 0;

	(void)unused;
	return hsa_core.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks) == HSA_STATUS_SUCCESS
		       ? ns_of(ticks)
		       : 0;
}

void hsa_work_start(void)
{
	if (hsa_core.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency_hz) !=
	    HSA_STATUS_SUCCESS)
		frequency_hz = 0;
	device_clock_start(&hsa_clock, read_clock, NULL);
	hsa_amd.hsa_amd_profiling_async_copy_enable(true);
}

static struct work *take(void)
{
	for (int i = 0; i < 32; i++) {
		struct work *work =
			&works[__atomic_fetch_add(&next_work, 1, __ATOMIC_RELAXED) % N_WORK];

		if (__atomic_exchange_n(&work->is_taken, 1, __ATOMIC_ACQUIRE))
			continue;
		if (!work->signal.handle &&
		    hsa_core.hsa_signal_create(1, 0, NULL, &work->signal) != HSA_STATUS_SUCCESS) {
			work->signal.handle = 0;
			__atomic_store_n(&work->is_taken, 0, __ATOMIC_RELEASE);
			return NULL;
		}
		hsa_core.hsa_signal_store_relaxed(work->signal, 1);
		__atomic_add_fetch(&n_running, 1, __ATOMIC_RELAXED);
		return work;
	}
	return NULL;
}

static void give_back(struct work *work)
{
	__atomic_store_n(&work->is_taken, 0, __ATOMIC_RELEASE);
	__atomic_sub_fetch(&n_running, 1, __ATOMIC_RELAXED);
}

/* --- when it is done ------------------------------------------------------------------------ */

static void tell(const struct work *work, uint64_t begin_ns, uint64_t end_ns)
{
	struct tacho_activity activity = { .begin = tacho_ticks_at(&hsa_clock.pair, begin_ns),
					   .end = tacho_ticks_at(&hsa_clock.pair, end_ns),
					   .correlation = work->correlation,
					   .queued = work->queued_ticks,
					   .device = work->device,
					   .queue = work->queue ? (uint32_t)work->queue->id
								: TRACE_NO_QUEUE };

	if (work->kind == WORK_KERNEL)
		tacho_device_kernel(kernel_class(work->object, work->kernel_class), &activity,
				    &work->launch);
	else if (work->kind == WORK_BARRIER)
		tacho_device_wait(region_class(TRACE_KIND_DEVICE_WAIT, NULL, "barrier"), &activity,
				  0, 0);
	else
		tacho_copy(region_class(TRACE_KIND_COPY, NULL, "Memcpy"), &activity, work->bytes,
			   work->direction, work->peer);
}

static void tell_depth(struct queue *queue, int32_t depth)
{
	tacho_counter_at(queue->depth_class, queue->device, 0, (double)depth);
}

/* The program may read the times of its own signal. */
static void hand_on(const struct work *work)
{
	const amd_signal_t *ours = (const amd_signal_t *)(uintptr_t)work->signal.handle;
	amd_signal_t *theirs = (amd_signal_t *)(uintptr_t)work->original.handle;

	if (!theirs)
		return;
	theirs->start_ts = ours->start_ts;
	theirs->end_ts = ours->end_ts;
	hsa_core.hsa_signal_subtract_screlease(work->original, 1);
}

static bool done(hsa_signal_value_t value, void *work_pointer)
{
	struct work *work = work_pointer;
	hsa_amd_profiling_dispatch_time_t dispatched = { 0, 0 };
	hsa_amd_profiling_async_copy_time_t copied = { 0, 0 };
	uint64_t begin, end;

	(void)value;
	if (work->kind == WORK_COPY) {
		hsa_amd.hsa_amd_profiling_get_async_copy_time(work->signal, &copied);
		begin = copied.start, end = copied.end;
	} else {
		hsa_amd.hsa_amd_profiling_get_dispatch_time(work->agent, work->signal, &dispatched);
		begin = dispatched.start, end = dispatched.end;
	}
	hand_on(work);
	pthread_mutex_lock(&telling);
	tacho_writer.is_inside++;
	if (!device_clock_follow(&hsa_clock))
		tacho_record_make_room(0); /* counts as lost */
	else if (work->correlation)
		tell(work, ns_of(begin), ns_of(end));
	if (work->queue)
		tell_depth(work->queue,
			   __atomic_sub_fetch(&work->queue->depth, 1, __ATOMIC_RELAXED));
	tacho_writer.is_inside--;
	pthread_mutex_unlock(&telling);
	give_back(work);
	return false;
}

void hsa_work_finish(void)
{
	const struct timespec one_ms = { 0, 1000000 };

	for (int i = 0; i < FINISH_MS && __atomic_load_n(&n_running, __ATOMIC_RELAXED); i++)
		nanosleep(&one_ms, NULL);
}

/* --- queues --------------------------------------------------------------------------------- */

static bool is_ready(struct work *work)
{
	return hsa_amd.hsa_amd_signal_async_handler(work->signal, HSA_SIGNAL_CONDITION_LT, 1, done,
						    work) == HSA_STATUS_SUCCESS;
}

/* NULL: the packet goes as it is. */
static struct work *work_of_kernel(struct queue *queue, hsa_kernel_dispatch_packet_t *packet)
{
	const uint16_t *block = &packet->workgroup_size_x;
	const uint32_t *threads = &packet->grid_size_x;
	struct work *work = take();

	if (!work)
		return NULL;
	work->kind = WORK_KERNEL;
	work->object = packet->kernel_object;
	work->original = packet->completion_signal;
	for (int i = 0; i < 3; i++) {
		work->launch.block[i] = block[i];
		work->launch.grid[i] = block[i] ? (threads[i] + block[i] - 1) / block[i] : 0;
	}
	work->launch.shared_bytes = packet->group_segment_size;
	packet->completion_signal = work->signal;
	work->queue = queue;
	return work;
}

static struct work *work_of_barrier(struct queue *queue, hsa_barrier_and_packet_t *packet)
{
	struct work *work = take();

	if (!work)
		return NULL;
	work->kind = WORK_BARRIER;
	work->original = packet->completion_signal;
	packet->completion_signal = work->signal;
	work->queue = queue;
	return work;
}

union packet {
	uint16_t header;
	hsa_kernel_dispatch_packet_t kernel;
	hsa_barrier_and_packet_t barrier; /* and the one of "or", which is alike */
};

static struct work *follow(struct queue *queue, union packet *packet)
{
	unsigned type = packet->header >> HSA_PACKET_HEADER_TYPE &
			((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
	struct work *work = NULL;

	if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH)
		work = work_of_kernel(queue, &packet->kernel);
	else if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR)
		work = work_of_barrier(queue, &packet->barrier);
	else
		return NULL;
	if (!work) {
		tacho_record_make_room(0); /* counts as lost */
		return NULL;
	}
	work->agent = queue->agent;
	work->device = queue->device;
	work->queued_ticks = tacho_ticks();
	work->kernel_class = tacho_device_call.kernel_class;
	work->correlation = tacho_device_call.correlation;
	if (!work->correlation)
		work->correlation = __atomic_add_fetch(&n_dispatches, 1, __ATOMIC_RELAXED) << 1 | 1;
	return work;
}

/* Called in the thread that has rung the queue's bell. */
static void submitted(const void *packets, uint64_t n, uint64_t index, void *queue_pointer,
		      hsa_amd_queue_intercept_packet_writer writer)
{
	struct queue *queue = queue_pointer;
	const union packet *theirs = packets;

	(void)index;
	if (!tacho_is_recording_all() || tacho_writer.is_inside) {
		writer(packets, n);
		return;
	}
	for (uint64_t first = 0; first < n; first += N_BURST) {
		union packet ours[N_BURST];
		uint64_t n_burst = n - first < N_BURST ? n - first : N_BURST;

		memcpy(ours, theirs + first, n_burst * sizeof(*ours));
		for (uint64_t i = 0; i < n_burst; i++) {
			struct work *work = follow(queue, &ours[i]);
			struct record_slice *slice;

			if (!work)
				continue;
			slice = tacho_slice_begin(
				region_class(TRACE_KIND_RUNTIME, NULL,
					     work->kind == WORK_KERNEL ? "hsa kernel dispatch"
								       : "hsa barrier"),
				tacho_device_call.correlation ? 0 : work->correlation);
			tacho_slice_finish(slice);
			tell_depth(queue, __atomic_add_fetch(&queue->depth, 1, __ATOMIC_RELAXED));
			if (!is_ready(work)) {
				ours[i].kernel.completion_signal = work->original;
				__atomic_sub_fetch(&queue->depth, 1, __ATOMIC_RELAXED);
				give_back(work);
			}
		}
		writer(ours, n_burst);
	}
}

hsa_status_t hsa_queue_make(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
			    void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data),
			    void *data, uint32_t private_bytes, uint32_t group_bytes,
			    hsa_queue_t **ret_queue)
{
	uint32_t number = __atomic_fetch_add(&n_queues, 1, __ATOMIC_RELAXED);
	struct queue *queue = number < N_QUEUES ? &queues[number] : NULL;
	char name[48];

	if (!queue || !hsa_amd.hsa_amd_queue_intercept_create ||
	    !hsa_amd.hsa_amd_queue_intercept_register ||
	    hsa_amd.hsa_amd_queue_intercept_create(agent, size, type, callback, data, private_bytes,
						   group_bytes, ret_queue) != HSA_STATUS_SUCCESS)
		return hsa_core.hsa_queue_create(agent, size, type, callback, data, private_bytes,
						 group_bytes, ret_queue);
	queue->agent = agent;
	queue->id = (*ret_queue)->id;
	queue->device = hsa_device_number(agent);
	snprintf(name, sizeof(name), "HSA queue %llu: depth", (unsigned long long)queue->id);
	queue->depth_class = tacho_class(TRACE_KIND_COUNTER, name, strlen(name));
	hsa_amd.hsa_amd_profiling_set_profiler_enabled(*ret_queue, 1);
	hsa_amd.hsa_amd_queue_intercept_register(*ret_queue, submitted, queue);
	return HSA_STATUS_SUCCESS;
}

/* --- copies --------------------------------------------------------------------------------- */

hsa_status_t hsa_copy_follow(void *target, hsa_agent_t target_agent, const void *source,
			     hsa_agent_t source_agent, size_t bytes, uint32_t n_waited,
			     const hsa_signal_t *waited, hsa_signal_t signal, uint64_t correlation)
{
	int to = hsa_device_number(target_agent), from = hsa_device_number(source_agent);
	struct work *work = correlation ? take() : NULL;
	hsa_status_t status;

	if (!work)
		return hsa_amd.hsa_amd_memory_async_copy(target, target_agent, source, source_agent,
							 bytes, n_waited, waited, signal);
	work->kind = WORK_COPY;
	work->original = signal;
	work->queue = NULL;
	work->bytes = bytes;
	work->correlation = correlation;
	work->queued_ticks = tacho_ticks();
	work->device = from >= 0 ? from : to;
	work->peer = from >= 0 && to >= 0 && from != to ? to : -1;
	work->direction = from < 0 && to >= 0	? TRACE_HOST_TO_DEVICE
			  : from >= 0 && to < 0 ? TRACE_DEVICE_TO_HOST
			  : from < 0		? TRACE_HOST_TO_HOST
			  : from == to		? TRACE_DEVICE_TO_DEVICE
						: TRACE_PEER_TO_PEER;
	if (!is_ready(work)) {
		give_back(work);
		return hsa_amd.hsa_amd_memory_async_copy(target, target_agent, source, source_agent,
							 bytes, n_waited, waited, signal);
	}
	status = hsa_amd.hsa_amd_memory_async_copy(target, target_agent, source, source_agent,
						   bytes, n_waited, waited, work->signal);
	if (status != HSA_STATUS_SUCCESS) { /* nobody will count ours down */
		work->correlation = 0;
		work->original.handle = 0;
		hsa_core.hsa_signal_subtract_screlease(work->signal, 1);
	}
	return status;
}
