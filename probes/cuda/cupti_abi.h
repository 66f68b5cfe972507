/* cupti_abi: what is used of NVIDIA's CUPTI, majors 11 to 13, in own declarations. The facts are from NVIDIA's public documentation
 * and headers (cupti_activity.h, cupti_callbacks.h, cupti_result.h of 11.8, 12.9 and 13.5).
 *
 * (1) Records of activities have grown at their ends only: what is declared here is how the records of all these versions begin,
 *     from CUDA 11.1 on (CUpti_ActivityKernel5, Memcpy4, MemcpyPtoP2, Memset2 ...). Where they have ended is told by nobody but the next one.
 * (2) Times are nanoseconds; 0: not known. */
#ifndef TACHO_CUPTI_ABI_H
#define TACHO_CUPTI_ABI_H

#include <stdint.h>
#include <stddef.h>

enum cupti_result {
	CUPTI_SUCCESS = 0,
	CUPTI_MAX_LIMIT_REACHED = 12,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
};

/* --- activities ----------------------------------------------------------------------------- */

enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_KERNEL = 3,
	CUPTI_DEVICE = 8,
	CUPTI_CONTEXT = 9,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_OVERHEAD = 17,
	CUPTI_MEMCPY_PEER = 22,
	CUPTI_UNIFIED_MEMORY = 25,
	CUPTI_CUDA_EVENT = 36,
	CUPTI_SYNCHRONIZATION = 38,
	CUPTI_MEMORY_POOL = 50,
	CUPTI_N_KINDS = 64,
};

/* Of 8 bytes' alignment, packed. */
struct cupti_kernel {
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers;
	uint32_t cache_requested[2];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, is_carveout_requested, carveout_requested, carveout_executed;
	uint32_t shared_executed;
	uint64_t graph_node;
	uint32_t shared_limit, graph;
};

struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind, source_kind, target_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation, padding;
	void *reserved;
	uint64_t graph_node;
};

struct cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy_kind, source_kind, target_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t source_device, source_context, target_device, target_context;
	uint32_t correlation;
	void *reserved;
	uint64_t graph_node;
};

struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory_kind;
	uint32_t padding;
	void *reserved;
	uint64_t graph_node;
};

enum cupti_synchronization_type {
	CUPTI_EVENT_SYNC = 1,
	CUPTI_STREAM_WAIT_EVENT = 2,
	CUPTI_STREAM_SYNC = 3,
	CUPTI_CONTEXT_SYNC = 4,
};

#define CUPTI_NO_ID UINT32_MAX

struct cupti_synchronization {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event; /* CUPTI_NO_ID: has none */
};

struct cupti_cuda_event {
	uint32_t kind, correlation, context, stream, event, padding;
};

struct cupti_overhead {
	uint32_t kind, overhead_kind;
	uint32_t object_kind, object[3]; /* process, thread; device, context, stream */
	uint64_t start, end;
};

struct cupti_unified_memory {
	uint32_t kind, counter_kind;
	uint64_t value, start, end, address;
	uint32_t source, target, stream, process, flags;
};

enum cupti_unified_memory_kind {
	CUPTI_UVM_HTOD = 1,
	CUPTI_UVM_DTOH = 2,
	CUPTI_UVM_CPU_FAULTS = 3,
	CUPTI_UVM_GPU_FAULT = 4,
	CUPTI_UVM_THRASHING = 5,
	CUPTI_UVM_THROTTLING = 6,
	CUPTI_UVM_REMOTE_MAP = 7,
	CUPTI_UVM_DTOD = 8,
};

struct cupti_unified_memory_config {
	uint32_t scope; /* 1: a device of the process, 2: all of its devices */
	uint32_t counter_kind, device, enable;
};

struct cupti_memory_pool {
	uint32_t kind, operation, pool_type, correlation, process, device;
	uint64_t keep_bytes, address, bytes, release_bytes, timestamp, used_bytes;
};

struct cupti_context {
	uint32_t kind, context, device;
};

struct cupti_device {
	uint32_t kind, flags;
	uint64_t kilobytes_per_s, memory_bytes;
	uint32_t constant_bytes, l2_bytes, warp_threads, clock_khz, n_copy_engines,
		n_multiprocessors;
	uint32_t ipc, warps, blocks, shared_bytes,
		registers; /* the last four: of a multiprocessor */
	uint32_t block_registers, block_shared_bytes, block_threads;
	uint32_t block_dim[3], grid_dim[3];
	uint32_t major, minor;
	uint32_t device, is_ecc;
	uint8_t uuid[16];
	const char *name;
};

/* --- callbacks ------------------------------------------------------------------------------ */

enum cupti_domain {
	CUPTI_DRIVER_API = 1,
	CUPTI_RUNTIME_API = 2,
	CUPTI_RESOURCE = 3,
};

enum cupti_site { CUPTI_ENTER, CUPTI_EXIT };

enum cupti_resource_id {
	CUPTI_CONTEXT_CREATED = 1,
	CUPTI_GRAPH_NODE_CREATED = 13,
	CUPTI_GRAPH_NODE_CLONED = 20,
};

struct cupti_call {
	uint32_t site;
	const char *function;
	const void *parameters;
	void *result; /* at CUPTI_EXIT: of what it returned, which is an int */
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *data;
	uint32_t correlation;
};

/* How the parameters of functions that hand out memory begin, and of those that take it back. */
struct cuda_alloc_parameters {
	uint64_t *address;
	size_t bytes;
};

struct cuda_free_parameters {
	uint64_t address;
};

struct cupti_resource {
	void *context, *handle;
	const void *descriptor;
};

struct cupti_graph {
	void *graph, *original_graph;
	void *node, *original_node;
	uint32_t node_type;
	void *dependency, *executable;
};

typedef void cupti_callback(void *data, uint32_t domain, uint32_t id, const void *told);
typedef void cupti_request_buffer(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_buffer_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				   size_t valid_size);
typedef uint64_t cupti_timestamp(void);

/* Told cuptiSubscribe_v2() (13), which says who has subscribed before. `size`: of what is here; 13.1 and later have more behind it. */
struct cupti_subscriber {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_name_size;
};

/* FUNCTION(name without "cupti", parameters, is_needed) */
#define CUPTI_FUNCTIONS(FUNCTION)                                                                  \
	FUNCTION(GetVersion, (uint32_t * version), 1)                                              \
	FUNCTION(Subscribe, (void **subscriber, cupti_callback *callback, void *data), 1)          \
	FUNCTION(Subscribe_v2,                                                                     \
		 (void **subscriber, cupti_callback *callback, void *data,                         \
		  struct cupti_subscriber *parameters),                                            \
		 0)                                                                                \
	FUNCTION(Unsubscribe, (void *subscriber), 1)                                               \
	FUNCTION(EnableDomain, (uint32_t enable, void *subscriber, uint32_t domain), 1)            \
	FUNCTION(EnableCallback,                                                                   \
		 (uint32_t enable, void *subscriber, uint32_t domain, uint32_t id), 1)             \
	FUNCTION(GetCallbackName, (uint32_t domain, uint32_t id, const char **name), 1)            \
	FUNCTION(GetDeviceId, (void *context, uint32_t *device), 1)                                \
	FUNCTION(GetGraphNodeId, (void *node, uint64_t *id), 0)                                    \
	FUNCTION(GetTimestamp, (uint64_t * ns), 1)                                                 \
	FUNCTION(GetResultString, (int result, const char **text), 0)                              \
	FUNCTION(ActivityRegisterCallbacks,                                                        \
		 (cupti_request_buffer * request, cupti_buffer_complete * complete), 1)            \
	FUNCTION(ActivityRegisterTimestampCallback, (cupti_timestamp * timestamp), 0)              \
	FUNCTION(ActivityEnable, (uint32_t kind), 1)                                               \
	FUNCTION(ActivityDisable, (uint32_t kind), 1)                                              \
	FUNCTION(ActivityEnableLatencyTimestamps, (uint8_t enable), 0)                             \
	FUNCTION(ActivityConfigureUnifiedMemoryCounter,                                            \
		 (struct cupti_unified_memory_config * configs, uint32_t n), 0)                    \
	FUNCTION(ActivityFlushAll, (uint32_t flags), 1)                                            \
	FUNCTION(ActivityFlushPeriod, (uint32_t milliseconds), 0)                                  \
	FUNCTION(ActivityGetNextRecord,                                                            \
		 (uint8_t * buffer, size_t valid_size, const void **record), 1)                    \
	FUNCTION(ActivityGetNumDroppedRecords,                                                     \
		 (void *context, uint32_t stream, size_t *n_dropped), 1)

#define CUPTI_FLUSH_FORCED 1

#endif
