/* level_zero_calls: see level_zero_calls.h and the table level_zero_calls.def.
 *
 * (1) The layer makes no callback for what is called within one; a thread is in one call at a time.
 * (2) What a program can see of the probe: its pools have the flag for timestamps, its commands without an event have one. README.md.
 * (3) What is known of handles is kept up while nothing is recorded, too. */
#include "level_zero/level_zero_calls.h"

#include <stdlib.h>
#include <string.h>

#include "common/activity.h"
#include "common/demangle.h"
#include "common/region_stack.h"
#include "level_zero/handle_table.h"
#include "level_zero/level_zero_work.h"

#define CORRELATION_FIRST (UINT64_C(1) << 51) /* apart from other runtimes', exact as a double */

/* Waits for lists came with version 1.6, and later headers declare this. */
typedef struct {
	ze_command_list_handle_t *phCommandList;
	uint64_t *ptimeout;
} ze_list_wait_params_t;

struct level_zero_target level_zero;
pthread_mutex_t level_zero_lock = PTHREAD_MUTEX_INITIALIZER;

enum call_id {
#define SEEN(group, name, type)		       CALL_##group##name,
#define KEPT(group, name, type, before, after) CALL_##group##name,
#define APPEND(name, type, event, description) CALL_CommandList##name,
#define QUIET(group, name, type, after)
#include "level_zero/level_zero_calls.def"
#undef SEEN
#undef KEPT
#undef APPEND
	N_CALLS
};

static const char *const call_names[N_CALLS] = {
#define SEEN(group, name, type)		       "ze" #group #name,
#define KEPT(group, name, type, before, after) "ze" #group #name,
#define APPEND(name, type, event, description) "zeCommandList" #name,
#include "level_zero/level_zero_calls.def"
#undef SEEN
#undef KEPT
#undef APPEND
#undef QUIET
};

static uint32_t call_classes[N_CALLS]; /* atomic */

/* The call that the thread is in. */
struct call {
	enum call_id id;
	struct record_slice *slice;
	uint64_t began;
	uint64_t correlation;
	ze_command_list_handle_t list; /* that gets a command; NULL: none that is followed */
	struct level_zero_command command;
	ze_event_pool_desc_t pool; /* as the driver gets it */
};

static TACHO_THREAD_LOCAL struct call current __attribute__((tls_model("initial-exec")));

/* --- calls ------------------------------------------------------------------------------------ */

/* The program's call, and not one of the probe's. */
static bool is_ours(void)
{
	return !tacho_writer.is_inside;
}

static uint32_t call_class(enum call_id id)
{
	uint32_t class_id = __atomic_load_n(&call_classes[id], __ATOMIC_RELAXED);

	if (!class_id) {
		class_id = tacho_class(TRACE_KIND_RUNTIME, call_names[id], strlen(call_names[id]));
		__atomic_store_n(&call_classes[id], class_id, __ATOMIC_RELAXED);
	}
	return class_id;
}

static void call_begin(enum call_id id, uint64_t correlation)
{
	current.id = id;
	current.list = NULL;
	current.correlation = correlation;
	current.slice = tacho_is_alive() && tacho_is_recording_all()
				? tacho_slice_begin(call_class(id), correlation)
				: NULL;
}

static void call_end(ze_result_t result)
{
	tacho_slice_finish(current.slice);
	if (current.slice && result != ZE_RESULT_SUCCESS && result != ZE_RESULT_NOT_READY)
		region_mark("Level Zero failed", call_names[current.id], (int64_t)result, "");
	current.slice = NULL;
}

static uint64_t next_correlation(void)
{
	static TACHO_THREAD_LOCAL uint64_t last __attribute__((tls_model("initial-exec")));

	return tacho_next_correlation(&last, CORRELATION_FIRST);
}

static struct call *work_begin(void)
{
	tacho_writer.is_inside++;
	pthread_mutex_lock(&level_zero_lock);
	return &current;
}

static void work_end(void)
{
	pthread_mutex_unlock(&level_zero_lock);
	tacho_writer.is_inside--;
}

/* --- kernels ---------------------------------------------------------------------------------- */

struct kernel {
	uint32_t class_id;
	uint32_t group[3];
};

static struct handle_table kernels;

static void kernel_gone(ze_kernel_handle_t handle)
{
	free(handle_table_take(&kernels, handle));
}

static void kernel_made(ze_kernel_handle_t handle, const char *name)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	kernel_gone(handle); /* one that went without a word */
	if (!kernel)
		return;
	if (name)
		kernel->class_id = demangled_class(TRACE_KIND_DEVICE_KERNEL, name, strlen(name));
	if (!handle_table_put(&kernels, handle, kernel))
		free(kernel);
}

static void kernel_sized(ze_kernel_handle_t handle, uint32_t x, uint32_t y, uint32_t z)
{
	struct kernel *kernel = handle_table_find(&kernels, handle);

	if (kernel)
		memcpy(kernel->group, (const uint32_t[3]){ x, y, z }, sizeof(kernel->group));
}

/* --- memory ----------------------------------------------------------------------------------- */

enum memory_kind { DEVICE, SHARED, HOST, N_MEMORY_KINDS };

static const char *const memory_names[N_MEMORY_KINDS] = { "Level Zero device memory",
							  "Level Zero shared memory",
							  "Level Zero host memory" };
static struct handle_table memory; /* of addresses: whose it is, as a number */

static void memory_made(enum memory_kind kind, ze_device_handle_t device, void *address,
			size_t size)
{
	int32_t number = level_zero_device_number(device);

	handle_table_put(&memory, address,
			 (void *)(uintptr_t)((uint32_t)(number + 2) * N_MEMORY_KINDS + kind));
	if (current.slice)
		tacho_device_memory(region_class(TRACE_KIND_DEVICE_ALLOC, NULL, memory_names[kind]),
				    number, (uint64_t)(uintptr_t)address, size);
}

static void memory_gone(const void *address)
{
	uint32_t whose = (uint32_t)(uintptr_t)handle_table_take(&memory, address);

	if (current.slice && whose)
		tacho_device_memory(region_class(TRACE_KIND_DEVICE_FREE, NULL,
						 memory_names[whose % N_MEMORY_KINDS]),
				    (int32_t)(whose / N_MEMORY_KINDS) - 2,
				    (uint64_t)(uintptr_t)address, 0);
}

/* The device on which it is; -1: the host, -2: not known, it moves. */
static int32_t where_is(ze_context_handle_t context, const void *address)
{
	ze_memory_allocation_properties_t properties = {
		.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES
	};
	ze_device_handle_t device = NULL;

	if (level_zero.zeMemGetAllocProperties(context, address, &properties, &device) !=
	    ZE_RESULT_SUCCESS)
		return -2;
	if (properties.type == ZE_MEMORY_TYPE_DEVICE)
		return device ? level_zero_device_number(device) : -2;
	return properties.type == ZE_MEMORY_TYPE_SHARED ? -2 : -1;
}

/* --- what commands are ------------------------------------------------------------------------ */

static void describe_wait(struct level_zero_command *command)
{
	command->kind = TRACE_KIND_DEVICE_WAIT;
	command->class_id = region_class(TRACE_KIND_DEVICE_WAIT, NULL, "barrier");
}

static uint64_t region_bytes(const ze_copy_region_t *region)
{
	return region ? (uint64_t)region->width * region->height *
				(region->depth ? region->depth : 1)
		      : 0;
}

/* `source_context` NULL: the list's. */
static void describe_copy(struct call *call, ze_context_handle_t source_context, const void *target,
			  const void *source, uint64_t bytes)
{
	ze_context_handle_t context = level_zero_list_context(level_zero_list_of(call->list));
	int32_t from = where_is(source_context ? source_context : context, source);
	int32_t to = where_is(context, target);
	struct level_zero_command *command = &call->command;

	command->kind = TRACE_KIND_COPY;
	command->class_id = region_class(TRACE_KIND_COPY, NULL, "Memcpy");
	command->bytes = bytes;
	if (from == -2 || to == -2)
		command->direction = TRACE_DIRECTION_UNKNOWN;
	else if (from < 0)
		command->direction = to < 0 ? TRACE_HOST_TO_HOST : TRACE_HOST_TO_DEVICE;
	else if (to < 0)
		command->direction = TRACE_DEVICE_TO_HOST;
	else
		command->direction = from == to ? TRACE_DEVICE_TO_DEVICE : TRACE_PEER_TO_PEER;
	if (command->direction == TRACE_PEER_TO_PEER)
		command->peer = to;
}

static void describe_image(struct level_zero_command *command, enum trace_direction direction)
{
	command->kind = TRACE_KIND_COPY;
	command->class_id = region_class(TRACE_KIND_COPY, NULL, "Memcpy");
	command->direction = direction;
}

static void describe_fill(struct level_zero_command *command, uint64_t bytes)
{
	command->kind = TRACE_KIND_FILL;
	command->class_id = region_class(TRACE_KIND_FILL, NULL, "Memset");
	command->bytes = bytes;
}

/* `groups` NULL: the device itself finds them out. */
static void describe_kernel(struct level_zero_command *command, ze_kernel_handle_t handle,
			    const ze_group_count_t *groups)
{
	const struct kernel *kernel = handle_table_find(&kernels, handle);

	command->kind = TRACE_KIND_DEVICE_KERNEL;
	command->class_id = kernel ? kernel->class_id : 0;
	if (!command->class_id)
		command->class_id =
			region_class(TRACE_KIND_DEVICE_KERNEL, NULL,
				     handle ? "Level Zero kernel" : "Level Zero kernels");
	if (kernel)
		memcpy(command->launch.block, kernel->group, sizeof(kernel->group));
	if (groups) {
		command->launch.grid[0] = groups->groupCountX;
		command->launch.grid[1] = groups->groupCountY;
		command->launch.grid[2] = groups->groupCountZ;
	}
}

/* --- commands --------------------------------------------------------------------------------- */

/* Where a command of the list is followed, it has an event; NULL: it is not. */
static struct level_zero_command *append_begin(struct call *call, ze_command_list_handle_t handle,
					       ze_event_handle_t *event)
{
	struct level_zero_list *list = call->slice ? level_zero_list_of(handle) : NULL;
	struct level_zero_event *ours = list ? level_zero_list_event(list, *event) : NULL;

	call->began = tacho_ticks();
	if (!ours)
		return NULL;
	*event = ours->handle;
	call->list = handle;
	call->command = (struct level_zero_command){ .peer = -1, .event = ours };
	if (!level_zero_list_is_immediate(list)) {
		call->command.node = call->correlation;
		tacho_graph_node(region_class(TRACE_KIND_GRAPH_NODE, NULL, "command list"),
				 call->correlation, 0);
	}
	return &call->command;
}

static void append_end(struct call *call, ze_result_t result)
{
	struct level_zero_list *list = call->list ? level_zero_list_of(call->list) : NULL;

	if (!list)
		return;
	if (result == ZE_RESULT_SUCCESS)
		level_zero_list_add(list, &call->command, call->correlation, call->began);
	else
		level_zero_event_give_back(call->command.event);
	level_zero_collect_some(list);
}

/* A command of the list is about to set or reset an event. */
static void list_changes(struct call *call, ze_command_list_handle_t handle,
			 ze_event_handle_t theirs)
{
	struct level_zero_list *list = level_zero_list_of(handle);
	struct level_zero_event *event = level_zero_event_of(theirs);

	if (!list || !event)
		return;
	if (level_zero_list_is_immediate(list))
		level_zero_event_settle(event, true);
	call->list = handle;
	call->command = (struct level_zero_command){ .event = event };
}

static void list_changed(struct call *call)
{
	struct level_zero_list *list = call->list ? level_zero_list_of(call->list) : NULL;

	if (list)
		level_zero_list_add(list, &call->command, 0, 0);
}

static void executed(struct call *call, ze_command_queue_handle_t handle, uint32_t n,
		     const ze_command_list_handle_t *lists)
{
	struct level_zero_queue *queue = level_zero_queue_of(handle);

	if (queue && call->slice)
		level_zero_executed(queue, n, lists, call->correlation, call->began);
}

static void queue_is_idle(struct call *call, ze_command_queue_handle_t handle)
{
	struct level_zero_queue *queue = level_zero_queue_of(handle);

	if (queue)
		level_zero_queue_idle(queue, call->began);
	level_zero_collect();
}

static void list_is_idle(struct call *call, ze_command_list_handle_t handle)
{
	struct level_zero_list *list = level_zero_list_of(handle);

	if (list)
		level_zero_list_idle(list, call->began);
	level_zero_collect();
}

/* --- events ----------------------------------------------------------------------------------- */

static void wants_times(ze_event_pool_create_params_t *params)
{
	if (!*params->pdesc)
		return;
	current.pool = **params->pdesc;
	current.pool.flags |= ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
	*params->pdesc = &current.pool;
}

/* It is set or reset by the host. */
static void event_changes(struct level_zero_event *event)
{
	if (event)
		level_zero_event_settle(event, true);
}

static void event_ends(ze_event_handle_t handle)
{
	event_changes(level_zero_event_of(handle));
	level_zero_event_gone(handle);
}

static void context_ends(ze_context_handle_t context)
{
	level_zero_work_finish(context);
	level_zero_context_gone(context);
}

/* --- the callbacks ---------------------------------------------------------------------------- */

#define PARAMETERS(type) ze_##type##_params_t *params, ze_result_t result, void *tracer, void **own

#define SEEN(group, name, type)                                                                    \
	static void ZE_APICALL before_##group##name(PARAMETERS(type))                              \
	{                                                                                          \
		(void)params, (void)result, (void)tracer, (void)own;                               \
		if (is_ours())                                                                     \
			call_begin(CALL_##group##name, 0);                                         \
	}                                                                                          \
	static void ZE_APICALL after_##group##name(PARAMETERS(type))                               \
	{                                                                                          \
		(void)params, (void)tracer, (void)own;                                             \
		if (is_ours())                                                                     \
			call_end(result);                                                          \
	}

#define KEPT(group, name, type, before, after)                                                     \
	static void ZE_APICALL before_##group##name(PARAMETERS(type))                              \
	{                                                                                          \
		struct call *call;                                                                 \
                                                                                                   \
		(void)params, (void)result, (void)tracer, (void)own;                               \
		if (!is_ours())                                                                    \
			return;                                                                    \
		call_begin(CALL_##group##name, next_correlation());                                \
		call = work_begin();                                                               \
		call->began = tacho_ticks();                                                       \
		before;                                                                            \
		work_end();                                                                        \
	}                                                                                          \
	static void ZE_APICALL after_##group##name(PARAMETERS(type))                               \
	{                                                                                          \
		struct call *call;                                                                 \
                                                                                                   \
		(void)params, (void)tracer, (void)own;                                             \
		if (!is_ours())                                                                    \
			return;                                                                    \
		call = work_begin();                                                               \
		(void)call;                                                                        \
		if (result == ZE_RESULT_SUCCESS) {                                                 \
			after;                                                                     \
		}                                                                                  \
		work_end();                                                                        \
		call_end(result);                                                                  \
	}

#define APPEND(name, type, event, description)                                                     \
	static void ZE_APICALL before_CommandList##name(PARAMETERS(type))                          \
	{                                                                                          \
		struct level_zero_command *command;                                                \
		struct call *call;                                                                 \
                                                                                                   \
		(void)result, (void)tracer, (void)own;                                             \
		if (!is_ours())                                                                    \
			return;                                                                    \
		call_begin(CALL_CommandList##name, next_correlation());                            \
		call = work_begin();                                                               \
		command = append_begin(call, *params->phCommandList, params->event);               \
		if (command) {                                                                     \
			description;                                                               \
		}                                                                                  \
		work_end();                                                                        \
	}                                                                                          \
	static void ZE_APICALL after_CommandList##name(PARAMETERS(type))                           \
	{                                                                                          \
		(void)params, (void)tracer, (void)own;                                             \
		if (!is_ours())                                                                    \
			return;                                                                    \
		tacho_slice_finish(current.slice);                                                 \
		append_end(work_begin(), result);                                                  \
		work_end();                                                                        \
		call_end(result);                                                                  \
	}

#define QUIET(group, name, type, after)                                                            \
	static void ZE_APICALL after_##group##name(PARAMETERS(type))                               \
	{                                                                                          \
		(void)tracer, (void)own;                                                           \
		if (!is_ours() || result != ZE_RESULT_SUCCESS)                                     \
			return;                                                                    \
		work_begin();                                                                      \
		after;                                                                             \
		work_end();                                                                        \
	}
#include "level_zero/level_zero_calls.def"
#undef SEEN
#undef KEPT
#undef APPEND
#undef QUIET

#define HOOK(group, name)                                                                          \
	{ "zelTracer" #group #name "RegisterCallback", before_##group##name, after_##group##name },
#define SEEN(group, name, type)		       HOOK(group, name)
#define KEPT(group, name, type, before, after) HOOK(group, name)
#define APPEND(name, type, event, description) HOOK(CommandList, name)
#define QUIET(group, name, type, after)                                                            \
	{ "zelTracer" #group #name "RegisterCallback", NULL, after_##group##name },
const struct level_zero_hook level_zero_hooks[] = {
#include "level_zero/level_zero_calls.def"
};
const int level_zero_n_hooks = sizeof(level_zero_hooks) / sizeof(*level_zero_hooks);

void level_zero_calls_finish(void)
{
	if (!is_ours())
		return;
	work_begin();
	level_zero_work_finish(NULL);
	work_end();
}

void level_zero_calls_after_fork(void)
{
	pthread_mutex_init(&level_zero_lock, NULL);
	kernels = memory = (struct handle_table){ 0 };
	level_zero_work_after_fork();
	level_zero_events_after_fork();
	level_zero_device_after_fork();
}
