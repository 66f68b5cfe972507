/* Calls of the HSA runtime and of AMD's extensions, as they are made. What is asked and set many times for each operation (loads and stores of
 * signals, indices of queues) is not told of. */
#include <string.h>

#include "common/activity.h"
#include "common/region_stack.h"
#include "hsa/hsa_probe.h"

static uint64_t n_correlations; /* atomic */

static bool is_wanted(void)
{
	return tacho_is_recording_all() && !tacho_writer.is_inside;
}

static struct record_slice *begin(const char *name, uint64_t correlation)
{
	return is_wanted() ? tacho_slice_begin(region_class(TRACE_KIND_RUNTIME, NULL, name),
					       correlation)
			   : NULL;
}

/* A function that does what the runtime's does, within a slice. */
#define WRAP(table, name, parameters, arguments)                                                   \
	static hsa_status_t our_##name parameters                                                  \
	{                                                                                          \
		struct record_slice *slice = begin(#name, 0);                                      \
		hsa_status_t status = table.name arguments;                                        \
                                                                                                   \
		tacho_slice_finish(slice);                                                         \
		return status;                                                                     \
	}

WRAP(hsa_core, hsa_queue_destroy, (hsa_queue_t * queue), (queue))
WRAP(hsa_core, hsa_memory_register, (void *memory, size_t bytes), (memory, bytes))
WRAP(hsa_core, hsa_memory_deregister, (void *memory, size_t bytes), (memory, bytes))
WRAP(hsa_core, hsa_memory_allocate, (hsa_region_t region, size_t bytes, void **memory),
     (region, bytes, memory))
WRAP(hsa_core, hsa_memory_free, (void *memory), (memory))
WRAP(hsa_core, hsa_memory_copy, (void *target, const void *source, size_t bytes),
     (target, source, bytes))
WRAP(hsa_core, hsa_signal_create,
     (hsa_signal_value_t value, uint32_t n, const hsa_agent_t *agents, hsa_signal_t *signal),
     (value, n, agents, signal))
WRAP(hsa_core, hsa_signal_destroy, (hsa_signal_t signal), (signal))
WRAP(hsa_core, hsa_executable_destroy, (hsa_executable_t executable), (executable))
WRAP(hsa_core, hsa_executable_freeze, (hsa_executable_t executable, const char *options),
     (executable, options))
WRAP(hsa_amd, hsa_amd_agents_allow_access,
     (uint32_t n, const hsa_agent_t *agents, const uint32_t *flags, const void *memory),
     (n, agents, flags, memory))
WRAP(hsa_amd, hsa_amd_memory_lock,
     (void *host, size_t bytes, hsa_agent_t *agents, int n, void **memory),
     (host, bytes, agents, n, memory))
WRAP(hsa_amd, hsa_amd_memory_unlock, (void *host), (host))
WRAP(hsa_amd, hsa_amd_memory_fill, (void *memory, uint32_t value, size_t n), (memory, value, n))
WRAP(hsa_amd, hsa_amd_signal_create,
     (hsa_signal_value_t value, uint32_t n, const hsa_agent_t *agents, uint64_t attributes,
      hsa_signal_t *signal),
     (value, n, agents, attributes, signal))

static hsa_signal_value_t our_hsa_signal_wait_relaxed(hsa_signal_t signal,
						      hsa_signal_condition_t condition,
						      hsa_signal_value_t compared, uint64_t timeout,
						      hsa_wait_state_t state)
{
	struct record_slice *slice = begin("hsa_signal_wait_relaxed", 0);
	hsa_signal_value_t value =
		hsa_core.hsa_signal_wait_relaxed(signal, condition, compared, timeout, state);

	tacho_slice_finish(slice);
	return value;
}

static hsa_signal_value_t our_hsa_signal_wait_scacquire(hsa_signal_t signal,
							hsa_signal_condition_t condition,
							hsa_signal_value_t compared,
							uint64_t timeout, hsa_wait_state_t state)
{
	struct record_slice *slice = begin("hsa_signal_wait_scacquire", 0);
	hsa_signal_value_t value =
		hsa_core.hsa_signal_wait_scacquire(signal, condition, compared, timeout, state);

	tacho_slice_finish(slice);
	return value;
}

static hsa_status_t our_hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
					 void (*callback)(hsa_status_t, hsa_queue_t *, void *),
					 void *data, uint32_t private_bytes, uint32_t group_bytes,
					 hsa_queue_t **queue)
{
	struct record_slice *slice = begin("hsa_queue_create", 0);
	hsa_status_t status = hsa_queue_make(agent, size, type, callback, data, private_bytes,
					     group_bytes, queue);

	tacho_slice_finish(slice);
	return status;
}

/* Who asks for a kernel's object is about to launch it by that: its name is known then. */
static hsa_status_t our_hsa_executable_symbol_get_info(hsa_executable_symbol_t symbol,
						       hsa_executable_symbol_info_t what,
						       void *value)
{
	struct record_slice *slice = begin("hsa_executable_symbol_get_info", 0);
	hsa_status_t status = hsa_core.hsa_executable_symbol_get_info(symbol, what, value);

	if (status == HSA_STATUS_SUCCESS && what == HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT &&
	    value)
		hsa_kernel_name(*(uint64_t *)value, symbol);
	tacho_slice_finish(slice);
	return status;
}

/* Whose memory is at an address: who takes it back does not say. A place that another address takes loses the first. */
#define N_ADDRESSES 16384
static struct {
	uint64_t address; /* atomic */
	int device;
} owners[N_ADDRESSES];

static int owner_of(uint64_t address)
{
	unsigned at = (unsigned)(address >> 12 ^ address >> 24) % N_ADDRESSES;

	return __atomic_load_n(&owners[at].address, __ATOMIC_ACQUIRE) == address ? owners[at].device
										 : -1;
}

static void set_owner(uint64_t address, int device)
{
	unsigned at = (unsigned)(address >> 12 ^ address >> 24) % N_ADDRESSES;

	owners[at].device = device;
	__atomic_store_n(&owners[at].address, address, __ATOMIC_RELEASE);
}

static void tell_memory(enum trace_kind kind, int device, const void *memory, size_t bytes)
{
	if (is_wanted())
		tacho_device_memory(region_class(kind, NULL, "hsa pool"), device,
				    (uint64_t)(uintptr_t)memory, bytes);
}

static hsa_status_t our_hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t bytes,
						     uint32_t flags, void **memory)
{
	struct record_slice *slice = begin("hsa_amd_memory_pool_allocate", 0);
	hsa_status_t status = hsa_amd.hsa_amd_memory_pool_allocate(pool, bytes, flags, memory);

	if (status == HSA_STATUS_SUCCESS && memory) {
		set_owner((uint64_t)(uintptr_t)*memory, hsa_pool_device(pool));
		tell_memory(TRACE_KIND_DEVICE_ALLOC, hsa_pool_device(pool), *memory, bytes);
	}
	tacho_slice_finish(slice);
	return status;
}

static hsa_status_t our_hsa_amd_memory_pool_free(void *memory)
{
	struct record_slice *slice = begin("hsa_amd_memory_pool_free", 0);
	hsa_status_t status;

	if (memory)
		tell_memory(TRACE_KIND_DEVICE_FREE, owner_of((uint64_t)(uintptr_t)memory), memory,
			    0);
	status = hsa_amd.hsa_amd_memory_pool_free(memory);
	tacho_slice_finish(slice);
	return status;
}

static hsa_status_t our_hsa_amd_memory_async_copy(void *target, hsa_agent_t target_agent,
						  const void *source, hsa_agent_t source_agent,
						  size_t bytes, uint32_t n,
						  const hsa_signal_t *waited, hsa_signal_t signal)
{
	uint64_t own = __atomic_add_fetch(&n_correlations, 1, __ATOMIC_RELAXED) << 1;
	uint64_t above = tacho_device_call.correlation;
	uint64_t correlation = above ? above : own;
	struct record_slice *slice = begin("hsa_amd_memory_async_copy", above ? 0 : own);
	hsa_status_t status = hsa_copy_follow(target, target_agent, source, source_agent, bytes, n,
					      waited, signal, slice ? correlation : 0);

	tacho_slice_finish(slice);
	return status;
}

static hsa_status_t our_hsa_shut_down(void)
{
	struct record_slice *slice = begin("hsa_shut_down", 0);
	hsa_status_t status;

	hsa_work_finish();
	status = hsa_core.hsa_shut_down();
	tacho_slice_finish(slice);
	return status;
}

void hsa_calls_put(struct hsa_core_table *core, struct hsa_amd_table *amd)
{
#define PUT(table, name) table->name = our_##name
	PUT(core, hsa_shut_down);
	PUT(core, hsa_queue_create);
	PUT(core, hsa_queue_destroy);
	PUT(core, hsa_memory_register);
	PUT(core, hsa_memory_deregister);
	PUT(core, hsa_memory_allocate);
	PUT(core, hsa_memory_free);
	PUT(core, hsa_memory_copy);
	PUT(core, hsa_signal_create);
	PUT(core, hsa_signal_destroy);
	PUT(core, hsa_signal_wait_relaxed);
	PUT(core, hsa_signal_wait_scacquire);
	PUT(core, hsa_executable_destroy);
	PUT(core, hsa_executable_freeze);
	PUT(core, hsa_executable_symbol_get_info);
	PUT(amd, hsa_amd_memory_pool_allocate);
	PUT(amd, hsa_amd_memory_pool_free);
	PUT(amd, hsa_amd_memory_async_copy);
	PUT(amd, hsa_amd_agents_allow_access);
	PUT(amd, hsa_amd_memory_lock);
	PUT(amd, hsa_amd_memory_unlock);
	PUT(amd, hsa_amd_memory_fill);
	PUT(amd, hsa_amd_signal_create);
#undef PUT
}
