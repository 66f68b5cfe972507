/* standin_runtime: in place of libcudart.so.12. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"
#include "standin_cuda.h"

#define N_NODES 64

struct standin_stream {
	unsigned number;
	struct standin_graph *captured; /* NULL: nothing is captured */
};

struct standin_event {
	uint32_t number;
	uint64_t ns; /* when what was in front of it is over */
};

struct standin_node {
	const struct standin_kernel *kernel;
	uint64_t id, original;
};

struct standin_graph {
	unsigned n;
	struct standin_node nodes[N_NODES];
};

struct standin_graph_exec {
	struct standin_graph graph;
};

/* Ids are what NVIDIA's are, so that a trace of this reads as one of theirs. */
static const struct {
	uint32_t domain, id;
	const char *name;
} functions[] = {
	{ CUPTI_RUNTIME_API, 16, "cudaSetDevice_v3020" },
	{ CUPTI_RUNTIME_API, 20, "cudaMalloc_v3020" },
	{ CUPTI_RUNTIME_API, 22, "cudaFree_v3020" },
	{ CUPTI_RUNTIME_API, 41, "cudaMemcpyAsync_v3020" },
	{ CUPTI_RUNTIME_API, 51, "cudaMemsetAsync_v3020" },
	{ CUPTI_RUNTIME_API, 129, "cudaStreamCreate_v3020" },
	{ CUPTI_RUNTIME_API, 131, "cudaStreamSynchronize_v3020" },
	{ CUPTI_RUNTIME_API, 133, "cudaEventCreate_v3020" },
	{ CUPTI_RUNTIME_API, 135, "cudaEventRecord_v3020" },
	{ CUPTI_RUNTIME_API, 147, "cudaStreamWaitEvent_v3020" },
	{ CUPTI_RUNTIME_API, 161, "cudaMemcpyPeerAsync_v4000" },
	{ CUPTI_RUNTIME_API, 165, "cudaDeviceSynchronize_v3020" },
	{ CUPTI_RUNTIME_API, 206, "cudaMallocManaged_v6000" },
	{ CUPTI_RUNTIME_API, 211, "cudaLaunchKernel_v7000" },
	{ CUPTI_RUNTIME_API, 443, "cudaGraphInstantiate_v12000" },
	{ CUPTI_RUNTIME_API, 311, "cudaGraphLaunch_v10000" },
	{ CUPTI_RUNTIME_API, 315, "cudaStreamBeginCapture_v10000" },
	{ CUPTI_RUNTIME_API, 319, "cudaStreamEndCapture_v10000" },
	{ CUPTI_DRIVER_API, 243, "cuMemAlloc_v2" },
	{ CUPTI_DRIVER_API, 307, "cuLaunchKernel" },
	{ CUPTI_DRIVER_API, 472, "cuStreamEndCapture" },
	{ CUPTI_DRIVER_API, 514, "cuGraphLaunch" },
	{ CUPTI_DRIVER_API, 519, "cuStreamBeginCapture_v2" },
};

const char *standin_name(uint32_t domain, uint32_t id)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (functions[i].domain == domain && functions[i].id == id)
			return functions[i].name;
	return NULL;
}

/* The driver's part of a call of the runtime's, of which nothing is seen but that it is. `kernel`: NULL, or what it launches. */
static void call_driver(uint32_t id, const char *name, const char *kernel)
{
	struct standin_call call;

	standin_enter_launch(&call, CUPTI_DRIVER_API, id, name, kernel);
	standin_leave(&call, 0);
}

/* A callback gets the name without its version. */
#define ENTER(id, name, parameters)                                                                \
	struct standin_call call;                                                                  \
	cuInit(0);                                                                                 \
	standin_enter(&call, CUPTI_RUNTIME_API, id, name, parameters)

static unsigned number_of(cudaStream_t stream)
{
	return stream ? stream->number : 7;
}

static void tell(const void *record, size_t size, uint64_t ready_ns)
{
	if (standin_hooks()->activity)
		standin_hooks()->activity(record, size, ready_ns);
}

int cudaSetDevice(int device)
{
	ENTER(16, "cudaSetDevice", NULL);
	(void)device;
	return standin_leave(&call, 0);
}

int cudaMalloc(void **pointer, size_t bytes)
{
	const struct {
		void **pointer;
		size_t bytes;
	} parameters = { pointer, bytes };

	ENTER(20, "cudaMalloc", &parameters);
	return standin_leave(&call, cuMemAlloc_v2((uint64_t *)pointer, bytes));
}

int cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
	const struct {
		void **pointer;
		size_t bytes;
		unsigned flags;
	} parameters = { pointer, bytes, flags };
	struct cupti_unified_memory moved = { .kind = CUPTI_UNIFIED_MEMORY,
					      .counter_kind = CUPTI_UVM_HTOD,
					      .value = bytes,
					      .target = 0 };
	int result;

	ENTER(206, "cudaMallocManaged", &parameters);
	result = cuMemAlloc_v2((uint64_t *)pointer, bytes);
	standin_work(30, 5000, &moved.start, &moved.end);
	tell(&moved, sizeof(moved), moved.end);
	return standin_leave(&call, result);
}

int cudaFree(void *pointer)
{
	const struct {
		void *pointer;
	} parameters = { pointer };

	ENTER(22, "cudaFree", &parameters);
	return standin_leave(&call, 0);
}

int cudaStreamCreate(cudaStream_t *stream)
{
	static unsigned n_streams = 12;

	ENTER(129, "cudaStreamCreate", NULL);
	*stream = calloc(1, sizeof(**stream));
	(*stream)->number = ++n_streams;
	return standin_leave(&call, 0);
}

int cudaEventCreate(cudaEvent_t *event)
{
	static uint32_t n_events;

	ENTER(133, "cudaEventCreate", NULL);
	*event = calloc(1, sizeof(**event));
	(*event)->number = ++n_events;
	return standin_leave(&call, 0);
}

int cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct cupti_cuda_event record = { .kind = CUPTI_CUDA_EVENT,
					   .context = 1,
					   .stream = number_of(stream),
					   .event = event->number };
	uint64_t end;

	ENTER(135, "cudaEventRecord", NULL);
	record.correlation = standin_correlation();
	standin_work(record.stream, 0, &event->ns, &end);
	tell(&record, sizeof(record), standin_now_ns());
	return standin_leave(&call, 0);
}

static void tell_wait(uint32_t type, uint32_t stream, uint32_t event, uint64_t start, uint64_t end)
{
	const struct cupti_synchronization record = { .kind = CUPTI_SYNCHRONIZATION,
						      .type = type,
						      .start = start,
						      .end = end,
						      .correlation = standin_correlation(),
						      .context = 1,
						      .stream = stream,
						      .event = event };

	tell(&record, sizeof(record), end);
}

int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	uint64_t now, start, end;

	ENTER(147, "cudaStreamWaitEvent", NULL);
	(void)flags;
	now = standin_now_ns();
	tell_wait(CUPTI_STREAM_WAIT_EVENT, number_of(stream), event->number, now, now);
	if (event->ns > now)
		standin_work(number_of(stream), event->ns - now, &start, &end);
	return standin_leave(&call, 0);
}

static void tell_node(struct standin_graph *graph, uint32_t id, uint64_t original)
{
	struct standin_node *node = &graph->nodes[graph->n - 1];
	struct cupti_graph told = { .graph = graph,
				    .node = &node->id,
				    .original_node = original ? &node->original : NULL };
	struct cupti_resource resource = { .descriptor = &told };

	if (standin_hooks()->node)
		standin_hooks()->node(id, &resource);
}

static void add_node(struct standin_graph *graph, const struct standin_kernel *kernel,
		     uint64_t original)
{
	static uint64_t n_nodes = 0x100000000;
	struct standin_node *node;

	if (graph->n == N_NODES)
		return;
	node = &graph->nodes[graph->n++];
	*node = (struct standin_node){ kernel, ++n_nodes, original };
	tell_node(graph, original ? CUPTI_GRAPH_NODE_CLONED : CUPTI_GRAPH_NODE_CREATED, original);
}

int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **args,
		     size_t shared, cudaStream_t stream)
{
	unsigned number = number_of(stream);

	ENTER(211, "cudaLaunchKernel", NULL);
	if (stream && stream->captured) {
		call_driver(307, "cuLaunchKernel", ((const struct standin_kernel *)function)->name);
		add_node(stream->captured, function, 0);
	} else {
		cuLaunchKernel((void *)function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
			       (unsigned)shared, &number, args, NULL);
	}
	return standin_leave(&call, 0);
}

int cudaMemcpyAsync(void *target, const void *source, size_t bytes, int way, cudaStream_t stream)
{
	struct cupti_memcpy record = { .kind = CUPTI_MEMCPY,
				       .copy_kind =
					       (uint8_t)(way == cudaMemcpyDeviceToDevice ? 8 : way),
				       .source_kind = way == cudaMemcpyHostToDevice ? 1 : 3,
				       .target_kind = way == cudaMemcpyDeviceToHost ? 1 : 3,
				       .bytes = bytes,
				       .context = 1,
				       .stream = number_of(stream) };

	ENTER(41, "cudaMemcpyAsync", NULL);
	(void)target, (void)source;
	record.correlation = standin_correlation();
	standin_work(record.stream, 1000 + bytes / 16, &record.start, &record.end);
	tell(&record, sizeof(record), record.end);
	standin_truth("copy", record.stream, record.start, record.end, record.correlation);
	return standin_leave(&call, 0);
}

int cudaMemcpyPeerAsync(void *target, int target_device, const void *source, int source_device,
			size_t bytes, cudaStream_t stream)
{
	struct cupti_memcpy_peer record = { .kind = CUPTI_MEMCPY_PEER,
					    .copy_kind = 10,
					    .source_kind = 3,
					    .target_kind = 3,
					    .bytes = bytes,
					    .context = 1,
					    .stream = number_of(stream),
					    .source_device = (uint32_t)source_device,
					    .target_device = (uint32_t)target_device };

	ENTER(161, "cudaMemcpyPeerAsync", NULL);
	(void)target, (void)source;
	record.correlation = standin_correlation();
	standin_work(record.stream, 1000 + bytes / 16, &record.start, &record.end);
	tell(&record, sizeof(record), record.end);
	standin_truth("copy", record.stream, record.start, record.end, record.correlation);
	return standin_leave(&call, 0);
}

int cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream)
{
	struct cupti_memset record = { .kind = CUPTI_MEMSET,
				       .value = (uint32_t)value,
				       .bytes = bytes,
				       .context = 1,
				       .stream = number_of(stream),
				       .memory_kind = 3 };

	ENTER(51, "cudaMemsetAsync", NULL);
	(void)target;
	record.correlation = standin_correlation();
	standin_work(record.stream, 1000, &record.start, &record.end);
	tell(&record, sizeof(record), record.end);
	standin_truth("fill", record.stream, record.start, record.end, record.correlation);
	return standin_leave(&call, 0);
}

static void wait_for(unsigned stream)
{
	uint64_t start, end;

	standin_work(stream, 0, &start, &end);
	while (standin_now_ns() < end)
		usleep(50);
}

int cudaStreamSynchronize(cudaStream_t stream)
{
	uint64_t begin;

	ENTER(131, "cudaStreamSynchronize", NULL);
	begin = standin_now_ns();
	wait_for(number_of(stream));
	tell_wait(CUPTI_STREAM_SYNC, number_of(stream), CUPTI_NO_ID, begin, standin_now_ns());
	return standin_leave(&call, 0);
}

int cudaDeviceSynchronize(void)
{
	uint64_t begin;

	ENTER(165, "cudaDeviceSynchronize", NULL);
	begin = standin_now_ns();
	for (unsigned stream = 7; stream < 40; stream++)
		wait_for(stream);
	tell_wait(CUPTI_CONTEXT_SYNC, CUPTI_NO_ID, CUPTI_NO_ID, begin, standin_now_ns());
	return standin_leave(&call, 0);
}

int cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
	ENTER(315, "cudaStreamBeginCapture", NULL);
	(void)mode;
	call_driver(519, "cuStreamBeginCapture", NULL);
	++*standin_captures();
	stream->captured = calloc(1, sizeof(*stream->captured));
	return standin_leave(&call, 0);
}

int cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	ENTER(319, "cudaStreamEndCapture", NULL);
	*graph = stream->captured;
	stream->captured = NULL;
	--*standin_captures();
	call_driver(472, "cuStreamEndCapture", NULL);
	return standin_leave(&call, 0);
}

int cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, uint64_t flags)
{
	ENTER(443, "cudaGraphInstantiate", NULL);
	(void)flags;
	*executable = calloc(1, sizeof(**executable));
	for (unsigned i = 0; i < graph->n; i++)
		add_node(&(*executable)->graph, graph->nodes[i].kernel, graph->nodes[i].id);
	return standin_leave(&call, 0);
}

void standin_launch_node(const struct standin_kernel *kernel, unsigned stream, uint64_t node);

int cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
	struct standin_call launch;

	ENTER(311, "cudaGraphLaunch", NULL);
	standin_enter(&launch, CUPTI_DRIVER_API, 514, "cuGraphLaunch", NULL);
	for (unsigned i = 0; i < executable->graph.n; i++)
		standin_launch_node(executable->graph.nodes[i].kernel, number_of(stream),
				    executable->graph.nodes[i].id);
	standin_leave(&launch, 0);
	return standin_leave(&call, 0);
}
