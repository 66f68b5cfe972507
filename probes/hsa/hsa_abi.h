/* hsa_abi: the tables of functions that the HSA runtime hands to a tool (HSA_TOOLS_LIB), for C. AMD's header of them
 * (hsa/hsa_api_trace.h) is C++; the functions themselves are declared by hsa/hsa.h and hsa/hsa_ext_amd.h. The facts are from the headers of
 * ROCm 5.2 (Debian's libhsa-runtime-dev); later versions have appended functions to the tables.
 *
 * The runtime calls OnLoad() of each library that HSA_TOOLS_LIB names, at the end of hsa_init(). What a tool writes into the tables is
 * what programs call from then on; what was there is the runtime's own. */
#ifndef TACHO_HSA_ABI_H
#define TACHO_HSA_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/amd_hsa_signal.h>

/* Only for tools. */
typedef void (*hsa_amd_queue_intercept_packet_writer)(const void *packets, uint64_t n);
typedef void (*hsa_amd_queue_intercept_handler)(const void *packets, uint64_t n, uint64_t index,
						void *data,
						hsa_amd_queue_intercept_packet_writer writer);
hsa_status_t hsa_amd_queue_intercept_register(hsa_queue_t *queue,
					      hsa_amd_queue_intercept_handler handler, void *data);
hsa_status_t hsa_amd_queue_intercept_create(
	hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue);

/* In the order of the table, as far as it is used. */
#define HSA_CORE_FUNCTIONS(FUNCTION)                                                               \
	FUNCTION(hsa_init)                                                                         \
	FUNCTION(hsa_shut_down)                                                                    \
	FUNCTION(hsa_system_get_info)                                                              \
	FUNCTION(hsa_system_extension_supported)                                                   \
	FUNCTION(hsa_system_get_extension_table)                                                   \
	FUNCTION(hsa_iterate_agents)                                                               \
	FUNCTION(hsa_agent_get_info)                                                               \
	FUNCTION(hsa_queue_create)                                                                 \
	FUNCTION(hsa_soft_queue_create)                                                            \
	FUNCTION(hsa_queue_destroy)                                                                \
	FUNCTION(hsa_queue_inactivate)                                                             \
	FUNCTION(hsa_queue_load_read_index_scacquire)                                              \
	FUNCTION(hsa_queue_load_read_index_relaxed)                                                \
	FUNCTION(hsa_queue_load_write_index_scacquire)                                             \
	FUNCTION(hsa_queue_load_write_index_relaxed)                                               \
	FUNCTION(hsa_queue_store_write_index_relaxed)                                              \
	FUNCTION(hsa_queue_store_write_index_screlease)                                            \
	FUNCTION(hsa_queue_cas_write_index_scacq_screl)                                            \
	FUNCTION(hsa_queue_cas_write_index_scacquire)                                              \
	FUNCTION(hsa_queue_cas_write_index_relaxed)                                                \
	FUNCTION(hsa_queue_cas_write_index_screlease)                                              \
	FUNCTION(hsa_queue_add_write_index_scacq_screl)                                            \
	FUNCTION(hsa_queue_add_write_index_scacquire)                                              \
	FUNCTION(hsa_queue_add_write_index_relaxed)                                                \
	FUNCTION(hsa_queue_add_write_index_screlease)                                              \
	FUNCTION(hsa_queue_store_read_index_relaxed)                                               \
	FUNCTION(hsa_queue_store_read_index_screlease)                                             \
	FUNCTION(hsa_agent_iterate_regions)                                                        \
	FUNCTION(hsa_region_get_info)                                                              \
	FUNCTION(hsa_agent_get_exception_policies)                                                 \
	FUNCTION(hsa_agent_extension_supported)                                                    \
	FUNCTION(hsa_memory_register)                                                              \
	FUNCTION(hsa_memory_deregister)                                                            \
	FUNCTION(hsa_memory_allocate)                                                              \
	FUNCTION(hsa_memory_free)                                                                  \
	FUNCTION(hsa_memory_copy)                                                                  \
	FUNCTION(hsa_memory_assign_agent)                                                          \
	FUNCTION(hsa_signal_create)                                                                \
	FUNCTION(hsa_signal_destroy)                                                               \
	FUNCTION(hsa_signal_load_relaxed)                                                          \
	FUNCTION(hsa_signal_load_scacquire)                                                        \
	FUNCTION(hsa_signal_store_relaxed)                                                         \
	FUNCTION(hsa_signal_store_screlease)                                                       \
	FUNCTION(hsa_signal_wait_relaxed)                                                          \
	FUNCTION(hsa_signal_wait_scacquire)                                                        \
	FUNCTION(hsa_signal_and_relaxed)                                                           \
	FUNCTION(hsa_signal_and_scacquire)                                                         \
	FUNCTION(hsa_signal_and_screlease)                                                         \
	FUNCTION(hsa_signal_and_scacq_screl)                                                       \
	FUNCTION(hsa_signal_or_relaxed)                                                            \
	FUNCTION(hsa_signal_or_scacquire)                                                          \
	FUNCTION(hsa_signal_or_screlease)                                                          \
	FUNCTION(hsa_signal_or_scacq_screl)                                                        \
	FUNCTION(hsa_signal_xor_relaxed)                                                           \
	FUNCTION(hsa_signal_xor_scacquire)                                                         \
	FUNCTION(hsa_signal_xor_screlease)                                                         \
	FUNCTION(hsa_signal_xor_scacq_screl)                                                       \
	FUNCTION(hsa_signal_exchange_relaxed)                                                      \
	FUNCTION(hsa_signal_exchange_scacquire)                                                    \
	FUNCTION(hsa_signal_exchange_screlease)                                                    \
	FUNCTION(hsa_signal_exchange_scacq_screl)                                                  \
	FUNCTION(hsa_signal_add_relaxed)                                                           \
	FUNCTION(hsa_signal_add_scacquire)                                                         \
	FUNCTION(hsa_signal_add_screlease)                                                         \
	FUNCTION(hsa_signal_add_scacq_screl)                                                       \
	FUNCTION(hsa_signal_subtract_relaxed)                                                      \
	FUNCTION(hsa_signal_subtract_scacquire)                                                    \
	FUNCTION(hsa_signal_subtract_screlease)                                                    \
	FUNCTION(hsa_signal_subtract_scacq_screl)                                                  \
	FUNCTION(hsa_signal_cas_relaxed)                                                           \
	FUNCTION(hsa_signal_cas_scacquire)                                                         \
	FUNCTION(hsa_signal_cas_screlease)                                                         \
	FUNCTION(hsa_signal_cas_scacq_screl)                                                       \
	FUNCTION(hsa_isa_from_name)                                                                \
	FUNCTION(hsa_isa_get_info)                                                                 \
	FUNCTION(hsa_isa_compatible)                                                               \
	FUNCTION(hsa_code_object_serialize)                                                        \
	FUNCTION(hsa_code_object_deserialize)                                                      \
	FUNCTION(hsa_code_object_destroy)                                                          \
	FUNCTION(hsa_code_object_get_info)                                                         \
	FUNCTION(hsa_code_object_get_symbol)                                                       \
	FUNCTION(hsa_code_symbol_get_info)                                                         \
	FUNCTION(hsa_code_object_iterate_symbols)                                                  \
	FUNCTION(hsa_executable_create)                                                            \
	FUNCTION(hsa_executable_destroy)                                                           \
	FUNCTION(hsa_executable_load_code_object)                                                  \
	FUNCTION(hsa_executable_freeze)                                                            \
	FUNCTION(hsa_executable_get_info)                                                          \
	FUNCTION(hsa_executable_global_variable_define)                                            \
	FUNCTION(hsa_executable_agent_global_variable_define)                                      \
	FUNCTION(hsa_executable_readonly_variable_define)                                          \
	FUNCTION(hsa_executable_validate)                                                          \
	FUNCTION(hsa_executable_get_symbol)                                                        \
	FUNCTION(hsa_executable_symbol_get_info)

/* In the order of the table, as far as it is used. */
#define HSA_AMD_FUNCTIONS(FUNCTION)                                                                \
	FUNCTION(hsa_amd_coherency_get_type)                                                       \
	FUNCTION(hsa_amd_coherency_set_type)                                                       \
	FUNCTION(hsa_amd_profiling_set_profiler_enabled)                                           \
	FUNCTION(hsa_amd_profiling_async_copy_enable)                                              \
	FUNCTION(hsa_amd_profiling_get_dispatch_time)                                              \
	FUNCTION(hsa_amd_profiling_get_async_copy_time)                                            \
	FUNCTION(hsa_amd_profiling_convert_tick_to_system_domain)                                  \
	FUNCTION(hsa_amd_signal_async_handler)                                                     \
	FUNCTION(hsa_amd_async_function)                                                           \
	FUNCTION(hsa_amd_signal_wait_any)                                                          \
	FUNCTION(hsa_amd_queue_cu_set_mask)                                                        \
	FUNCTION(hsa_amd_memory_pool_get_info)                                                     \
	FUNCTION(hsa_amd_agent_iterate_memory_pools)                                               \
	FUNCTION(hsa_amd_memory_pool_allocate)                                                     \
	FUNCTION(hsa_amd_memory_pool_free)                                                         \
	FUNCTION(hsa_amd_memory_async_copy)                                                        \
	FUNCTION(hsa_amd_agent_memory_pool_get_info)                                               \
	FUNCTION(hsa_amd_agents_allow_access)                                                      \
	FUNCTION(hsa_amd_memory_pool_can_migrate)                                                  \
	FUNCTION(hsa_amd_memory_migrate)                                                           \
	FUNCTION(hsa_amd_memory_lock)                                                              \
	FUNCTION(hsa_amd_memory_unlock)                                                            \
	FUNCTION(hsa_amd_memory_fill)                                                              \
	FUNCTION(hsa_amd_interop_map_buffer)                                                       \
	FUNCTION(hsa_amd_interop_unmap_buffer)                                                     \
	FUNCTION(hsa_amd_image_create)                                                             \
	FUNCTION(hsa_amd_pointer_info)                                                             \
	FUNCTION(hsa_amd_pointer_info_set_userdata)                                                \
	FUNCTION(hsa_amd_ipc_memory_create)                                                        \
	FUNCTION(hsa_amd_ipc_memory_attach)                                                        \
	FUNCTION(hsa_amd_ipc_memory_detach)                                                        \
	FUNCTION(hsa_amd_signal_create)                                                            \
	FUNCTION(hsa_amd_ipc_signal_create)                                                        \
	FUNCTION(hsa_amd_ipc_signal_attach)                                                        \
	FUNCTION(hsa_amd_register_system_event_handler)                                            \
	FUNCTION(hsa_amd_queue_intercept_create)                                                   \
	FUNCTION(hsa_amd_queue_intercept_register)

/* `size`: of the whole table, in the runtime that hands it out. */
struct hsa_table_head {
	uint32_t major, size, step, reserved;
};

#define HSA_MEMBER(name) __typeof__(name) *name;
struct hsa_core_table {
	struct hsa_table_head head;
	HSA_CORE_FUNCTIONS(HSA_MEMBER)
};

struct hsa_amd_table {
	struct hsa_table_head head;
	HSA_AMD_FUNCTIONS(HSA_MEMBER)
};
#undef HSA_MEMBER

struct hsa_tables {
	struct hsa_table_head head;
	struct hsa_core_table *core;
	struct hsa_amd_table *amd;
	void *finalizer, *image;
};

#endif
