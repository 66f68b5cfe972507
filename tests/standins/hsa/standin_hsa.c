/* standin_hsa: in place of libhsa-runtime64.so.1: two devices that work, signals that they count down, and the tables that tools get. Its clock
 * is CLOCK_MONOTONIC in ticks of 10 ns. STANDIN_TRUTH names a file that gets a line for each thing that a device did, "KIND QUEUE START END",
 * in nanoseconds. STANDIN_FAULTS is a list of what goes wrong:
 *
 *     late      who waits for a signal is called 20 ms after it
 *     zero      every 7th kernel has no times
 *     jump      the clock goes forward by 5 s after 50 kernels
 *     short     the tables are shorter than any tool expects
 *     signals   there are only 4 more signals */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "standin_hsa.h"

#define N_PENDING 4096
#define N_RING	  256
#define N_DEVICES 2

static struct hsa_core_table core;
static struct hsa_amd_table amd;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_kernels, n_signals;
static int is_up;

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

static uint64_t ticks_of(uint64_t ns)
{
	return (ns + (has_fault("jump") && n_kernels > 50 ? UINT64_C(5000000000) : 0)) / 10;
}

static void truth(const char *kind, uint64_t queue, uint64_t start, uint64_t end)
{
	static int fd = -1;
	if (fd < 0 && getenv("STANDIN_TRUTH"))
		fd = open(getenv("STANDIN_TRUTH"), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd >= 0 && dprintf(fd, "%s %llu %llu %llu\n", kind, (unsigned long long)queue,
			       (unsigned long long)start, (unsigned long long)end) < 0)
		abort();
}

/* --- signals -------------------------------------------------------------------------------- */

static amd_signal_t *at(hsa_signal_t signal)
{
	return (amd_signal_t *)(uintptr_t)signal.handle;
}

static hsa_status_t signal_create(hsa_signal_value_t value, uint32_t n, const hsa_agent_t *agents,
				  hsa_signal_t *ret)
{
	amd_signal_t *signal = aligned_alloc(64, (sizeof(*signal) + 63) & ~(size_t)63);

	(void)n, (void)agents;
	if (has_fault("signals") && ++n_signals > 8)
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	memset(signal, 0, sizeof(*signal));
	signal->kind = AMD_SIGNAL_KIND_USER;
	signal->value = value;
	ret->handle = (uint64_t)(uintptr_t)signal;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t signal_destroy(hsa_signal_t signal)
{
	free(at(signal));
	return HSA_STATUS_SUCCESS;
}

static void ring(hsa_signal_t bell, hsa_signal_value_t index);

static void signal_store(hsa_signal_t signal, hsa_signal_value_t value)
{
	if (at(signal)->kind == AMD_SIGNAL_KIND_DOORBELL)
		ring(signal, value);
	else
		__atomic_store_n(&at(signal)->value, value, __ATOMIC_SEQ_CST);
}

static void signal_subtract(hsa_signal_t signal, hsa_signal_value_t value)
{
	__atomic_sub_fetch(&at(signal)->value, value, __ATOMIC_SEQ_CST);
}

static hsa_signal_value_t signal_load(hsa_signal_t signal)
{
	return __atomic_load_n(&at(signal)->value, __ATOMIC_SEQ_CST);
}

static hsa_signal_value_t signal_wait(hsa_signal_t signal, hsa_signal_condition_t condition,
				      hsa_signal_value_t compared, uint64_t timeout,
				      hsa_wait_state_t state)
{
	(void)condition, (void)timeout, (void)state;
	while (signal_load(signal) >= compared)
		usleep(50);
	return signal_load(signal);
}

/* --- the runtime's thread ------------------------------------------------------------------- */

static struct pending {
	hsa_signal_t signal;
	uint64_t start, end;
} pending[N_PENDING];

static struct handler {
	hsa_signal_t signal;
	hsa_signal_value_t compared;
	bool (*function)(hsa_signal_value_t value, void *data);
	void *data;
	uint64_t ready_ns;
} handlers[N_PENDING];

static void finish(struct pending *one)
{
	bool is_zero = has_fault("zero") && ++n_kernels % 7 == 0;

	if (!has_fault("zero"))
		n_kernels++;
	at(one->signal)->start_ts = is_zero ? 0 : ticks_of(one->start);
	at(one->signal)->end_ts = is_zero ? 0 : ticks_of(one->end);
	signal_subtract(one->signal, 1);
	one->signal.handle = 0;
}

static void call(struct handler *handler)
{
	struct handler copy;

	pthread_mutex_lock(&lock);
	copy = *handler;
	pthread_mutex_unlock(&lock);
	if (!copy.function || signal_load(copy.signal) >= copy.compared)
		return;
	if (!handler->ready_ns)
		handler->ready_ns = now_ns() + (has_fault("late") ? 20000000 : 0);
	if (now_ns() < handler->ready_ns)
		return;
	pthread_mutex_lock(&lock);
	memset(handler, 0, sizeof(*handler)); /* it may be put in again by what it calls */
	pthread_mutex_unlock(&lock);
	if (copy.function(signal_load(copy.signal), copy.data))
		abort();
}

static void *work(void *unused)
{
	while (is_up) {
		uint64_t now = now_ns();

		pthread_mutex_lock(&lock);
		for (unsigned i = 0; i < N_PENDING; i++)
			if (pending[i].signal.handle && pending[i].end <= now)
				finish(&pending[i]);
		pthread_mutex_unlock(&lock);
		for (unsigned i = 0; i < N_PENDING; i++)
			if (handlers[i].function)
				call(&handlers[i]);
		usleep(100);
	}
	return unused;
}

static hsa_status_t async_handler(hsa_signal_t signal, hsa_signal_condition_t condition,
				  hsa_signal_value_t compared,
				  bool (*function)(hsa_signal_value_t, void *), void *data)
{
	unsigned i = 0;

	(void)condition;
	pthread_mutex_lock(&lock);
	while (i < N_PENDING && handlers[i].function)
		i++;
	if (i < N_PENDING)
		handlers[i] = (struct handler){ signal, compared, function, data, 0 };
	pthread_mutex_unlock(&lock);
	return i < N_PENDING ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static void add_pending(hsa_signal_t signal, uint64_t start, uint64_t end)
{
	unsigned i = 0;

	if (!signal.handle)
		return;
	pthread_mutex_lock(&lock);
	while (i < N_PENDING - 1 && pending[i].signal.handle)
		i++;
	pending[i] = (struct pending){ signal, start, end };
	pthread_mutex_unlock(&lock);
}

/* --- queues --------------------------------------------------------------------------------- */

struct queue {
	hsa_queue_t queue;
	hsa_kernel_dispatch_packet_t ring[N_RING];
	uint64_t n_written, n_seen, end;
	hsa_amd_queue_intercept_handler handler;
	void *data;
};

static _Thread_local struct queue *at_work;

static void execute(const void *packets, uint64_t n)
{
	const hsa_kernel_dispatch_packet_t *packet = packets;

	for (uint64_t i = 0; i < n; i++, packet++) {
		unsigned type = packet->header & 0xff;
		const struct standin_hsa_kernel *kernel =
			(const struct standin_hsa_kernel *)(uintptr_t)packet->kernel_object;
		uint64_t now = now_ns() + 2000, start = at_work->end > now ? at_work->end : now,
			 ns = type == HSA_PACKET_TYPE_KERNEL_DISPATCH ? kernel->ns : 1000;

		at_work->end = start + ns;
		add_pending(packet->completion_signal, start, start + ns);
		truth(type == HSA_PACKET_TYPE_KERNEL_DISPATCH ? "kernel" : "barrier",
		      at_work->queue.id, start, start + ns);
	}
}

static void ring(hsa_signal_t bell, hsa_signal_value_t index)
{
	struct queue *queue = (struct queue *)at(bell)->queue_ptr;

	while (queue->n_seen <= (uint64_t)index) {
		const void *packet = &queue->ring[queue->n_seen % N_RING];

		at_work = queue;
		if (queue->handler)
			queue->handler(packet, 1, queue->n_seen, queue->data, execute);
		else
			execute(packet, 1);
		queue->n_seen++;
	}
}

static hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
				 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
				 uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **ret)
{
	static uint64_t n_queues;
	struct queue *queue = calloc(1, sizeof(*queue));

	(void)agent, (void)size, (void)callback, (void)data, (void)private_bytes, (void)group_bytes;
	queue->queue.type = type;
	queue->queue.size = N_RING;
	queue->queue.base_address = queue->ring;
	queue->queue.id = n_queues++;
	signal_create(0, 0, NULL, &queue->queue.doorbell_signal);
	at(queue->queue.doorbell_signal)->kind = AMD_SIGNAL_KIND_DOORBELL;
	at(queue->queue.doorbell_signal)->queue_ptr = (amd_queue_t *)queue;
	*ret = &queue->queue;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t queue_destroy(hsa_queue_t *queue)
{
	(void)queue;
	return HSA_STATUS_SUCCESS;
}

static uint64_t add_write_index(const hsa_queue_t *queue, uint64_t n)
{
	return __atomic_fetch_add(&((struct queue *)queue)->n_written, n, __ATOMIC_SEQ_CST);
}

static hsa_status_t intercept(hsa_queue_t *queue, hsa_amd_queue_intercept_handler handler,
			      void *data)
{
	((struct queue *)queue)->handler = handler;
	((struct queue *)queue)->data = data;
	return HSA_STATUS_SUCCESS;
}

/* --- agents, memory, symbols, times ---------------------------------------------------------- */

static hsa_status_t iterate_agents(hsa_status_t (*function)(hsa_agent_t, void *), void *data)
{
	for (uint64_t i = 1; i <= 1 + N_DEVICES; i++)
		function((hsa_agent_t){ i }, data);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t agent_info(hsa_agent_t agent, hsa_agent_info_t what, void *value)
{
	if (what == HSA_AGENT_INFO_DEVICE)
		*(hsa_device_type_t *)value =
			agent.handle == 1 ? HSA_DEVICE_TYPE_CPU : HSA_DEVICE_TYPE_GPU;
	else if (what == HSA_AGENT_INFO_NAME)
		strcpy(value, "gfx90a");
	else if ((int)what == HSA_AMD_AGENT_INFO_PRODUCT_NAME)
		strcpy(value, "Stand-in MI250");
	else if ((int)what == HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT)
		*(uint32_t *)value = 104;
	else
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t iterate_pools(hsa_agent_t agent,
				  hsa_status_t (*function)(hsa_amd_memory_pool_t, void *),
				  void *data)
{
	return function((hsa_amd_memory_pool_t){ 100 + agent.handle }, data);
}

static hsa_status_t system_info(hsa_system_info_t what, void *value)
{
	*(uint64_t *)value = what == HSA_SYSTEM_INFO_TIMESTAMP ? ticks_of(now_ns()) : 100000000;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t bytes, uint32_t flags,
				  void **memory)
{
	(void)pool, (void)flags;
	*memory = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t pool_free(void *memory)
{
	free(memory);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t async_copy(void *target, hsa_agent_t target_agent, const void *source,
			       hsa_agent_t source_agent, size_t bytes, uint32_t n,
			       const hsa_signal_t *waited, hsa_signal_t signal)
{
	uint64_t start = now_ns() + 1000;

	(void)target_agent, (void)source_agent, (void)n, (void)waited;
	if (!bytes)
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	memcpy(target, source, bytes);
	add_pending(signal, start, start + 5000);
	truth("copy", 0, start, start + 5000);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t symbol_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what,
				void *value)
{
	const struct standin_hsa_kernel *kernel =
		(const struct standin_hsa_kernel *)(uintptr_t)symbol.handle;

	if (what == HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT)
		*(uint64_t *)value = symbol.handle;
	else if (what == HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH)
		*(uint32_t *)value = (uint32_t)strlen(kernel->name);
	else
		memcpy(value, kernel->name, strlen(kernel->name));
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
				  hsa_amd_profiling_dispatch_time_t *time)
{
	(void)agent;
	time->start = at(signal)->start_ts;
	time->end = at(signal)->end_ts;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t copy_time(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t *time)
{
	time->start = at(signal)->start_ts;
	time->end = at(signal)->end_ts;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t enable_copies(bool enable)
{
	(void)enable;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t enable_profiler(hsa_queue_t *queue, int enable)
{
	(void)queue, (void)enable;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t shut_down(void)
{
	is_up = 0;
	return HSA_STATUS_SUCCESS;
}

/* --- what programs call ----------------------------------------------------------------------- */

/* AMD declares these two without parameters */
hsa_status_t hsa_init(void);
hsa_status_t hsa_shut_down(void);

static void load_tools(void)
{
	static struct hsa_tables tables = { .head = { 1, sizeof(tables), 0, 0 },
					    .core = &core,
					    .amd = &amd };
	const char *tool = getenv("HSA_TOOLS_LIB");
	void *library =
		tool && *tool ? dlopen(strcmp(tool, "INSIDE") ? tool : NULL, RTLD_LAZY) : NULL;
	bool (*load)(struct hsa_tables *, uint64_t, uint64_t, const char *const *) = NULL;

	if (library)
		*(void **)&load = dlsym(library, "OnLoad");
	if (load && !load(&tables, 1, 0, NULL))
		dlclose(library);
}

hsa_status_t hsa_init(void)
{
	pthread_t thread;

	core = (struct hsa_core_table){
		.head = { 1, has_fault("short") ? 64 : sizeof(core), 0, 0 },
		.hsa_shut_down = shut_down,
		.hsa_system_get_info = system_info,
		.hsa_iterate_agents = iterate_agents,
		.hsa_agent_get_info = agent_info,
		.hsa_queue_create = queue_create,
		.hsa_queue_destroy = queue_destroy,
		.hsa_queue_add_write_index_screlease = add_write_index,
		.hsa_signal_create = signal_create,
		.hsa_signal_destroy = signal_destroy,
		.hsa_signal_load_relaxed = signal_load,
		.hsa_signal_store_relaxed = signal_store,
		.hsa_signal_store_screlease = signal_store,
		.hsa_signal_wait_scacquire = signal_wait,
		.hsa_signal_wait_relaxed = signal_wait,
		.hsa_signal_subtract_screlease = signal_subtract,
		.hsa_executable_symbol_get_info = symbol_info,
	};
	amd = (struct hsa_amd_table){
		.head = { 1, sizeof(amd), 0, 0 },
		.hsa_amd_profiling_set_profiler_enabled = enable_profiler,
		.hsa_amd_profiling_async_copy_enable = enable_copies,
		.hsa_amd_profiling_get_dispatch_time = dispatch_time,
		.hsa_amd_profiling_get_async_copy_time = copy_time,
		.hsa_amd_signal_async_handler = async_handler,
		.hsa_amd_agent_iterate_memory_pools = iterate_pools,
		.hsa_amd_memory_pool_allocate = pool_allocate,
		.hsa_amd_memory_pool_free = pool_free,
		.hsa_amd_memory_async_copy = async_copy,
		.hsa_amd_queue_intercept_create = queue_create,
		.hsa_amd_queue_intercept_register = intercept,
	};
	is_up = 1;
	pthread_create(&thread, NULL, work, NULL);
	pthread_detach(thread);
	load_tools();
	return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_shut_down(void)
{
	return core.hsa_shut_down();
}

hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
			      void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
			      uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue)
{
	return core.hsa_queue_create(agent, size, type, callback, data, private_bytes, group_bytes,
				     queue);
}

hsa_status_t hsa_queue_destroy(hsa_queue_t *queue)
{
	return core.hsa_queue_destroy(queue);
}

uint64_t hsa_queue_add_write_index_screlease(const hsa_queue_t *queue, uint64_t n)
{
	return core.hsa_queue_add_write_index_screlease(queue, n);
}

hsa_status_t hsa_signal_create(hsa_signal_value_t value, uint32_t n, const hsa_agent_t *agents,
			       hsa_signal_t *signal)
{
	return core.hsa_signal_create(value, n, agents, signal);
}

void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value)
{
	core.hsa_signal_store_screlease(signal, value);
}

hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition,
					     hsa_signal_value_t compared, uint64_t timeout,
					     hsa_wait_state_t state)
{
	return core.hsa_signal_wait_scacquire(signal, condition, compared, timeout, state);
}

hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t symbol,
					    hsa_executable_symbol_info_t what, void *value)
{
	return core.hsa_executable_symbol_get_info(symbol, what, value);
}

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t bytes, uint32_t flags,
					  void **memory)
{
	return amd.hsa_amd_memory_pool_allocate(pool, bytes, flags, memory);
}

hsa_status_t hsa_amd_memory_pool_free(void *memory)
{
	return amd.hsa_amd_memory_pool_free(memory);
}

hsa_status_t hsa_amd_memory_async_copy(void *target, hsa_agent_t target_agent, const void *source,
				       hsa_agent_t source_agent, size_t bytes, uint32_t n,
				       const hsa_signal_t *waited, hsa_signal_t signal)
{
	return amd.hsa_amd_memory_async_copy(target, target_agent, source, source_agent, bytes, n,
					     waited, signal);
}

hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
						 hsa_amd_profiling_dispatch_time_t *time)
{
	return amd.hsa_amd_profiling_get_dispatch_time(agent, signal, time);
}
