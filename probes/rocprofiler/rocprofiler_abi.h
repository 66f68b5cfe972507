/* rocprofiler_abi: what is used of AMD's rocprofiler-sdk, 0.4 to 1.x (ROCm 6.2 to 7), in own declarations. The facts are from its public headers and
 * sources (fwd.h, registration.h, callback_tracing.h, buffer_tracing.h, agent.h, counters.h of 0.4.0, 0.5.0, 0.6.0 and 1.0.0).
 *
 * (1) Numbers of kinds have moved between versions (page migration was taken out of the middle): kinds are found by their names.
 * (2) From 1.0 on a call's correlation has an ancestor behind it; that of work of a device has not. What stands behind it moves.
 * (3) Records and what callbacks are told begin with their size, and grow at their ends.
 * (4) Times are nanoseconds of rocprofiler_get_timestamp(): CLOCK_BOOTTIME in all of these versions. */
#ifndef TACHO_ROCPROFILER_ABI_H
#define TACHO_ROCPROFILER_ABI_H

#include <stddef.h>
#include <stdint.h>

#define ROCP_SUCCESS 0

/* Versions are 10000 * major + 100 * minor + patch. */
#define ROCP_OLDEST	   400
#define ROCP_VERSION_06	   600
#define ROCP_UNRELEASED	   700	 /* 0.7 was in no ROCm: its records changed from day to day */
#define ROCP_WITH_ANCESTOR 10000 /* (2) */
#define ROCP_TOO_NEW	   20000

enum rocp_phase { ROCP_ENTER = 1, ROCP_EXIT = 2 };

enum rocp_category { ROCP_TRACING = 1 };
enum rocp_policy { ROCP_DISCARD = 1 };
enum rocp_agent_type { ROCP_AGENT_CPU = 1, ROCP_AGENT_GPU = 2 };
enum rocp_code_object { ROCP_KERNEL_SYMBOL = 2 };
enum rocp_copy {
	ROCP_HOST_TO_HOST = 1,
	ROCP_HOST_TO_DEVICE,
	ROCP_DEVICE_TO_HOST,
	ROCP_DEVICE_TO_DEVICE
};
enum rocp_allocation { ROCP_ALLOCATE = 1, ROCP_VMEM_ALLOCATE, ROCP_FREE, ROCP_VMEM_FREE };
enum rocp_marker { ROCP_MARK, ROCP_PUSH, ROCP_POP, ROCP_RANGE_START, ROCP_RANGE_STOP };

#define ROCP_AGENT_VERSION 1

/* Handles of contexts, buffers, agents and queues are structs of one number: passed as such. */
typedef uint64_t rocp_handle;

/* --- callbacks ------------------------------------------------------------------------------ */

/* Up to 0.6. Both are passed by value. */
struct rocp_call_0 {
	rocp_handle context;
	uint64_t thread, correlation, external;
	int32_t kind, operation, phase;
	void *payload;
};

/* From 1.0 on. */
struct rocp_call_1 {
	rocp_handle context;
	uint64_t thread, correlation, external, ancestor;
	int32_t kind, operation, phase;
	void *payload;
};

struct rocp_kernel_symbol {
	uint64_t size, kernel, code_object;
	const char *name;
	uint64_t object;
	uint32_t kernarg_bytes, kernarg_alignment, group_bytes, private_bytes;
	uint32_t sgprs, vgprs, accumulation_vgprs;
};

/* A call of ROCTx: `message` for the first three that have one, `id` for ROCP_RANGE_STOP. */
struct rocp_marker_call {
	uint64_t size;
	union {
		const char *message;
		uint64_t id;
	} given;
	uint64_t unused;
	uint64_t returned; /* at the end of ROCP_RANGE_START: its id */
};

/* From 0.6 on. */
struct rocp_memory {
	uint64_t size, start, end;
	rocp_handle agent;
	uint64_t address, bytes;
};

/* --- records in buffers --------------------------------------------------------------------- */

struct rocp_header {
	uint32_t category, kind;
	void *payload;
};

/* How a kernel's record and a copy's begin, in all versions. */
struct rocp_work {
	uint64_t size;
	int32_t kind, operation;
	uint64_t correlation, external, thread, start, end;
};

struct rocp_dispatch {
	struct rocp_work work;
	uint64_t info_size;
	rocp_handle agent, queue;
	uint64_t kernel, dispatch;
	uint32_t private_bytes, group_bytes;
	uint32_t workgroup[3], grid[3]; /* work-items, also the grid's */
};

struct rocp_memcpy {
	struct rocp_work work;
	rocp_handle target, source;
	uint64_t bytes;
};

/* Within a record of scratch memory, behind its correlation or before it. */
struct rocp_scratch {
	rocp_handle agent, queue;
	uint64_t thread, start, end;
};

#define ROCP_SCRATCH_AT_04 16 /* up to 0.5 the correlation is at the end */
#define ROCP_SCRATCH_AT_06 32
#define ROCP_SCRATCH_AT_10 40

/* --- devices -------------------------------------------------------------------------------- */

/* How the description of an agent begins. Its embedded unions of hsakmt are of 4 bytes each. */
struct rocp_agent {
	uint64_t size;
	rocp_handle id;
	int32_t type;
	uint32_t counts_and_bases
		[7]; /* cores, SIMDs, memory banks, caches, links; first core, first SIMD */
	uint32_t waves_per_simd, lds_kilobytes, gds_kilobytes, n_gws;
	uint32_t wave_threads, n_xcc, n_compute_units;
	uint32_t layout[6]; /* arrays ... slots of scratch memory */
	uint32_t gfx_version;
	uint16_t vendor, device;
	uint32_t location, domain, render_minor, sdma[3], n_queues;
	uint32_t host_clock_mhz, clock_mhz;
	uint32_t firmware[3];
	uint32_t units_per_engine, waves_per_unit, family;
	uint32_t workgroup_max, grid_max;
	uint64_t local_bytes, hive, gpu;
	uint32_t workgroup_dim[3], grid_dim[3];
	const void *banks, *caches, *links;
	const char *name, *vendor_name, *product, *model;
	uint32_t node;
	int32_t logical_node;
};

/* --- counters of dispatches (dispatch_profile.h of 0.4, dispatch_counting_service.h of later ones) ------- */

/* What is told of a dispatch, by value: it begins so, and has 152 or, with its times before `info`, 168 bytes. A function that takes only
 * the first of it finds the same: what is passed in memory lies where it begins, and all that follows is in registers. */
struct rocp_counted {
	uint64_t size, correlation, external;
	uint64_t rest[16]; /* [start, end,] info: see rocp_counted_info() */
};

struct rocp_dispatch_info {
	uint64_t size;
	rocp_handle agent, queue;
	uint64_t kernel, dispatch;
};

#define ROCP_COUNTED_WITHOUT_TIMES 152

/* One instance of a counter (of a shader engine, of a memory channel ...), as it begins. In an array they are 32 bytes apart, and 40 since they
 * have an agent behind it: that came three days after the service was given its new name, with no release between. */
struct rocp_value {
	uint64_t instance;
	double value;
	uint64_t dispatch, user_data;
};

#define ROCP_VALUE_BYTES     40
#define ROCP_OLD_VALUE_BYTES 32 /* of ROCP_OLD_SERVICE */

struct rocp_counter_info {
	uint64_t id;
	const char *name, *description, *block, *expression;
	uint8_t flags;
};

#define ROCP_COUNTER_INFO_VERSION 1
#define ROCP_OLD_SERVICE	  "configure_callback_dispatch_profile_counting_service"

typedef void rocp_dispatched(struct rocp_counted counted, rocp_handle *config, uint64_t *user_data,
			     void *data);
typedef void rocp_values_told(struct rocp_counted counted, const void *values, size_t n,
			      uint64_t user_data, void *data);
typedef int rocp_counters_told(rocp_handle agent, uint64_t *counters, size_t n, void *data);

static inline const struct rocp_dispatch_info *rocp_counted_info(const struct rocp_counted *counted)
{
	return (const void *)&counted->rest[counted->size > ROCP_COUNTED_WITHOUT_TIMES ? 2 : 0];
}

/* What need not be there. FUNCTION(member, name without "rocprofiler_", its name in other versions, parameters) */
#define ROCP_COUNTING_FUNCTIONS(FUNCTION)                                                          \
	FUNCTION(count_dispatches, "configure_callback_dispatch_counting_service",                 \
		 ROCP_OLD_SERVICE,                                                                 \
		 (rocp_handle context, rocp_dispatched * dispatched, void *dispatched_data,        \
		  rocp_values_told *told, void *told_data))                                        \
	FUNCTION(create_config, "create_counter_config", "create_profile_config",                  \
		 (rocp_handle agent, uint64_t * counters, size_t n, rocp_handle * config))         \
	FUNCTION(destroy_config, "destroy_counter_config", "destroy_profile_config",               \
		 (rocp_handle config))                                                             \
	FUNCTION(iterate_counters, "iterate_agent_supported_counters", "",                         \
		 (rocp_handle agent, rocp_counters_told * told, void *data))                       \
	FUNCTION(query_counter, "query_counter_info", "",                                          \
		 (uint64_t counter, int32_t version, void *info))                                  \
	FUNCTION(counter_of, "query_record_counter_id", "", (uint64_t instance, uint64_t * counter))

/* --- functions ------------------------------------------------------------------------------ */

typedef void rocp_call_0_told(struct rocp_call_0 record, uint64_t *user_data, void *data);
typedef void rocp_call_1_told(struct rocp_call_1 record, uint64_t *user_data, void *data);
typedef void rocp_buffer_told(rocp_handle context, rocp_handle buffer, struct rocp_header **headers,
			      size_t n, void *data, uint64_t n_dropped);
typedef int rocp_kind_told(int32_t kind, void *data);
typedef int rocp_agents_told(int32_t version, const void **agents, size_t n, void *data);
typedef int rocp_initialize(void (*finalize)(void), void *data);
typedef void rocp_finalize(void *data);

struct rocp_tool {
	size_t size;
	rocp_initialize *initialize;
	rocp_finalize *finalize;
	void *data;
};

/* FUNCTION(name without "rocprofiler_", parameters) */
#define ROCP_FUNCTIONS(FUNCTION)                                                                   \
	FUNCTION(create_context, (rocp_handle * context))                                          \
	FUNCTION(start_context, (rocp_handle context))                                             \
	FUNCTION(stop_context, (rocp_handle context))                                              \
	FUNCTION(create_buffer, (rocp_handle context, size_t size, size_t watermark, int policy,   \
				 rocp_buffer_told *told, void *data, rocp_handle *buffer))         \
	FUNCTION(flush_buffer, (rocp_handle buffer))                                               \
	FUNCTION(configure_buffer_tracing_service,                                                 \
		 (rocp_handle context, int32_t kind, const int32_t *operations,                    \
		  size_t n_operations, rocp_handle buffer))                                        \
	FUNCTION(configure_callback_tracing_service,                                               \
		 (rocp_handle context, int32_t kind, const int32_t *operations,                    \
		  size_t n_operations, void *told, void *data))                                    \
	FUNCTION(iterate_buffer_tracing_kinds, (rocp_kind_told * told, void *data))                \
	FUNCTION(iterate_callback_tracing_kinds, (rocp_kind_told * told, void *data))              \
	FUNCTION(query_buffer_tracing_kind_name,                                                   \
		 (int32_t kind, const char **name, uint64_t *length))                              \
	FUNCTION(query_callback_tracing_kind_name,                                                 \
		 (int32_t kind, const char **name, uint64_t *length))                              \
	FUNCTION(query_callback_tracing_kind_operation_name,                                       \
		 (int32_t kind, int32_t operation, const char **name, uint64_t *length))           \
	FUNCTION(query_available_agents,                                                           \
		 (int32_t version, rocp_agents_told * told, size_t agent_size, void *data))        \
	FUNCTION(get_timestamp, (uint64_t * ns))

#endif
