/* standin_level_zero: a driver of Level Zero for the real loader (ZE_ENABLE_ALT_DRIVERS): two devices that do nothing but take time. A kernel takes
 * as many nanoseconds as its name ends in, a copy one a byte, a fill half of it, a barrier 500. The timer has 19.2 MHz, 36 bits, and times of kernels 32, which
 * begin again 2 ms after the start. STANDIN_TRUTH names a file that gets a line for each thing that a device did, "KIND START END", in nanoseconds of
 * CLOCK_MONOTONIC. STANDIN_FAULTS is a list of what goes wrong:
 *
 *     late       times are there 20 ms after the event is signalled
 *     zero       every 7th kernel has no times
 *     never      every 7th kernel does not signal its event
 *     jump       the timer goes forward by 5 s after 50 kernels
 *     fails      every 5th command cannot be appended
 *     noclock    the timer cannot be read
 *     noevents   there is no pool of events with timestamps */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#define HZ	   UINT64_C(19200000)
#define TIMER_BITS 36
#define TIME_BITS  32
#define N_SIGNALS  16
#define LATE_NS	   20000000
#define GIVE_UP_NS 50000000 /* waits for events that faults have left unsignalled */

struct signal {
	uint64_t ready_ns, start, end;
	bool is_reset;
};

struct _ze_event_pool_handle_t {
	bool has_times;
};

struct _ze_event_handle_t {
	bool has_times;
	struct signal signals[N_SIGNALS];
	unsigned n;
};

struct _ze_kernel_handle_t {
	uint64_t ns;
	uint32_t group;
};

enum kind { KERNEL, COPY, FILL, BARRIER, SIGNAL, RESET };

struct command {
	enum kind kind;
	uint64_t ns;
	ze_event_handle_t event;
};

struct _ze_command_queue_handle_t {
	uint64_t free_ns;
};

struct _ze_command_list_handle_t {
	struct _ze_command_queue_handle_t queue; /* of an immediate one */
	bool is_immediate;
	struct command *commands;
	unsigned n;
};

struct _ze_device_handle_t {
	int number;
};

struct block {
	struct block *next;
	void *address;
	size_t size;
	ze_memory_type_t type;
	ze_device_handle_t device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct _ze_device_handle_t devices[2] = { { 0 }, { 1 } };
static struct block *blocks;
static unsigned n_kernels, n_appended;
static uint64_t started_ns;
static int some_thing; /* behind handles of what has nothing */

static bool is_faulty(void)
{
	const char *faults = getenv("STANDIN_FAULTS");

	return faults && *faults;
}

static bool has_fault(const char *fault)
{
	const char *faults = getenv("STANDIN_FAULTS");

	return faults && strstr(faults, fault);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t timer_at(uint64_t ns)
{
	uint64_t since = ns - started_ns;

	if (has_fault("jump") && n_kernels > 50)
		since += UINT64_C(5000000000);
	return (UINT64_C(5) << TIME_BITS) - HZ / 500 +
	       (uint64_t)((unsigned __int128)since * HZ / 1000000000u);
}

static void truth(const char *kind, uint64_t start, uint64_t end)
{
	static int fd = -1;

	if (fd < 0 && getenv("STANDIN_TRUTH"))
		fd = open(getenv("STANDIN_TRUTH"), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd >= 0 && dprintf(fd, "%s %llu %llu\n", kind, (unsigned long long)start,
			       (unsigned long long)end) < 0)
		abort();
}

/* --- what devices do -------------------------------------------------------------------------- */

static void set_event(ze_event_handle_t event, struct signal signal)
{
	if (event->n == N_SIGNALS)
		memmove(event->signals, event->signals + 1, --event->n * sizeof(*event->signals));
	event->signals[event->n++] = signal;
}

static void run(struct _ze_command_queue_handle_t *queue, const struct command *command)
{
	static const char *const words[] = { "kernel", "copy", "fill", "barrier" };
	uint64_t start = now_ns() + 2000, end;
	struct signal signal = { 0 };
	bool is_seventh = command->kind == KERNEL && ++n_kernels % 7 == 0;

	if (start < queue->free_ns + 1000)
		start = queue->free_ns + 1000;
	end = start + command->ns;
	queue->free_ns = end;
	signal.ready_ns = end;
	signal.is_reset = command->kind == RESET;
	if (!is_seventh || !has_fault("zero")) {
		signal.start = timer_at(start) & ((UINT64_C(1) << TIME_BITS) - 1);
		signal.end = timer_at(end) & ((UINT64_C(1) << TIME_BITS) - 1);
	}
	if (command->event && !(is_seventh && has_fault("never")))
		set_event(command->event, signal);
	if (command->kind < SIGNAL)
		truth(words[command->kind], start, end);
}

/* The last that was signalled; NULL: nothing, or it was reset. */
static const struct signal *state_of(ze_event_handle_t event)
{
	const struct signal *last = NULL;

	for (unsigned i = 0; i < event->n; i++)
		if (event->signals[i].ready_ns <= now_ns())
			last = &event->signals[i];
	return last && !last->is_reset ? last : NULL;
}

static ze_result_t append(ze_command_list_handle_t list, enum kind kind, uint64_t ns,
			  ze_event_handle_t event)
{
	const struct command command = { kind, ns, event };
	ze_result_t result = ZE_RESULT_SUCCESS;

	pthread_mutex_lock(&lock);
	if (has_fault("fails") && ++n_appended % 5 == 0) {
		result = ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	} else if (list->is_immediate) {
		run(&list->queue, &command);
	} else {
		list->commands = realloc(list->commands, (list->n + 1) * sizeof(*list->commands));
		list->commands[list->n++] = command;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static ze_result_t wait_until(uint64_t ns)
{
	while (now_ns() < ns)
		usleep(20);
	return ZE_RESULT_SUCCESS;
}

/* --- Level Zero's functions ------------------------------------------------------------------- */

static ze_result_t init(ze_init_flags_t flags)
{
	(void)flags;
	if (!started_ns)
		started_ns = now_ns();
	return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_get(uint32_t *n, ze_driver_handle_t *drivers)
{
	if (drivers && *n)
		drivers[0] = (ze_driver_handle_t)&some_thing;
	*n = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get(ze_driver_handle_t driver, uint32_t *n, ze_device_handle_t *handles)
{
	(void)driver;
	for (uint32_t i = 0; handles && i < *n && i < 2; i++)
		handles[i] = &devices[i];
	*n = 2;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get_properties(ze_device_handle_t device, ze_device_properties_t *answer)
{
	answer->coreClockRate = 1600;
	answer->physicalEUSimdWidth = 8;
	answer->numEUsPerSubslice = 8;
	answer->numSubslicesPerSlice = 4;
	answer->numSlices = 2;
	answer->timerResolution =
		answer->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? HZ : 1000000000u / HZ;
	answer->timestampValidBits = TIMER_BITS;
	answer->kernelTimestampValidBits = TIME_BITS;
	snprintf(answer->name, sizeof(answer->name), "Stand-in Max %d", device->number);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get_timestamps(ze_device_handle_t device, uint64_t *host, uint64_t *timer)
{
	(void)device;
	if (has_fault("noclock"))
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	*host = now_ns();
	*timer = timer_at(*host) & ((UINT64_C(1) << TIMER_BITS) - 1);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t context_create(ze_driver_handle_t driver, const ze_context_desc_t *wanted,
				  ze_context_handle_t *context)
{
	(void)driver, (void)wanted;
	*context = (ze_context_handle_t)&some_thing;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t context_destroy(ze_context_handle_t context)
{
	(void)context;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_create(ze_context_handle_t context, ze_device_handle_t device,
				const ze_command_queue_desc_t *wanted,
				ze_command_queue_handle_t *queue)
{
	(void)context, (void)device, (void)wanted;
	*queue = calloc(1, sizeof(**queue));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_destroy(ze_command_queue_handle_t queue)
{
	free(queue);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_execute(ze_command_queue_handle_t queue, uint32_t n,
				 ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
	(void)fence;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n; i++)
		for (unsigned c = 0; c < lists[i]->n; c++)
			run(queue, &lists[i]->commands[c]);
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_synchronize(ze_command_queue_handle_t queue, uint64_t timeout)
{
	(void)timeout;
	return wait_until(queue->free_ns);
}

static ze_result_t list_create(ze_context_handle_t context, ze_device_handle_t device,
			       const ze_command_list_desc_t *wanted, ze_command_list_handle_t *list)
{
	(void)context, (void)device, (void)wanted;
	*list = calloc(1, sizeof(**list));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_create_immediate(ze_context_handle_t context, ze_device_handle_t device,
					 const ze_command_queue_desc_t *wanted,
					 ze_command_list_handle_t *list)
{
	list_create(context, device, NULL, list);
	(*list)->is_immediate = true;
	(void)wanted;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_destroy(ze_command_list_handle_t list)
{
	free(list->commands);
	free(list);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_close(ze_command_list_handle_t list)
{
	(void)list;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_reset(ze_command_list_handle_t list)
{
	list->n = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
				 const ze_group_count_t *groups, ze_event_handle_t event,
				 uint32_t n, ze_event_handle_t *waited)
{
	(void)groups, (void)n, (void)waited;
	return append(list, KERNEL, kernel->ns, event);
}

static ze_result_t append_copy(ze_command_list_handle_t list, void *target, const void *source,
			       size_t size, ze_event_handle_t event, uint32_t n,
			       ze_event_handle_t *waited)
{
	(void)n, (void)waited;
	memcpy(target, source, size);
	return append(list, COPY, size, event);
}

static ze_result_t append_fill(ze_command_list_handle_t list, void *target, const void *pattern,
			       size_t pattern_size, size_t size, ze_event_handle_t event,
			       uint32_t n, ze_event_handle_t *waited)
{
	(void)pattern_size, (void)n, (void)waited;
	memset(target, *(const char *)pattern, size);
	return append(list, FILL, size / 2, event);
}

static ze_result_t append_barrier(ze_command_list_handle_t list, ze_event_handle_t event,
				  uint32_t n, ze_event_handle_t *waited)
{
	(void)n, (void)waited;
	return append(list, BARRIER, 500, event);
}

static ze_result_t append_signal(ze_command_list_handle_t list, ze_event_handle_t event)
{
	return append(list, SIGNAL, 100, event);
}

static ze_result_t append_reset(ze_command_list_handle_t list, ze_event_handle_t event)
{
	return append(list, RESET, 100, event);
}

static ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *wanted,
			       uint32_t n, ze_device_handle_t *handles,
			       ze_event_pool_handle_t *pool)
{
	bool has_times = wanted->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;

	(void)context, (void)n, (void)handles;
	if (has_times && wanted->count > 200 && has_fault("noevents"))
		return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	*pool = calloc(1, sizeof(**pool));
	(*pool)->has_times = has_times;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(ze_event_pool_handle_t pool)
{
	free(pool);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *wanted,
				ze_event_handle_t *event)
{
	(void)wanted;
	*event = calloc(1, sizeof(**event));
	(*event)->has_times = pool->has_times;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_destroy(ze_event_handle_t event)
{
	/* a queue may still signal it: what is in flight is the program's fault, and not to be ours */
	(void)event;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_query(ze_event_handle_t event)
{
	const struct signal *state;

	pthread_mutex_lock(&lock);
	state = state_of(event);
	pthread_mutex_unlock(&lock);
	return state ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t event_synchronize(ze_event_handle_t event, uint64_t timeout)
{
	uint64_t began = now_ns();

	(void)timeout;
	while (event_query(event) != ZE_RESULT_SUCCESS) {
		if (is_faulty() && now_ns() - began > GIVE_UP_NS)
			return ZE_RESULT_ERROR_DEVICE_LOST;
		usleep(20);
	}
	return ZE_RESULT_SUCCESS;
}

/* What is signalled already; what is on its way stays so. */
static ze_result_t event_reset(ze_event_handle_t event)
{
	unsigned kept = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < event->n; i++)
		if (event->signals[i].ready_ns > now_ns())
			event->signals[kept++] = event->signals[i];
	event->n = kept;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_signal(ze_event_handle_t event)
{
	pthread_mutex_lock(&lock);
	set_event(event, (struct signal){ .ready_ns = now_ns() });
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_query_times(ze_event_handle_t event, ze_kernel_timestamp_result_t *times)
{
	const struct signal *state;
	ze_result_t result = ZE_RESULT_NOT_READY;

	if (!event->has_times)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&lock);
	state = state_of(event);
	if (state && (!has_fault("late") || state->ready_ns + LATE_NS <= now_ns())) {
		times->global.kernelStart = times->context.kernelStart = state->start;
		times->global.kernelEnd = times->context.kernelEnd = state->end;
		result = ZE_RESULT_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device,
				 const ze_module_desc_t *wanted, ze_module_handle_t *module,
				 ze_module_build_log_handle_t *messages)
{
	(void)context, (void)device, (void)wanted, (void)messages;
	*module = (ze_module_handle_t)&some_thing;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t module_destroy(ze_module_handle_t module)
{
	(void)module;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_create(ze_module_handle_t module, const ze_kernel_desc_t *wanted,
				 ze_kernel_handle_t *kernel)
{
	const char *number = strrchr(wanted->pKernelName, '_');

	(void)module;
	*kernel = calloc(1, sizeof(**kernel));
	(*kernel)->ns = number ? strtoul(number + 1, NULL, 10) : 1000;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_destroy(ze_kernel_handle_t kernel)
{
	free(kernel);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_set_size(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
	kernel->group = x * y * z;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t allocate(size_t size, ze_memory_type_t type, ze_device_handle_t device,
			    void **address)
{
	struct block *block = calloc(1, sizeof(*block));

	*block = (struct block){
		.address = calloc(1, size), .size = size, .type = type, .device = device
	};
	*address = block->address;
	pthread_mutex_lock(&lock);
	block->next = blocks;
	blocks = block;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t alloc_device(ze_context_handle_t context,
				const ze_device_mem_alloc_desc_t *wanted, size_t size,
				size_t alignment, ze_device_handle_t device, void **address)
{
	(void)context, (void)wanted, (void)alignment;
	return allocate(size, ZE_MEMORY_TYPE_DEVICE, device, address);
}

static ze_result_t alloc_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *wanted,
			      size_t size, size_t alignment, void **address)
{
	(void)context, (void)wanted, (void)alignment;
	return allocate(size, ZE_MEMORY_TYPE_HOST, NULL, address);
}

static ze_result_t alloc_shared(ze_context_handle_t context,
				const ze_device_mem_alloc_desc_t *wanted,
				const ze_host_mem_alloc_desc_t *host, size_t size, size_t alignment,
				ze_device_handle_t device, void **address)
{
	(void)context, (void)wanted, (void)host, (void)alignment;
	return allocate(size, ZE_MEMORY_TYPE_SHARED, device, address);
}

static ze_result_t mem_free(ze_context_handle_t context, void *address)
{
	(void)context;
	pthread_mutex_lock(&lock);
	for (struct block **at = &blocks; *at; at = &(*at)->next)
		if ((*at)->address == address) {
			struct block *block = *at;

			*at = block->next;
			free(block->address);
			free(block);
			break;
		}
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_properties(ze_context_handle_t context, const void *address,
				  ze_memory_allocation_properties_t *answer,
				  ze_device_handle_t *device)
{
	(void)context;
	answer->type = ZE_MEMORY_TYPE_UNKNOWN;
	if (device)
		*device = NULL;
	pthread_mutex_lock(&lock);
	for (const struct block *block = blocks; block; block = block->next)
		if ((const char *)address >= (const char *)block->address &&
		    (const char *)address < (const char *)block->address + block->size) {
			answer->type = block->type;
			if (device)
				*device = block->device;
		}
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

/* --- the tables ------------------------------------------------------------------------------- */

#define TABLE(prefix, name, type, ...)                                                             \
	__attribute__((visibility("default")))                                                     \
	ze_result_t prefix##Get##name##ProcAddrTable(ze_api_version_t version, type *table)        \
	{                                                                                          \
		(void)version;                                                                     \
		*table = (type){ __VA_ARGS__ };                                                    \
		return ZE_RESULT_SUCCESS;                                                          \
	}
TABLE(ze, Global, ze_global_dditable_t, .pfnInit = init)
TABLE(ze, Driver, ze_driver_dditable_t, .pfnGet = driver_get)
TABLE(ze, Device, ze_device_dditable_t, .pfnGet = device_get,
      .pfnGetProperties = device_get_properties, .pfnGetGlobalTimestamps = device_get_timestamps)
TABLE(ze, Context, ze_context_dditable_t, .pfnCreate = context_create,
      .pfnDestroy = context_destroy)
TABLE(ze, CommandQueue, ze_command_queue_dditable_t, .pfnCreate = queue_create,
      .pfnDestroy = queue_destroy, .pfnExecuteCommandLists = queue_execute,
      .pfnSynchronize = queue_synchronize)
TABLE(ze, CommandList, ze_command_list_dditable_t, .pfnCreate = list_create,
      .pfnCreateImmediate = list_create_immediate, .pfnDestroy = list_destroy,
      .pfnClose = list_close, .pfnReset = list_reset, .pfnAppendLaunchKernel = append_kernel,
      .pfnAppendMemoryCopy = append_copy, .pfnAppendMemoryFill = append_fill,
      .pfnAppendBarrier = append_barrier, .pfnAppendSignalEvent = append_signal,
      .pfnAppendEventReset = append_reset)
TABLE(ze, EventPool, ze_event_pool_dditable_t, .pfnCreate = pool_create, .pfnDestroy = pool_destroy)
TABLE(ze, Event, ze_event_dditable_t, .pfnCreate = event_create, .pfnDestroy = event_destroy,
      .pfnHostSignal = event_signal, .pfnHostSynchronize = event_synchronize,
      .pfnQueryStatus = event_query, .pfnHostReset = event_reset,
      .pfnQueryKernelTimestamp = event_query_times)
TABLE(ze, Module, ze_module_dditable_t, .pfnCreate = module_create, .pfnDestroy = module_destroy)
TABLE(ze, Kernel, ze_kernel_dditable_t, .pfnCreate = kernel_create, .pfnDestroy = kernel_destroy,
      .pfnSetGroupSize = kernel_set_size)
TABLE(ze, Mem, ze_mem_dditable_t, .pfnAllocDevice = alloc_device, .pfnAllocHost = alloc_host,
      .pfnAllocShared = alloc_shared, .pfnFree = mem_free, .pfnGetAllocProperties = mem_properties)

/* the loader wants all of them */
#define NOTHING(prefix, name, type) TABLE(prefix, name, type, NULL)
NOTHING(ze, DeviceExp, ze_device_exp_dditable_t)
NOTHING(ze, Image, ze_image_dditable_t)
NOTHING(ze, ImageExp, ze_image_exp_dditable_t)
NOTHING(ze, Fence, ze_fence_dditable_t)
NOTHING(ze, EventExp, ze_event_exp_dditable_t)
NOTHING(ze, ModuleBuildLog, ze_module_build_log_dditable_t)
NOTHING(ze, KernelExp, ze_kernel_exp_dditable_t)
NOTHING(ze, Sampler, ze_sampler_dditable_t)
NOTHING(ze, PhysicalMem, ze_physical_mem_dditable_t)
NOTHING(ze, VirtualMem, ze_virtual_mem_dditable_t)
NOTHING(ze, FabricVertexExp, ze_fabric_vertex_exp_dditable_t)
NOTHING(ze, FabricEdgeExp, ze_fabric_edge_exp_dditable_t)
NOTHING(zet, Device, zet_device_dditable_t)
NOTHING(zet, Context, zet_context_dditable_t)
NOTHING(zet, CommandList, zet_command_list_dditable_t)
NOTHING(zet, Module, zet_module_dditable_t)
NOTHING(zet, Kernel, zet_kernel_dditable_t)
NOTHING(zet, MetricGroup, zet_metric_group_dditable_t)
NOTHING(zet, MetricGroupExp, zet_metric_group_exp_dditable_t)
NOTHING(zet, Metric, zet_metric_dditable_t)
NOTHING(zet, MetricStreamer, zet_metric_streamer_dditable_t)
NOTHING(zet, MetricQueryPool, zet_metric_query_pool_dditable_t)
NOTHING(zet, MetricQuery, zet_metric_query_dditable_t)
NOTHING(zet, TracerExp, zet_tracer_exp_dditable_t)
NOTHING(zet, Debug, zet_debug_dditable_t)
NOTHING(zes, Driver, zes_driver_dditable_t)
NOTHING(zes, Device, zes_device_dditable_t)
NOTHING(zes, Scheduler, zes_scheduler_dditable_t)
NOTHING(zes, PerformanceFactor, zes_performance_factor_dditable_t)
NOTHING(zes, Power, zes_power_dditable_t)
NOTHING(zes, Frequency, zes_frequency_dditable_t)
NOTHING(zes, Engine, zes_engine_dditable_t)
NOTHING(zes, Standby, zes_standby_dditable_t)
NOTHING(zes, Firmware, zes_firmware_dditable_t)
NOTHING(zes, Memory, zes_memory_dditable_t)
NOTHING(zes, FabricPort, zes_fabric_port_dditable_t)
NOTHING(zes, Temperature, zes_temperature_dditable_t)
NOTHING(zes, Psu, zes_psu_dditable_t)
NOTHING(zes, Fan, zes_fan_dditable_t)
NOTHING(zes, Led, zes_led_dditable_t)
NOTHING(zes, Ras, zes_ras_dditable_t)
NOTHING(zes, Diagnostics, zes_diagnostics_dditable_t)
