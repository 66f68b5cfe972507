/* activity: what probes of devices record: calls of a runtime, what the device did for them, counters and flows; and what is
 * told late. All is inline, takes no lock, makes no call and never waits, as in probe.h; false or NULL: it was dropped and
 * counted.
 *
 * A call and what the device did for it:
 *
 *     struct record_slice *call = tacho_slice_begin(launch_class, correlation);    // a class of kind RUNTIME
 *     ... the real cudaLaunchKernel() ...
 *     tacho_slice_finish(call);
 *
 *     ... when the device tells, in whichever thread and in any order ...
 *     struct tacho_activity activity = { .begin = tacho_ticks_at(&pair, kernel->start),
 *                                        .end = tacho_ticks_at(&pair, kernel->end),
 *                                        .correlation = kernel->correlationId,
 *                                        .device = kernel->deviceId, .queue = kernel->streamId };
 *     tacho_device_kernel(kernel_class, &activity, &launch);                       // of kind DEVICE_KERNEL
 *
 * (1) The record's stamp is when it was told, so a stream's order is kept; its begin and duration are when it was, in ticks of
 *     the trace's clock. Who tells brings the device's times there: tacho_ticks_at().
 * (2) Times of 0, from before the process, and ends before their begins make a record that readers leave out and count: a probe
 *     hands on what it was told.
 * (3) Correlation ids are the process's own: no two calls have one.
 * (4) A thread of the device's library that tells writes a stream of its own, as any other. */
#ifndef TACHO_ACTIVITY_H
#define TACHO_ACTIVITY_H

#include <string.h>

#include "common/probe.h"

/* --- correlation ids ------------------------------------------------------------------------ */

/* The next id of calls that nothing numbers: `first` keeps a runtime's apart from those of others, and is exact as a double, with the
 * thread's number above bit 32. `last` is the calling thread's own, 0 at first; all of a library come from one file of it. */
static inline uint64_t tacho_next_correlation(uint64_t *last, uint64_t first)
{
	static uint64_t n_threads; /* atomic */

	if (!*last)
		*last = first | (__atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED) & 0xffff)
					<< 32;
	return ++*last;
}

/* --- clocks --------------------------------------------------------------------------------- */

/* Ticks of the trace's clock in a nanosecond, times 2^40. */
extern TACHO_EXPORT uint64_t tacho_clock_scale;

/* Another clock and the trace's, read together, and how much faster the trace's ticks. */
struct tacho_clock_pair {
	uint64_t ns;
	uint64_t ticks;
	uint64_t scale; /* ticks in a nanosecond of the other clock, times 2^40 */
};

/* At `ns` of the other clock it was `ticks`; it runs as fast. */
static inline struct tacho_clock_pair tacho_clock_pair_at(uint64_t ns, uint64_t ticks)
{
	struct tacho_clock_pair pair = { ns, ticks, tacho_clock_scale };

	return pair;
}

/* CLOCK_MONOTONIC, which runtimes use that tell times of the host. */
static inline struct tacho_clock_pair tacho_clock_pair_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return tacho_clock_pair_at((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
				   tacho_ticks());
}

/* Have `pair` follow a clock that drifts: it runs as fast as it did from `pair` to a `later` one. */
static inline void tacho_clock_pair_follow(struct tacho_clock_pair *pair,
					   const struct tacho_clock_pair *later)
{
	if (later->ns > pair->ns && later->ticks > pair->ticks)
		pair->scale = (uint64_t)(((unsigned __int128)(later->ticks - pair->ticks) << 40) /
					 (later->ns - pair->ns));
}

/* The ticks at `ns` of the other clock. 0 stays 0: it is what devices say where they do not know. */
static inline uint64_t tacho_ticks_at(const struct tacho_clock_pair *pair, uint64_t ns)
{
	__int128 since = (__int128)(int64_t)(ns - pair->ns) * pair->scale;

	return ns ? pair->ticks + (uint64_t)(since >> 40) : 0;
}

/* --- runtimes on top of each other ----------------------------------------------------------- */

/* The call of a runtime that the thread is in, for the probe of one that lies below: what devices do for it belongs to that call. */
struct tacho_device_call {
	uint64_t correlation;  /* 0: none */
	uint32_t kernel_class; /* of the kernel that it launches; 0: none, or not known */
};

extern TACHO_EXPORT TACHO_THREAD_LOCAL struct tacho_device_call tacho_device_call
	__attribute__((tls_model("initial-exec")));

/* --- slices of threads ---------------------------------------------------------------------- */

/* A slice of this thread, of a kind that has a struct record_slice: RUNTIME (`id`: its correlation id), FUNCTION,
 * ANNOTATION, MODULE, WAIT. */
static inline struct record_slice *tacho_slice_begin(uint32_t class_id, uint64_t id)
{
	struct record_slice *slice =
		(struct record_slice *)tacho_record_begin(class_id, sizeof(*slice));

	if (!slice)
		return NULL;
	slice->duration = TRACE_OPEN;
	slice->id = id;
	tacho_record_commit(slice);
	return slice;
}

/* NULL: it had been dropped. */
static inline void tacho_slice_finish(struct record_slice *slice)
{
	if (slice)
		tacho_slice_end(slice, &slice->duration);
}

/* A named region that need not lie within the slices of its thread, and that any thread may end with tacho_slice_finish(): of kind
 * SPAN. */
static inline struct record_slice *tacho_span_begin(uint32_t class_id, uint64_t id)
{
	struct record_slice *slice =
		(struct record_slice *)tacho_record_begin_async(class_id, sizeof(*slice));

	if (!slice)
		return NULL;
	slice->duration = TRACE_OPEN;
	slice->id = id;
	tacho_record_commit(slice);
	return slice;
}

/* A slice of this thread that is over, [begin, end) in ticks, where others have been recorded since it began. The class is of
 * kind LATE, and `slice_kind` is one of those above. */
static inline bool tacho_slice_late(uint32_t class_id, enum trace_kind slice_kind, uint64_t begin,
				    uint64_t end, uint64_t id)
{
	struct record_late *late =
		(struct record_late *)tacho_record_begin(class_id, sizeof(*late));

	if (!late)
		return false;
	late->duration = end - begin;
	late->id = id;
	late->begin = begin;
	late->slice_kind = (uint32_t)slice_kind;
	late->reserved = 0;
	tacho_record_commit(late);
	return true;
}

/* --- between ranks -------------------------------------------------------------------------- */

/* A collective, from when it was queued; any thread may end it. The class is of kind COLLECTIVE. */
static inline struct record_collective *tacho_collective_begin(uint32_t class_id, uint64_t bytes,
							       uint64_t group)
{
	struct record_collective *collective =
		(struct record_collective *)tacho_record_begin_async(class_id, sizeof(*collective));

	if (!collective)
		return NULL;
	collective->duration = TRACE_OPEN;
	collective->bytes = bytes;
	collective->group = group;
	collective->end_tid = 0;
	collective->n_inputs = 0;
	tacho_record_commit(collective);
	return collective;
}

/* A send or a receive, from when it was asked for; any thread may end it. `peer` -1, `tag` -1: not known yet. The class is of kind
 * TRANSFER. */
static inline struct record_transfer *tacho_transfer_begin(uint32_t class_id, enum trace_way way,
							   uint64_t bytes, uint64_t group,
							   int32_t peer, int32_t tag)
{
	struct record_transfer *transfer =
		(struct record_transfer *)tacho_record_begin_async(class_id, sizeof(*transfer));

	if (!transfer)
		return NULL;
	transfer->collective.duration = TRACE_OPEN;
	transfer->collective.bytes = bytes;
	transfer->collective.group = group;
	transfer->collective.end_tid = 0;
	transfer->collective.n_inputs = 0;
	transfer->peer = peer;
	transfer->tag = tag;
	transfer->way = (uint32_t)way;
	transfer->reserved = 0;
	tacho_record_commit(transfer);
	return transfer;
}

/* Complete, by the thread `tid` (0: not known). NULL: it had been dropped. */
static inline void tacho_collective_finish(struct record_collective *collective, uint32_t tid)
{
	if (!collective)
		return;
	__atomic_store_n(&collective->end_tid, tid, __ATOMIC_RELAXED);
	tacho_slice_end(collective, &collective->duration);
}

/* --- what devices did ----------------------------------------------------------------------- */

struct tacho_activity {
	uint64_t begin, end; /* ticks */
	uint64_t correlation;
	uint64_t queued, submitted; /* ticks; 0: not known */
	uint64_t graph_node;
	int32_t device;
	uint32_t queue; /* TRACE_NO_QUEUE: not known */
};

struct tacho_launch {
	uint32_t grid[3], block[3];
	uint32_t registers;
	uint64_t shared_bytes;
};

static inline struct record_activity *tacho_activity_begin(uint32_t class_id, uint32_t size_bytes,
							   const struct tacho_activity *activity)
{
	struct record_activity *record =
		(struct record_activity *)tacho_record_begin(class_id, size_bytes);

	if (!record)
		return NULL;
	record->duration = activity->end - activity->begin;
	record->correlation = activity->correlation;
	record->begin = activity->begin;
	record->queued = activity->queued;
	record->submitted = activity->submitted;
	record->graph_node = activity->graph_node;
	record->device = activity->device;
	record->queue = activity->queue;
	return record;
}

/* `launch` NULL: its shape is not known. */
static inline bool tacho_device_kernel(uint32_t class_id, const struct tacho_activity *activity,
				       const struct tacho_launch *launch)
{
	struct record_device_kernel *kernel = (struct record_device_kernel *)tacho_activity_begin(
		class_id, sizeof(*kernel), activity);

	if (!kernel)
		return false;
	for (int i = 0; i < 3; i++) {
		kernel->grid[i] = launch ? launch->grid[i] : 0;
		kernel->block[i] = launch ? launch->block[i] : 0;
	}
	kernel->registers = launch ? launch->registers : 0;
	kernel->reserved = 0;
	kernel->shared_bytes = launch ? launch->shared_bytes : 0;
	tacho_record_commit(kernel);
	return true;
}

/* A class of kind COPY, or FILL. `peer` -1: no other device has a part in it. */
static inline bool tacho_copy(uint32_t class_id, const struct tacho_activity *activity,
			      uint64_t bytes, enum trace_direction direction, int32_t peer)
{
	struct record_copy *copy =
		(struct record_copy *)tacho_activity_begin(class_id, sizeof(*copy), activity);

	if (!copy)
		return false;
	copy->bytes = bytes;
	copy->direction = (uint32_t)direction;
	copy->peer = peer;
	tacho_record_commit(copy);
	return true;
}

/* A class of kind DEVICE_WAIT; `event_correlation` 0: it waited for no event, or it is not known who recorded it. */
static inline bool tacho_device_wait(uint32_t class_id, const struct tacho_activity *activity,
				     uint64_t event_correlation, uint32_t event_queue)
{
	struct record_device_wait *wait = (struct record_device_wait *)tacho_activity_begin(
		class_id, sizeof(*wait), activity);

	if (!wait)
		return false;
	wait->event_correlation = event_correlation;
	wait->event_queue = event_queue;
	wait->reserved = 0;
	tacho_record_commit(wait);
	return true;
}

/* The innermost slice that this thread has open made the node of a graph: it was captured, or clones `original` (0: it does not).
 * The class is of kind GRAPH_NODE. */
static inline bool tacho_graph_node(uint32_t class_id, uint64_t node, uint64_t original)
{
	struct record_graph_node *record =
		(struct record_graph_node *)tacho_record_begin(class_id, sizeof(*record));

	if (!record)
		return false;
	record->node = node;
	record->original = original;
	tacho_record_commit(record);
	return true;
}

static inline bool tacho_device_work(uint32_t class_id, const struct tacho_activity *activity)
{
	struct record_activity *record = tacho_activity_begin(class_id, sizeof(*record), activity);

	if (record)
		tacho_record_commit(record);
	return record != NULL;
}

/* --- what devices are ----------------------------------------------------------------------- */

/* What is set in `device` (its header and text are not) is told of the device; the class is of kind DEVICE. The name of an
 * architecture is short. */
static inline bool tacho_device(uint32_t class_id, const struct record_device *device,
				const char *architecture)
{
	size_t length = strlen(architecture);
	uint32_t n_text = tacho_padded(length);
	struct record_device *record = (struct record_device *)tacho_record_begin(
		class_id, (uint32_t)sizeof(*record) + n_text);

	if (!record)
		return false;
	memcpy(&record->device, &device->device,
	       sizeof(*record) - offsetof(struct record_device, device));
	record->n_text = n_text;
	memset((char *)(record + 1), 0, n_text);
	memcpy((char *)(record + 1), architecture, length);
	tacho_record_commit(record);
	return true;
}

/* What the queue is called: the name of the class, which is of kind QUEUE. */
static inline bool tacho_queue(uint32_t class_id, int32_t device, uint32_t queue)
{
	struct record_queue *record =
		(struct record_queue *)tacho_record_begin(class_id, sizeof(*record));

	if (!record)
		return false;
	record->device = device;
	record->queue = queue;
	tacho_record_commit(record);
	return true;
}

/* Memory of a device: a class of kind DEVICE_ALLOC or DEVICE_FREE, whose name is the allocator's. */
static inline bool tacho_device_memory(uint32_t class_id, int32_t device, uint64_t address,
				       uint64_t bytes)
{
	struct record_device_memory *record =
		(struct record_device_memory *)tacho_record_begin(class_id, sizeof(*record));

	if (!record)
		return false;
	record->memory.address = address;
	record->memory.bytes = bytes;
	record->device = device;
	record->reserved = 0;
	tacho_record_commit(record);
	return true;
}

/* --- counters and flows --------------------------------------------------------------------- */

/* From `ticks` on (0: now), the counter of the class (of kind COUNTER) has that value. `device` -1: of the process. */
static inline bool tacho_counter_at(uint32_t class_id, int32_t device, uint64_t ticks, double value)
{
	struct record_counter *counter =
		(struct record_counter *)tacho_record_begin(class_id, sizeof(*counter));

	if (!counter)
		return false;
	counter->value = value;
	counter->time = ticks;
	counter->device = device;
	counter->reserved = 0;
	tacho_record_commit(counter);
	return true;
}

static inline bool tacho_counter(uint32_t class_id, double value)
{
	return tacho_counter_at(class_id, -1, 0, value);
}

/* The innermost slice that this thread has open is an end of the flow `id` of the class's name (of kind FLOW). */
static inline bool tacho_flow(uint32_t class_id, uint64_t id, enum trace_flow_phase phase,
			      enum trace_flow_sort sort, enum trace_flow_scope scope)
{
	struct record_flow *flow =
		(struct record_flow *)tacho_record_begin(class_id, sizeof(*flow));

	if (!flow)
		return false;
	flow->id = id;
	flow->phase = (uint32_t)phase;
	flow->sort = (uint32_t)sort;
	flow->scope = (uint32_t)scope;
	flow->reserved = 0;
	tacho_record_commit(flow);
	return true;
}

#endif
