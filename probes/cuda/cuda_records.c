#include "cuda/cuda_records.h"

#include <stdio.h>
#include <string.h>

#include "common/activity.h"
#include "cuda/cuda_clock.h"
#include "cuda/cuda_counters.h"
#include "cuda/cuda_names.h"
#include "cuda/cupti_abi.h"

#define N_CONTEXTS 64
#define N_EVENTS   4096 /* a power of 2 */

/* --- classes -------------------------------------------------------------------------------- */

static uint32_t class_of(enum trace_kind kind, const char *name)
{
	return tacho_class(kind, name, strlen(name));
}

static const char *memory_word(unsigned kind)
{
	static const char *const words[] = { "Unknown",	      "Pageable",      "Pinned",
					     "Device",	      "Array",	       "Managed",
					     "Device Static", "Managed Static" };

	return kind < sizeof(words) / sizeof(*words) ? words[kind] : "Unknown";
}

static const struct {
	const char *word;
	enum trace_direction direction;
} ways[] = {
	{ "Unknown", TRACE_DIRECTION_UNKNOWN }, { "HtoD", TRACE_HOST_TO_DEVICE },
	{ "DtoH", TRACE_DEVICE_TO_HOST },	{ "HtoA", TRACE_HOST_TO_DEVICE },
	{ "AtoH", TRACE_DEVICE_TO_HOST },	{ "AtoA", TRACE_DEVICE_TO_DEVICE },
	{ "AtoD", TRACE_DEVICE_TO_DEVICE },	{ "DtoA", TRACE_DEVICE_TO_DEVICE },
	{ "DtoD", TRACE_DEVICE_TO_DEVICE },	{ "HtoH", TRACE_HOST_TO_HOST },
	{ "PtoP", TRACE_PEER_TO_PEER },
};
enum { N_WAYS = sizeof(ways) / sizeof(*ways), N_MEMORIES = 9 };

/* As PyTorch's profiler calls it: "Memcpy HtoD (Pageable -> Device)". */
static uint32_t copy_class(unsigned way, unsigned source, unsigned target)
{
	static uint32_t classes[N_WAYS][N_MEMORIES][N_MEMORIES];
	char name[80];
	uint32_t *class_id;

	way = way < N_WAYS ? way : 0;
	source = source < N_MEMORIES ? source : 0;
	target = target < N_MEMORIES ? target : 0;
	class_id = &classes[way][source][target];
	if (!*class_id) {
		snprintf(name, sizeof(name), "Memcpy %s (%s -> %s)", ways[way].word,
			 memory_word(source), memory_word(target));
		*class_id = class_of(TRACE_KIND_COPY, name);
	}
	return *class_id;
}

/* --- contexts and events -------------------------------------------------------------------- */

static struct {
	unsigned context;
	int device;
} contexts[N_CONTEXTS];
static unsigned n_contexts;

void cuda_records_know(unsigned context, int device)
{
	for (unsigned i = 0; i < n_contexts && i < N_CONTEXTS; i++) {
		if (contexts[i].context == context) {
			contexts[i].device = device;
			return;
		}
	}
	contexts[n_contexts % N_CONTEXTS].context = context;
	contexts[n_contexts % N_CONTEXTS].device = device;
	n_contexts++;
}

static int device_of(unsigned context)
{
	for (unsigned i = 0; i < n_contexts && i < N_CONTEXTS; i++)
		if (contexts[i].context == context)
			return contexts[i].device;
	return n_contexts ? contexts[0].device : 0;
}

/* Who recorded an event last. */
static struct recorded_event {
	uint32_t context, event, correlation, stream;
} events[N_EVENTS];

static struct recorded_event *event_place(uint32_t context, uint32_t event)
{
	return &events[(event ^ context * 0x9E3779B1u) % N_EVENTS];
}

static void note_event(const struct cupti_cuda_event *record)
{
	*event_place(record->context, record->event) =
		(struct recorded_event){ record->context, record->event, record->correlation,
					 record->stream };
}

/* --- records -------------------------------------------------------------------------------- */

static struct tacho_activity activity_of(uint64_t start, uint64_t end, uint32_t correlation,
					 uint32_t device, uint32_t stream)
{
	return (struct tacho_activity){ .begin = cuda_clock_ticks(start),
					.end = cuda_clock_ticks(end),
					.correlation = correlation,
					.device = (int32_t)device,
					.queue = stream };
}

static void tell_kernel(const struct cupti_kernel *kernel)
{
	struct tacho_activity activity = activity_of(
		kernel->start, kernel->end, kernel->correlation, kernel->device, kernel->stream);
	struct tacho_launch launch = { .registers = kernel->registers };

	for (int i = 0; i < 3; i++) {
		launch.grid[i] = (uint32_t)kernel->grid[i];
		launch.block[i] = (uint32_t)kernel->block[i];
	}
	launch.shared_bytes =
		(uint64_t)(uint32_t)kernel->static_shared + (uint32_t)kernel->dynamic_shared;
	activity.queued = cuda_clock_ticks(kernel->queued);
	activity.submitted = cuda_clock_ticks(kernel->submitted);
	activity.graph_node = kernel->graph_node;
	tacho_device_kernel(cuda_kernel_class(kernel->name), &activity, &launch);
	cuda_records_know(kernel->context, (int)kernel->device);
	cuda_counters_kernel(kernel->correlation, kernel->device, activity.begin);
}

static void tell_copy(const struct cupti_memcpy *copy)
{
	struct tacho_activity activity =
		activity_of(copy->start, copy->end, copy->correlation, copy->device, copy->stream);
	unsigned way = copy->copy_kind < N_WAYS ? copy->copy_kind : 0;

	activity.graph_node = copy->graph_node;
	tacho_copy(copy_class(way, copy->source_kind, copy->target_kind), &activity, copy->bytes,
		   ways[way].direction, -1);
	cuda_records_know(copy->context, (int)copy->device);
}

static void tell_peer_copy(const struct cupti_memcpy_peer *copy)
{
	struct tacho_activity activity = activity_of(copy->start, copy->end, copy->correlation,
						     copy->source_device, copy->stream);
	bool is_within = copy->source_device == copy->target_device;

	activity.graph_node = copy->graph_node;
	tacho_copy(copy_class(is_within ? 8 : 10, copy->source_kind, copy->target_kind), &activity,
		   copy->bytes, is_within ? TRACE_DEVICE_TO_DEVICE : TRACE_PEER_TO_PEER,
		   is_within ? -1 : (int32_t)copy->target_device);
}

static void tell_fill(const struct cupti_memset *fill)
{
	static uint32_t classes[N_MEMORIES];
	struct tacho_activity activity =
		activity_of(fill->start, fill->end, fill->correlation, fill->device, fill->stream);
	unsigned memory = fill->memory_kind < N_MEMORIES ? fill->memory_kind : 0;
	char name[48];

	if (!classes[memory]) {
		snprintf(name, sizeof(name), "Memset (%s)", memory_word(memory));
		classes[memory] = class_of(TRACE_KIND_FILL, name);
	}
	activity.graph_node = fill->graph_node;
	tacho_copy(classes[memory], &activity, fill->bytes, TRACE_DIRECTION_UNKNOWN, -1);
}

static void tell_wait(const struct cupti_synchronization *wait)
{
	static const char *const names[] = { "Sync", "Event Sync", "Stream Wait Event",
					     "Stream Sync", "Context Sync" };
	static uint32_t classes[sizeof(names) / sizeof(*names)];
	unsigned type = wait->type < sizeof(names) / sizeof(*names) ? wait->type : 0;
	struct tacho_activity activity =
		activity_of(wait->start, wait->end, wait->correlation,
			    (uint32_t)device_of(wait->context), wait->stream);
	const struct recorded_event *event = NULL;

	if (wait->event != CUPTI_NO_ID)
		event = event_place(wait->context, wait->event);
	if (event && (event->context != wait->context || event->event != wait->event))
		event = NULL;
	if (!classes[type])
		classes[type] = class_of(TRACE_KIND_DEVICE_WAIT, names[type]);
	tacho_device_wait(classes[type], &activity, event ? event->correlation : 0,
			  event ? event->stream : 0);
}

static void tell_overhead(const struct cupti_overhead *overhead)
{
	static const struct {
		uint32_t kind;
		const char *name;
	} kinds[] = {
		{ 1, "CUDA: driver compiles" },
		{ 1 << 16, "CUPTI: buffers are flushed" },
		{ 2 << 16, "CUPTI: instrumentation" },
		{ 3 << 16, "CUPTI: resources" },
		{ 4 << 16, "CUDA: runtime loads modules" },
		{ 5 << 16, "CUDA: functions are loaded lazily" },
		{ 6 << 16, "CUDA: command buffer is full" },
		{ 7 << 16, "CUPTI: a buffer is asked for" },
		{ 8 << 16, "CUPTI: unified memory is set up" },
	};
	enum { N = sizeof(kinds) / sizeof(*kinds) };
	static uint32_t classes[N + 1];
	unsigned i = 0;

	while (i < N && kinds[i].kind != overhead->overhead_kind)
		i++;
	if (!classes[i])
		classes[i] = class_of(TRACE_KIND_LATE, i < N ? kinds[i].name : "CUPTI: overhead");
	tacho_slice_late(classes[i], TRACE_KIND_ANNOTATION, cuda_clock_ticks(overhead->start),
			 cuda_clock_ticks(overhead->end), overhead->object[1]);
}

/* Moved pages are copies; faults and the like are work of the device that has them. */
static void tell_unified_memory(const struct cupti_unified_memory *told)
{
	static const struct {
		const char *name;
		enum trace_direction direction;
	} kinds[] = {
		[CUPTI_UVM_HTOD] = { "Memcpy HtoD (Unified Memory)", TRACE_HOST_TO_DEVICE },
		[CUPTI_UVM_DTOH] = { "Memcpy DtoH (Unified Memory)", TRACE_DEVICE_TO_HOST },
		[CUPTI_UVM_CPU_FAULTS] = { "Unified Memory: CPU page fault", 0 },
		[CUPTI_UVM_GPU_FAULT] = { "Unified Memory: GPU page faults", 0 },
		[CUPTI_UVM_THRASHING] = { "Unified Memory: thrashing", 0 },
		[CUPTI_UVM_THROTTLING] = { "Unified Memory: throttling", 0 },
		[CUPTI_UVM_REMOTE_MAP] = { "Unified Memory: remote map", 0 },
		[CUPTI_UVM_DTOD] = { "Memcpy PtoP (Unified Memory)", TRACE_PEER_TO_PEER },
	};
	static uint32_t classes[sizeof(kinds) / sizeof(*kinds)];
	unsigned kind = told->counter_kind;
	bool is_to_host = kind == CUPTI_UVM_DTOH;
	struct tacho_activity activity =
		activity_of(told->start, told->end ? told->end : told->start, 0,
			    is_to_host || kind == CUPTI_UVM_DTOD ? told->source : told->target,
			    told->stream ? told->stream : TRACE_NO_QUEUE);

	if (kind >= sizeof(kinds) / sizeof(*kinds) || !kinds[kind].name)
		return;
	if (kind >= CUPTI_UVM_CPU_FAULTS && kind <= CUPTI_UVM_REMOTE_MAP)
		activity.device = (int32_t)told->source;
	if (!classes[kind])
		classes[kind] =
			class_of(kinds[kind].direction ? TRACE_KIND_COPY : TRACE_KIND_DEVICE_WORK,
				 kinds[kind].name);
	if (kinds[kind].direction)
		tacho_copy(classes[kind], &activity, told->value, kinds[kind].direction,
			   kind == CUPTI_UVM_DTOD ? (int32_t)told->target : -1);
	else
		tacho_device_work(classes[kind], &activity);
}

static void tell_pool(const struct cupti_memory_pool *pool)
{
	static uint32_t reserved_class, used_class;

	if (!reserved_class)
		reserved_class = class_of(TRACE_KIND_COUNTER, "CUDA pool: reserved bytes");
	if (!used_class)
		used_class = class_of(TRACE_KIND_COUNTER, "CUDA pool: used bytes");
	tacho_counter_at(reserved_class, (int32_t)pool->device, cuda_clock_ticks(pool->timestamp),
			 (double)pool->bytes);
	tacho_counter_at(used_class, (int32_t)pool->device, cuda_clock_ticks(pool->timestamp),
			 (double)pool->used_bytes);
}

static void tell_device(const struct cupti_device *told)
{
	struct record_device device = {
		.device = (int32_t)told->device,
		.n_multiprocessors = told->n_multiprocessors,
		.warp_threads = told->warp_threads,
		.multiprocessor_threads = told->warps * told->warp_threads,
		.multiprocessor_registers = told->registers,
		.block_threads = told->block_threads,
		.block_registers = told->block_registers,
		.memory_bytes = told->memory_bytes,
		.peak_bytes_per_s = told->kilobytes_per_s * 1024,
		.clock_hz = (uint64_t)told->clock_khz * 1000,
		.multiprocessor_shared_bytes = told->shared_bytes,
		.block_shared_bytes = told->block_shared_bytes,
	};
	char architecture[24];

	snprintf(architecture, sizeof(architecture), "%u.%u", told->major, told->minor);
	tacho_device(class_of(TRACE_KIND_DEVICE, told->name ? told->name : "CUDA device"), &device,
		     architecture);
}

static size_t least_bytes(uint32_t kind)
{
	switch (kind) {
	case CUPTI_KERNEL:
	case CUPTI_CONCURRENT_KERNEL:
		return sizeof(struct cupti_kernel);
	case CUPTI_MEMCPY:
		return sizeof(struct cupti_memcpy);
	case CUPTI_MEMCPY_PEER:
		return sizeof(struct cupti_memcpy_peer);
	case CUPTI_MEMSET:
		return sizeof(struct cupti_memset);
	case CUPTI_SYNCHRONIZATION:
		return sizeof(struct cupti_synchronization);
	case CUPTI_CUDA_EVENT:
		return sizeof(struct cupti_cuda_event);
	case CUPTI_OVERHEAD:
		return sizeof(struct cupti_overhead);
	case CUPTI_UNIFIED_MEMORY:
		return offsetof(struct cupti_unified_memory, flags) + sizeof(uint32_t);
	case CUPTI_MEMORY_POOL:
		return sizeof(struct cupti_memory_pool);
	case CUPTI_DEVICE:
		return sizeof(struct cupti_device);
	case CUPTI_CONTEXT:
		return sizeof(struct cupti_context);
	}
	return sizeof(uint32_t);
}

bool cuda_record(const void *record, size_t room)
{
	const struct cupti_context *context = record;
	uint32_t kind;

	if (room < sizeof(kind))
		return false;
	memcpy(&kind, record, sizeof(kind));
	if (room < least_bytes(kind))
		return false;
	switch (kind) {
	case CUPTI_KERNEL:
	case CUPTI_CONCURRENT_KERNEL:
		tell_kernel(record);
		break;
	case CUPTI_MEMCPY:
		tell_copy(record);
		break;
	case CUPTI_MEMCPY_PEER:
		tell_peer_copy(record);
		break;
	case CUPTI_MEMSET:
		tell_fill(record);
		break;
	case CUPTI_SYNCHRONIZATION:
		tell_wait(record);
		break;
	case CUPTI_CUDA_EVENT:
		note_event(record);
		break;
	case CUPTI_OVERHEAD:
		tell_overhead(record);
		break;
	case CUPTI_UNIFIED_MEMORY:
		tell_unified_memory(record);
		break;
	case CUPTI_MEMORY_POOL:
		tell_pool(record);
		break;
	case CUPTI_DEVICE:
		tell_device(record);
		break;
	case CUPTI_CONTEXT:
		cuda_records_know(context->context, (int)context->device);
		break;
	default:
		break;
	}
	return true;
}
