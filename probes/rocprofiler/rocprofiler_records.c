#include "rocprofiler/rocprofiler_records.h"

#include <pthread.h>
#include <string.h>

#include "common/activity.h"
#include "common/device_clock.h"
#include "common/region_stack.h"
#include "rocprofiler/rocprofiler_agents.h"
#include "rocprofiler/rocprofiler_calls.h"
#include "rocprofiler/rocprofiler_counters.h"
#include "rocprofiler/rocprofiler_kernels.h"

#define BUFFER_BYTES	(4u << 20)
#define WATERMARK_BYTES (64u << 10) /* some 300 kernels: what a process that is killed loses */
#define MAX_WAIT_MS	200	    /* for all records of a buffer */
#define MAX_COUNTED	10000000u   /* losses of one buffer that are counted one by one */
#define N_QUEUES	256

static const struct rocp *library;
static rocp_handle buffer;
static struct device_clock clock_followed;
static int32_t kernel_kind, copy_kind, scratch_kind;

/* Records are written by one thread at a time: a flush at the end may meet rocprofiler-sdk's own thread. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

/* Queues are numbered as they are met: a record has room for a small number, and rocprofiler-sdk's are handles. */
static rocp_handle queues[N_QUEUES];
static uint32_t n_queues;

static uint32_t queue_number(rocp_handle queue)
{
	for (uint32_t i = 0; i < n_queues; i++)
		if (queues[i] == queue)
			return i;
	if (n_queues == N_QUEUES)
		return TRACE_NO_QUEUE;
	queues[n_queues] = queue;
	return n_queues++;
}

static uint64_t ticks_at(uint64_t ns)
{
	return tacho_ticks_at(&clock_followed.pair, ns);
}

static struct tacho_activity activity_of(const struct rocp_work *work)
{
	struct tacho_activity activity = { .begin = ticks_at(work->start),
					   .end = ticks_at(work->end),
					   .correlation = ROCP_CORRELATION(work->correlation),
					   .queue = TRACE_NO_QUEUE,
					   .device = -1 };

	return activity;
}

/* --- kinds ---------------------------------------------------------------------------------- */

static bool take_kernel(const struct rocp_dispatch *dispatch)
{
	struct tacho_activity activity;
	struct tacho_launch launch;
	uint32_t class_id;

	if (dispatch->work.size < sizeof(*dispatch))
		return false;
	activity = activity_of(&dispatch->work);
	activity.device = rocp_agent_device(dispatch->agent);
	activity.queue = queue_number(dispatch->queue);
	class_id = rocp_kernel_class(dispatch->kernel, &launch.registers);
	for (int i = 0; i < 3; i++) {
		uint32_t block = dispatch->workgroup[i];

		launch.block[i] = block;
		launch.grid[i] =
			block ? (uint32_t)(((uint64_t)dispatch->grid[i] + block - 1) / block)
			      : dispatch->grid[i];
	}
	launch.shared_bytes = dispatch->group_bytes;
	tacho_device_kernel(class_id, &activity, &launch);
	rocp_counters_began(dispatch->dispatch, activity.begin);
	return true;
}

static bool take_copy(const struct rocp_memcpy *copy)
{
	static const struct {
		const char *name;
		enum trace_direction direction;
	} ways[] = {
		[0] = { "Memcpy", TRACE_DIRECTION_UNKNOWN },
		[ROCP_HOST_TO_HOST] = { "Memcpy HtoH", TRACE_HOST_TO_HOST },
		[ROCP_HOST_TO_DEVICE] = { "Memcpy HtoD", TRACE_HOST_TO_DEVICE },
		[ROCP_DEVICE_TO_HOST] = { "Memcpy DtoH", TRACE_DEVICE_TO_HOST },
		[ROCP_DEVICE_TO_DEVICE] = { "Memcpy DtoD", TRACE_DEVICE_TO_DEVICE },
	};
	uint32_t way = (uint32_t)copy->work.operation;
	struct tacho_activity activity;
	enum trace_direction direction;
	const char *name;
	int source, target, peer = -1;

	if (copy->work.size < sizeof(*copy))
		return false;
	if (way >= sizeof(ways) / sizeof(*ways))
		way = 0;
	name = ways[way].name;
	direction = ways[way].direction;
	source = rocp_agent_device(copy->source);
	target = rocp_agent_device(copy->target);
	if (source >= 0 && target >= 0 && source != target) {
		name = "Memcpy PtoP";
		direction = TRACE_PEER_TO_PEER;
		peer = target;
	}
	activity = activity_of(&copy->work);
	activity.device = source >= 0 ? source : target;
	tacho_copy(region_class(TRACE_KIND_COPY, NULL, name), &activity, copy->bytes, direction,
		   peer);
	return true;
}

static size_t scratch_at(void)
{
	if (library->version >= ROCP_WITH_ANCESTOR)
		return ROCP_SCRATCH_AT_10;
	return library->version >= ROCP_VERSION_06 ? ROCP_SCRATCH_AT_06 : ROCP_SCRATCH_AT_04;
}

/* Memory that kernels spill registers into, which the runtime hands out between kernels, and takes back. */
static bool take_scratch(const struct rocp_work *head)
{
	static const char *const names[] = { "Scratch memory", "Scratch memory: allocated",
					     "Scratch memory: freed", "Scratch memory: reclaimed" };
	uint32_t what = (uint32_t)head->operation;
	struct rocp_work work = { 0 };
	struct tacho_activity activity;
	struct rocp_scratch scratch;

	if (head->size < scratch_at() + sizeof(scratch))
		return false;
	memcpy(&scratch, (const char *)head + scratch_at(), sizeof(scratch));
	work.start = scratch.start;
	work.end = scratch.end;
	activity = activity_of(&work);
	activity.device = rocp_agent_device(scratch.agent);
	activity.queue = queue_number(scratch.queue);
	tacho_device_work(region_class(TRACE_KIND_DEVICE_WORK, NULL,
				       names[what < sizeof(names) / sizeof(*names) ? what : 0]),
			  &activity);
	return true;
}

static bool take_record(const struct rocp_header *header)
{
	int32_t kind = (int32_t)header->kind;

	if (header->category != ROCP_TRACING || kind < 0)
		return true;
	if (!header->payload)
		return false;
	if (kind == kernel_kind)
		return take_kernel(header->payload);
	if (kind == copy_kind)
		return take_copy(header->payload);
	return kind != scratch_kind || take_scratch(header->payload);
}

/* --- buffers -------------------------------------------------------------------------------- */

/* rocprofiler-sdk's count goes on from buffer to buffer. */
static size_t newly_dropped(uint64_t n_dropped)
{
	static uint64_t last;
	uint64_t since = n_dropped >= last ? n_dropped - last : n_dropped;

	last = n_dropped;
	return since < MAX_COUNTED ? (size_t)since : MAX_COUNTED;
}

static void take_records(struct rocp_header **headers, size_t n, uint64_t n_dropped)
{
	bool is_sane = device_clock_follow(&clock_followed);
	size_t n_lost = newly_dropped(n_dropped);
	uint32_t wait_ms = MAX_WAIT_MS;

	if (!is_sane && n)
		tacho_say("rocprofiler's clock has jumped: what the device did meanwhile is left "
			  "out");
	for (size_t i = 0; i < n; i++) {
		tacho_record_wait(sizeof(struct record_device_kernel), &wait_ms);
		n_lost += !is_sane || !headers[i] || !take_record(headers[i]);
	}
	while (n_lost--)
		tacho_record_make_room(0);
}

static void told(rocp_handle context, rocp_handle which, struct rocp_header **headers, size_t n,
		 void *data, uint64_t n_dropped)
{
	(void)context, (void)which, (void)data;
	if (rocp_is_child())
		return; /* what is in the buffer is its parent's */
	pthread_mutex_lock(&writing);
	tacho_writer.is_inside++;
	if (tacho_is_alive())
		take_records(headers, headers ? n : 0, n_dropped);
	tacho_writer.is_inside--;
	pthread_mutex_unlock(&writing);
}

static uint64_t read_clock(const void *unused)
{
	uint64_t ns = 0;

	(void)unused;
	return library->get_timestamp(&ns) == ROCP_SUCCESS ? ns : 0;
}

static bool configure(rocp_handle context, const char *name, int32_t *ret_kind)
{
	*ret_kind = rocp_buffer_kind(library, name);
	return *ret_kind >= 0 && library->configure_buffer_tracing_service(
					 context, *ret_kind, NULL, 0, buffer) == ROCP_SUCCESS;
}

bool rocp_records_configure(const struct rocp *rocp, rocp_handle context)
{
	library = rocp;
	device_clock_start(&clock_followed, read_clock, NULL);
	if (rocp->create_buffer(context, BUFFER_BYTES, WATERMARK_BYTES, ROCP_DISCARD, told, NULL,
				&buffer) != ROCP_SUCCESS)
		return false;
	configure(context, "MEMORY_COPY", &copy_kind);
	configure(context, "SCRATCH_MEMORY", &scratch_kind);
	return configure(context, "KERNEL_DISPATCH", &kernel_kind);
}

void rocp_records_flush(void)
{
	if (buffer && !rocp_is_child())
		library->flush_buffer(buffer);
}

uint64_t rocp_records_clock_error_ns(void)
{
	return clock_followed.error_ns;
}
