/* Plays rocprofiler-sdk: contexts, callbacks, buffers, and the tools that ROCP_TOOL_LIBRARIES names. STANDIN_FAULTS names what it does wrong. */
#include "standin_sdk.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_CONTEXTS 16
#define N_BUFFERS  16
#define N_TOOLS	   4
#define CAPACITY   65536

static struct buffer {
	pthread_mutex_t lock;
	rocp_buffer_told *told;
	void *data;
	size_t bytes, watermark, used, n;
	uint64_t n_dropped;
	struct rocp_header *headers[CAPACITY];
} buffers[N_BUFFERS + 1];
static struct context {
	bool is_on;
	void *told[N_KINDS], *data[N_KINDS];
	rocp_handle buffer[N_KINDS];
} contexts[N_CONTEXTS + 1];
static rocp_handle n_contexts, n_buffers;
static struct rocp_tool *tools[N_TOOLS];
static int n_tools;
static uint64_t n_records;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

bool standin_fault(const char *name)
{
	const char *faults = getenv("STANDIN_FAULTS");
	const char *at = faults ? strstr(faults, name) : NULL;

	return at && (at == faults || at[-1] == ',') &&
	       (at[strlen(name)] == '\0' || at[strlen(name)] == ',');
}

uint64_t standin_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- kinds ---------------------------------------------------------------------------------- */

static const char *const kind_names[N_KINDS] = {
	[KIND_NONE] = "NONE",
	[KIND_HSA_CORE] = "HSA_CORE_API",
	[KIND_HIP] = "HIP_RUNTIME_API",
	[KIND_MARKER] = "MARKER_CORE_API",
	[KIND_COPY] = "MEMORY_COPY",
	[KIND_KERNEL] = "KERNEL_DISPATCH",
#if MAJOR == 0
	[KIND_PAGE_MIGRATION] = "PAGE_MIGRATION",
#endif
	[KIND_SCRATCH] = "SCRATCH_MEMORY",
	[KIND_CODE] = "CODE_OBJECT",
	[KIND_RCCL] = "RCCL_API",
	[KIND_MEMORY] = "MEMORY_ALLOCATION",
};

#define SDK(name, ...)                                                                             \
	int rocprofiler_##name(__VA_ARGS__) __attribute__((visibility("default")));                \
	int rocprofiler_##name(__VA_ARGS__)

SDK(iterate_buffer_tracing_kinds, rocp_kind_told *told, void *data)
{
	for (int32_t kind = 0; kind < N_KINDS; kind++)
		told(kind, data);
	return ROCP_SUCCESS;
}

SDK(iterate_callback_tracing_kinds, rocp_kind_told *told, void *data)
{
	return rocprofiler_iterate_buffer_tracing_kinds(told, data);
}

SDK(query_buffer_tracing_kind_name, int32_t kind, const char **name, uint64_t *length)
{
	*name = kind_names[kind];
	*length = strlen(*name);
	return ROCP_SUCCESS;
}

SDK(query_callback_tracing_kind_name, int32_t kind, const char **name, uint64_t *length)
{
	return rocprofiler_query_buffer_tracing_kind_name(kind, name, length);
}

SDK(query_callback_tracing_kind_operation_name, int32_t kind, int32_t operation, const char **name,
    uint64_t *length)
{
	static const char *const hip[N_HIP_CALLS] = { "hipMalloc", "hipFree", "hipMemcpyAsync",
						      "hipLaunchKernel", "hipDeviceSynchronize" };

	if (kind == KIND_RCCL)
		*name = "ncclAllReduce";
	else if (kind == KIND_HSA_CORE)
		*name = "hsa_signal_store_screlease";
	else if (kind == KIND_HIP && operation >= 0 && operation < N_HIP_CALLS)
		*name = hip[operation];
	else
		return 5; /* OPERATION_NOT_FOUND */
	*length = strlen(*name);
	return ROCP_SUCCESS;
}

SDK(get_timestamp, uint64_t *ns)
{
	static uint64_t n_asked;

	*ns = standin_ns();
	/* at the start, and at each buffer, it is read nine times */
	if (standin_fault("jump") && __atomic_add_fetch(&n_asked, 1, __ATOMIC_RELAXED) > 18)
		*ns += 3000000000u;
	return ROCP_SUCCESS;
}

SDK(query_available_agents, int32_t version, rocp_agents_told *told, size_t agent_size, void *data)
{
	static struct rocp_agent host = { .size = sizeof(host),
					  .id = HOST,
					  .type = ROCP_AGENT_CPU },
				 gpus[2];
	const void *agents[] = { &host, &gpus[0], &gpus[1] };

	if (version != ROCP_AGENT_VERSION || agent_size > sizeof(host))
		return 18; /* INCOMPATIBLE_ABI */
	for (int i = 0; i < 2; i++)
		gpus[i] = (struct rocp_agent){ .size = sizeof(host),
					       .id = GPU_0 + (rocp_handle)i,
					       .type = ROCP_AGENT_GPU,
					       .n_compute_units = 304,
					       .wave_threads = 64,
					       .workgroup_max = 1024,
					       .clock_mhz = 2100,
					       .lds_kilobytes = 64,
					       .local_bytes = UINT64_C(192) << 30,
					       .name = "gfx942",
					       .product = "Stand-in MI300X" };
	return told(version, agents, 3, data);
}

/* --- contexts ------------------------------------------------------------------------------- */

SDK(create_context, rocp_handle *context)
{
	if (n_contexts == N_CONTEXTS || standin_fault("nocontext"))
		return 1;
	*context = ++n_contexts;
	return ROCP_SUCCESS;
}

SDK(start_context, rocp_handle context)
{
	contexts[context].is_on = true;
	return ROCP_SUCCESS;
}

SDK(stop_context, rocp_handle context)
{
	contexts[context].is_on = false;
	return ROCP_SUCCESS;
}

SDK(configure_callback_tracing_service, rocp_handle context, int32_t kind,
    const int32_t *operations, size_t n_operations, void *told, void *data)
{
	(void)operations, (void)n_operations;
	contexts[context].told[kind] = told;
	contexts[context].data[kind] = data;
	return ROCP_SUCCESS;
}

void standin_sdk_call(int kind, int operation, int phase, uint64_t correlation, void *payload)
{
	for (rocp_handle i = 1; i <= n_contexts; i++) {
		struct context *context = &contexts[i];
		uint64_t user_data = 0;

		if (!context->is_on || !context->told[kind])
			continue;
#if MAJOR == 0
		((rocp_call_0_told *)context->told[kind])((struct rocp_call_0){ i, 1, correlation,
										0, kind, operation,
										phase, payload },
							  &user_data, context->data[kind]);
#else
		((rocp_call_1_told *)context->told[kind])(
			(struct rocp_call_1){ i, 1, correlation, 0, 12345, kind, operation, phase,
					      payload },
			&user_data, context->data[kind]);
#endif
	}
}

/* --- buffers -------------------------------------------------------------------------------- */

SDK(create_buffer, rocp_handle context, size_t size, size_t watermark, int policy,
    rocp_buffer_told *told, void *data, rocp_handle *buffer)
{
	(void)context, (void)policy;
	if (n_buffers == N_BUFFERS)
		return 1;
	*buffer = ++n_buffers;
	pthread_mutex_init(&buffers[*buffer].lock, NULL);
	buffers[*buffer].told = told;
	buffers[*buffer].data = data;
	buffers[*buffer].bytes = size;
	buffers[*buffer].watermark = watermark;
	return ROCP_SUCCESS;
}

SDK(configure_buffer_tracing_service, rocp_handle context, int32_t kind, const int32_t *operations,
    size_t n_operations, rocp_handle buffer)
{
	(void)operations, (void)n_operations;
	if (kind == KIND_KERNEL && standin_fault("refuses"))
		return 19;
	contexts[context].buffer[kind] = buffer;
	return ROCP_SUCCESS;
}

static void hand_on(struct buffer *buffer)
{
	static struct rocp_header *headers[CAPACITY];
	static pthread_mutex_t handing_on = PTHREAD_MUTEX_INITIALIZER;
	uint64_t n_dropped;
	size_t n;

	pthread_mutex_lock(&handing_on);
	pthread_mutex_lock(&buffer->lock);
	n = buffer->n;
	n_dropped = buffer->n_dropped;
	for (size_t i = 0; i < n; i++)
		headers[i] = buffer->headers[standin_fault("reverse") ? n - 1 - i : i];
	buffer->n = buffer->used = 0;
	pthread_mutex_unlock(&buffer->lock);
	if (n)
		buffer->told(1, 1, headers, n, buffer->data, n_dropped);
	for (size_t i = 0; i < n; i++)
		free(headers[i]);
	pthread_mutex_unlock(&handing_on);
}

SDK(flush_buffer, rocp_handle buffer)
{
	hand_on(&buffers[buffer]);
	return ROCP_SUCCESS;
}

void standin_sdk_flush(void)
{
	for (rocp_handle i = 1; i <= n_buffers; i++)
		hand_on(&buffers[i]);
}

void standin_sdk_poll(void)
{
	for (rocp_handle i = 1; i <= n_buffers; i++) {
		bool is_full_enough;

		pthread_mutex_lock(&buffers[i].lock);
		is_full_enough = buffers[i].used >= buffers[i].watermark;
		pthread_mutex_unlock(&buffers[i].lock);
		if (is_full_enough)
			hand_on(&buffers[i]);
	}
}

/* A record behind its header, in one piece of memory. */
static struct rocp_header *make_record(int kind, const void *record, size_t bytes)
{
	struct rocp_header *header = malloc(sizeof(*header) + bytes);

	if (!header)
		abort();
	header->category = ROCP_TRACING;
	header->kind = (uint32_t)kind;
	header->payload = header + 1;
	memcpy(header->payload, record, bytes);
	return header;
}

static void put(struct buffer *buffer, struct rocp_header *header, size_t bytes)
{
	if (buffer->used + bytes > buffer->bytes || buffer->n == CAPACITY) {
		buffer->n_dropped++;
		free(header);
		return;
	}
	buffer->headers[buffer->n++] = header;
	buffer->used += bytes;
}

void standin_sdk_record(int kind, const void *record, size_t bytes)
{
	uint64_t number;

	pthread_mutex_lock(&counting);
	number = n_records++;
	pthread_mutex_unlock(&counting);
	for (rocp_handle i = 1; i <= n_contexts; i++) {
		struct buffer *buffer = &buffers[contexts[i].buffer[kind]];
		struct rocp_header *header;

		if (!contexts[i].is_on || !contexts[i].buffer[kind])
			continue;
		pthread_mutex_lock(&buffer->lock);
		header = make_record(kind, record, bytes);
		if (standin_fault("dropped") && number % 7 == 0) {
			buffer->n_dropped++;
			free(header);
		} else {
			if (standin_fault("short") && number % 7 == 0)
				*(uint64_t *)header->payload = 24;
			put(buffer, header, bytes);
		}
		if (standin_fault("unknown")) {
			header = make_record(number % 2 ? 99 : kind, record, bytes);
			header->category = number % 2 ? ROCP_TRACING : 7;
			put(buffer, header, bytes);
		}
		pthread_mutex_unlock(&buffer->lock);
	}
}

/* --- counters ------------------------------------------------------------------------------- */

/* What the functions are called in the two versions. */
#if MAJOR == 0
#define rocprofiler_count_dispatches                                                               \
	rocprofiler_configure_callback_dispatch_profile_counting_service
#define rocprofiler_create_config  rocprofiler_create_profile_config
#define rocprofiler_destroy_config rocprofiler_destroy_profile_config
#else
#define rocprofiler_count_dispatches rocprofiler_configure_callback_dispatch_counting_service
#define rocprofiler_create_config    rocprofiler_create_counter_config
#define rocprofiler_destroy_config   rocprofiler_destroy_counter_config
#endif

#define N_CONFIGS 64
#define AT_ONCE	  7 /* counters that a device can count together */

static const struct {
	const char *name;
	unsigned n_instances;
} counters[] = {
	{ "GRBM_COUNT", 1 },	   { "GRBM_GUI_ACTIVE", 1 }, { "SQ_WAVES", 4 },
	{ "SQ_INSTS_VALU", 4 },	   { "SQ_INSTS_SALU", 4 },   { "SQ_INSTS_LDS", 4 },
	{ "SQ_INSTS_VMEM_RD", 4 }, { "TCC_HIT", 16 },	     { "TCC_MISS", 16 },
};
#define N_COUNTERS (sizeof(counters) / sizeof(*counters))
#define FIRST_ID                                                                                   \
	100 /* of the counters; an instance is its counter's number and, in the upper half, its own */

static struct config {
	uint64_t ids[AT_ONCE];
	size_t n;
} configs[N_CONFIGS + 1];
static uint64_t n_configs;
static rocp_handle counting_context;
static rocp_dispatched *dispatched;
static rocp_values_told *values_told;

/* As it is passed: with times before the dispatch from 0.5 on. */
struct standin_counted {
	uint64_t size, correlation, external;
#if MAJOR != 0
	uint64_t start, end;
#endif
	struct rocp_dispatch_info info;
	uint8_t rest[88];
};
typedef void standin_dispatched(struct standin_counted counted, rocp_handle *config,
				uint64_t *user_data, void *data);
/* As they are in an array: with an agent from 0.5 on. */
struct standin_value {
	struct rocp_value value;
#if MAJOR != 0
	rocp_handle agent;
#endif
};
typedef void standin_values_told(struct standin_counted counted, const struct standin_value *values,
				 size_t n, uint64_t user_data, void *data);

static struct standin_counted counted_of(const struct rocp_dispatch *dispatch)
{
	struct standin_counted counted = { .size = sizeof(counted),
					   .correlation = dispatch->work.correlation,
					   .info = { .size = 128,
						     .agent = dispatch->agent,
						     .queue = dispatch->queue,
						     .kernel = dispatch->kernel,
						     .dispatch = dispatch->dispatch } };

#if MAJOR != 0
	counted.start = dispatch->work.start;
	counted.end = dispatch->work.end;
#endif
	return counted;
}

SDK(count_dispatches, rocp_handle context, rocp_dispatched *asked, void *asked_data,
    rocp_values_told *told, void *told_data)
{
	(void)asked_data, (void)told_data;
	if (standin_fault("nocounting"))
		return 1;
	counting_context = context;
	dispatched = asked;
	values_told = told;
	return ROCP_SUCCESS;
}

SDK(iterate_agent_supported_counters, rocp_handle agent, rocp_counters_told *told, void *data)
{
	uint64_t ids[N_COUNTERS];

	for (size_t i = 0; i < N_COUNTERS; i++)
		ids[i] = FIRST_ID + i;
	return told(agent, ids, N_COUNTERS, data);
}

SDK(query_counter_info, uint64_t counter, int32_t version, void *info)
{
	struct rocp_counter_info *told = info;

	if (version != ROCP_COUNTER_INFO_VERSION || counter - FIRST_ID >= N_COUNTERS)
		return 1;
	*told = (struct rocp_counter_info){ .id = counter,
					    .name = counters[counter - FIRST_ID].name };
	return ROCP_SUCCESS;
}

SDK(query_record_counter_id, uint64_t instance, uint64_t *counter)
{
	*counter = instance & UINT32_MAX;
	return ROCP_SUCCESS;
}

SDK(create_config, rocp_handle agent, uint64_t *ids, size_t n, rocp_handle *config)
{
	if ((agent != GPU_0 && agent != GPU_1) || n > AT_ONCE || n_configs == N_CONFIGS)
		return 1;
	*config = ++n_configs;
	memcpy(configs[*config].ids, ids, n * sizeof(*ids));
	configs[*config].n = n;
	return ROCP_SUCCESS;
}

SDK(destroy_config, rocp_handle config)
{
	configs[config].n = 0;
	return ROCP_SUCCESS;
}

uint64_t standin_sdk_ask(const struct rocp_dispatch *dispatch)
{
	rocp_handle config = 0;
	uint64_t user_data = 0;

	if (dispatched && contexts[counting_context].is_on)
		((standin_dispatched *)(void *)dispatched)(counted_of(dispatch), &config,
							   &user_data, NULL);
	return config;
}

/* Of each counter: its number by a thousand, ten for each dispatch, and the instance's number. */
void standin_sdk_tell_values(const struct rocp_dispatch *dispatch, uint64_t config)
{
	struct standin_value values[AT_ONCE * 16];
	const char *path = getenv("STANDIN_COUNTS");
	FILE *truth = path ? fopen(path, "a") : NULL;
	size_t n = 0;

	for (size_t k = 0; k < configs[config].n; k++) {
		uint64_t id = configs[config].ids[k], counter = id - FIRST_ID;
		double sum = 0;

		for (unsigned i = 0; i < counters[counter].n_instances; i++) {
			values[n] = (struct standin_value){
				.value = { .instance = (uint64_t)i << 32 | id,
					   .value = (double)(1000 * (counter + 1) +
							     10 * dispatch->dispatch + i),
					   .dispatch = dispatch->dispatch +
						       standin_fault("countwrong") }
			};
			sum += values[n++].value.value;
		}
		if (truth)
			fprintf(truth, "%llu %s %.0f\n", (unsigned long long)dispatch->work.start,
				counters[counter].name, sum);
	}
	if (truth)
		fclose(truth);
	((standin_values_told *)(void *)values_told)(counted_of(dispatch), values, n, 0, NULL);
}

/* --- tools ---------------------------------------------------------------------------------- */

static void finish(void)
{
	for (int i = 0; i < n_tools; i++)
		if (tools[i]->finalize)
			tools[i]->finalize(tools[i]->data);
}

typedef struct rocp_tool *configure_function(uint32_t version, const char *text, uint32_t priority,
					     void *client);

static void load(const char *path)
{
	void *library = dlopen(strcmp(path, "INSIDE") == 0 ? NULL : path, RTLD_LAZY | RTLD_LOCAL);
	configure_function *configure = NULL;
	const char *version = getenv("STANDIN_VERSION");
	struct {
		size_t size;
		const char *name;
		uint32_t handle;
	} client = { sizeof(client), NULL, (uint32_t)n_tools };
	struct rocp_tool *tool;

	if (library)
		*(void **)&configure = dlsym(library, "rocprofiler_configure");
	if (!configure) {
		fprintf(stderr, "standin: %s is no tool\n", path);
		abort(); /* as the real one does */
	}
	tool = configure(version ? (uint32_t)atoi(version)
			 : MAJOR ? 10000
				 : 600,
			 MAJOR ? "1.0.0" : "0.6.0", (uint32_t)n_tools, &client);
	if (tool && n_tools < N_TOOLS)
		tools[n_tools++] = tool;
}

static void start(void)
{
	const char *value = getenv("ROCP_TOOL_LIBRARIES");
	char *list = value ? strdup(value) : NULL, *rest = NULL;

	atexit(finish);
	for (char *path = list ? strtok_r(list, ":", &rest) : NULL; path;
	     path = strtok_r(NULL, ":", &rest))
		load(path);
	free(list);
	for (int i = 0; i < n_tools; i++)
		tools[i]->initialize(NULL, tools[i]->data);
}

void standin_sdk_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start);
}
