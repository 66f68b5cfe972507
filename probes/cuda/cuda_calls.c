#include "cuda/cuda_calls.h"

#include <stdio.h>
#include <string.h>

#include "common/activity.h"
#include "cuda/cuda_counters.h"
#include "cuda/cupti_library.h"

#define N_IDS	   1024 /* of functions of a domain */
#define DEEPEST	   16
#define NAME_BYTES 128

/* --- functions ------------------------------------------------------------------------------ */

/* What a function does with memory of a device. */
enum memory_use { USES_NONE, GIVES_MEMORY, GIVES_MANAGED, TAKES_MEMORY };

static struct function {
	uint32_t class_id; /* atomic; 0: not met yet */
	uint32_t memory_class;
	uint8_t use; /* enum memory_use */
} functions[2][N_IDS];

static const char *const quiet[] = {
	"cudaGetDevice",
	"cudaSetDevice",
	"cudaGetLastError",
	"cudaPeekAtLastError",
	"cudaGetDeviceCount",
	"cudaDeviceGetAttribute",
	"cudaStreamIsCapturing",
	"cudaStreamGetCaptureInfo",
	"cudaStreamGetPriority",
	"cudaDeviceGetStreamPriorityRange",
	"cudaFuncGetAttributes",
	"cudaPointerGetAttributes",
	"cudaOccupancyMaxActiveBlocksPerMultiprocessor",
	"cuCtxGetCurrent",
	"cuCtxSetCurrent",
	"cuCtxPushCurrent",
	"cuCtxPopCurrent",
	"cuCtxGetDevice",
	"cuDeviceGet",
	"cuDeviceGetCount",
	"cuDeviceGetAttribute",
	"cuDevicePrimaryCtxGetState",
	"cuPointerGetAttribute",
	"cuPointerGetAttributes",
	"cuGetProcAddress",
	"cuDriverGetVersion",
	"cuFuncGetAttribute",
};

static const struct {
	const char *name;
	enum memory_use use;
} memory_functions[] = {
	{ "cudaMalloc", GIVES_MEMORY },
	{ "cudaMallocAsync", GIVES_MEMORY },
	{ "cudaMallocFromPoolAsync", GIVES_MEMORY },
	{ "cudaMallocManaged", GIVES_MANAGED },
	{ "cudaFree", TAKES_MEMORY },
	{ "cudaFreeAsync", TAKES_MEMORY },
	{ "cuMemAlloc", GIVES_MEMORY },
	{ "cuMemAllocAsync", GIVES_MEMORY },
	{ "cuMemAllocFromPoolAsync", GIVES_MEMORY },
	{ "cuMemAllocManaged", GIVES_MANAGED },
	{ "cuMemFree", TAKES_MEMORY },
	{ "cuMemFreeAsync", TAKES_MEMORY },
};

/* How much of "cudaLaunchKernel_v7000", "cuMemcpyAsync_ptsz", "cuMemAlloc_v2" is the function that the program calls. */
static size_t plain_length(const char *name)
{
	const char *version = strstr(name, "_v");
	const char *suffix = strstr(name, "_pt");
	size_t length = strlen(name);

	if (suffix && (size_t)(suffix - name) < length)
		length = (size_t)(suffix - name);
	if (version && version[2] >= '0' && version[2] <= '9' && (size_t)(version - name) < length)
		length = (size_t)(version - name);
	return length;
}

static bool is_named(const char *name, size_t length, const char *what)
{
	return strlen(what) == length && memcmp(name, what, length) == 0;
}

struct asked {
	struct function *function;
	const char *name;
};

static void declare(void *asked_pointer)
{
	struct asked *asked = asked_pointer;
	struct function *function = asked->function;
	size_t length = plain_length(asked->name);

	for (size_t i = 0; i < sizeof(memory_functions) / sizeof(*memory_functions); i++)
		if (is_named(asked->name, length, memory_functions[i].name))
			function->use = (uint8_t)memory_functions[i].use;
	if (function->use)
		function->memory_class =
			tacho_class(function->use == TAKES_MEMORY ? TRACE_KIND_DEVICE_FREE
								  : TRACE_KIND_DEVICE_ALLOC,
				    asked->name, length);
	__atomic_store_n(&function->class_id, tacho_class(TRACE_KIND_RUNTIME, asked->name, length),
			 __ATOMIC_RELEASE);
}

static struct function *function_of(uint32_t domain, uint32_t id, const char *name)
{
	struct function *function = &functions[domain == CUPTI_RUNTIME_API][id % N_IDS];
	struct asked asked = { function, name };

	if (TACHO_UNLIKELY(!__atomic_load_n(&function->class_id, __ATOMIC_ACQUIRE)) && name)
		tacho_run_aside(declare, &asked);
	return function;
}

/* --- calls ---------------------------------------------------------------------------------- */

struct open_call {
	struct record_slice *record; /* NULL: dropped */
	uint32_t correlation, domain;
};

static _Thread_local struct thread_calls {
	uint32_t generation;
	uint32_t n; /* open, those that are too deep among them */
	struct open_call open[DEEPEST];
} calls;

static struct thread_calls *calls_now(void)
{
	if (TACHO_UNLIKELY(calls.generation != tacho_generation())) {
		calls.n = 0;
		calls.generation = tacho_generation();
	}
	return &calls;
}

/* Pages that move are told of from the first managed memory on: it costs jobs that have none nothing. */
static void watch_unified_memory(const struct cupti *cupti)
{
	static uint32_t is_watched; /* atomic */
	static const uint32_t kinds[] = { CUPTI_UVM_HTOD, CUPTI_UVM_DTOH, CUPTI_UVM_CPU_FAULTS,
					  CUPTI_UVM_GPU_FAULT, CUPTI_UVM_DTOD };
	struct cupti_unified_memory_config configs[sizeof(kinds) / sizeof(*kinds)];

	if (__atomic_exchange_n(&is_watched, 1, __ATOMIC_RELAXED) ||
	    !cupti->ActivityConfigureUnifiedMemoryCounter)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		configs[i] = (struct cupti_unified_memory_config){ 2, kinds[i], 0, 1 };
	if (cupti->ActivityConfigureUnifiedMemoryCounter(configs, sizeof(kinds) / sizeof(*kinds)) ==
	    CUPTI_SUCCESS)
		cupti->ActivityEnable(CUPTI_UNIFIED_MEMORY);
}

static void enter(const struct cupti *cupti, uint32_t domain, uint32_t id,
		  const struct cupti_call *call)
{
	struct thread_calls *self = calls_now();
	struct function *function;
	struct open_call *open;

	if (self->n && domain == CUPTI_DRIVER_API)
		return; /* (1) */
	function = function_of(domain, id, call->function);
	if (self->n++ >= DEEPEST)
		return;
	open = &self->open[self->n - 1];
	open->correlation = call->correlation;
	open->domain = domain;
	open->record = tacho_slice_begin(function->class_id, call->correlation);
	if (function->use == GIVES_MANAGED)
		watch_unified_memory(cupti);
}

static void tell_memory(const struct cupti *cupti, const struct function *function,
			const struct cupti_call *call)
{
	const struct cuda_alloc_parameters *given = call->parameters;
	const struct cuda_free_parameters *taken = call->parameters;
	uint32_t device = 0;

	if (!call->parameters || (call->result && *(const int *)call->result != 0))
		return;
	if (function->use == TAKES_MEMORY && !taken->address)
		return;
	if (function->use != TAKES_MEMORY && !given->address)
		return;
	if (call->context)
		cupti->GetDeviceId(call->context, &device);
	if (function->use == TAKES_MEMORY)
		tacho_device_memory(function->memory_class, (int32_t)device, taken->address, 0);
	else
		tacho_device_memory(function->memory_class, (int32_t)device, *given->address,
				    given->bytes);
}

static void leave(const struct cupti *cupti, uint32_t domain, uint32_t id,
		  const struct cupti_call *call)
{
	struct thread_calls *self = calls_now();
	uint32_t at = self->n < DEEPEST ? self->n : DEEPEST;

	while (at && (self->open[at - 1].correlation != call->correlation ||
		      self->open[at - 1].domain != domain))
		at--;
	if (!at) {
		/* of one that was too deep */
		if (self->n > DEEPEST && domain == CUPTI_RUNTIME_API)
			self->n--;
		return;
	}
	if (function_of(domain, id, call->function)->use)
		tell_memory(cupti, function_of(domain, id, call->function), call);
	for (uint32_t i = self->n < DEEPEST ? self->n : DEEPEST; i >= at; i--)
		tacho_slice_finish(self->open[i - 1].record);
	self->n = at - 1;
}

/* --- graphs --------------------------------------------------------------------------------- */

static void tell_node(const struct cupti *cupti, uint32_t id, const struct cupti_resource *told)
{
	static uint32_t class_id;
	const struct cupti_graph *graph = told->descriptor;
	uint64_t node = 0, original = 0;

	if (!graph || !graph->node || !cupti->GetGraphNodeId ||
	    cupti->GetGraphNodeId(graph->node, &node) != CUPTI_SUCCESS)
		return;
	if (id == CUPTI_GRAPH_NODE_CLONED && graph->original_node)
		cupti->GetGraphNodeId(graph->original_node, &original);
	if (!class_id)
		class_id = tacho_class(TRACE_KIND_GRAPH_NODE, "CUDA graph node",
				       strlen("CUDA graph node"));
	tacho_graph_node(class_id, node, original);
}

/* --- what CUPTI tells ----------------------------------------------------------------------- */

void cuda_calls_told(void *cupti, uint32_t domain, uint32_t id, const void *told)
{
	const struct cupti_call *call = told;

	if (told && domain == CUPTI_RESOURCE && id == CUPTI_CONTEXT_CREATED)
		cuda_counters_context(cupti, ((const struct cupti_resource *)told)->context);
	if (!told || tacho_writer.is_inside || !tacho_is_recording_all())
		return;
	if (domain == CUPTI_DRIVER_API)
		cuda_counters_call(call,
				   calls_now()->n ? calls.open[0].correlation : call->correlation);
	if (domain == CUPTI_RUNTIME_API || domain == CUPTI_DRIVER_API) {
		if (call->site == CUPTI_ENTER)
			enter(cupti, domain, id, call);
		else
			leave(cupti, domain, id, call);
	} else if (domain == CUPTI_RESOURCE &&
		   (id == CUPTI_GRAPH_NODE_CREATED || id == CUPTI_GRAPH_NODE_CLONED)) {
		tell_node(cupti, id, told);
	}
}

static bool is_quiet(const char *name)
{
	size_t length = plain_length(name);

	for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++)
		if (is_named(name, length, quiet[i]))
			return true;
	return false;
}

void cuda_calls_enable(const struct cupti *cupti, void *subscriber, bool is_on)
{
	static const uint32_t domains[] = { CUPTI_RUNTIME_API, CUPTI_DRIVER_API };

	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++) {
		cupti->EnableDomain(is_on, subscriber, domains[i]);
		for (uint32_t id = 1; is_on && id < N_IDS; id++) {
			const char *name = NULL;

			if (cupti->GetCallbackName(domains[i], id, &name) == CUPTI_SUCCESS &&
			    name && is_quiet(name))
				cupti->EnableCallback(0, subscriber, domains[i], id);
		}
	}
	cupti->EnableCallback(is_on, subscriber, CUPTI_RESOURCE, CUPTI_GRAPH_NODE_CREATED);
	cupti->EnableCallback(is_on, subscriber, CUPTI_RESOURCE, CUPTI_GRAPH_NODE_CLONED);
}
