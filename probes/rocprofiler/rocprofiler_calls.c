#include "rocprofiler/rocprofiler_calls.h"

#include <pthread.h>
#include <string.h>

#include "common/activity.h"
#include "common/region_stack.h"
#include "rocprofiler/rocprofiler_agents.h"
#include "rocprofiler/rocprofiler_kernels.h"
#include "rocprofiler/rocprofiler_ranges.h"

#define N_OPERATIONS 1024 /* of an interface; HIP has some 500 */
#define DEEPEST	     16

static const struct rocp *library;
static uint32_t is_child; /* of a fork, where no lock of ours can be trusted */

bool rocp_is_child(void)
{
	return __atomic_load_n(&is_child, __ATOMIC_RELAXED);
}

/* One call back, in either layout. */
struct told {
	uint64_t correlation;
	int32_t kind, operation, phase;
	void *payload;
};

/* What calls back, and what becomes of it. */
struct interface {
	const char *name;
	void (*take)(struct interface *interface, const struct told *told);
	uint32_t classes[N_OPERATIONS]; /* atomic; 0: not declared yet */
};

/* --- calls ---------------------------------------------------------------------------------- */

struct open_call {
	struct record_slice *record; /* NULL: dropped */
	uint64_t correlation;
};

static _Thread_local struct thread_calls {
	uint32_t generation;
	uint32_t n; /* open, those that are too deep among them */
	struct open_call open[DEEPEST];
} calls;

struct asked {
	struct interface *interface;
	const struct told *told;
	uint32_t class_id;
};

static void declare(void *asked_pointer)
{
	struct asked *asked = asked_pointer;
	const struct told *told = asked->told;
	const char *name = NULL;
	uint64_t length = 0;

	if (library->query_callback_tracing_kind_operation_name(told->kind, told->operation, &name,
								&length) != ROCP_SUCCESS ||
	    !name)
		name = asked->interface->name;
	asked->class_id = tacho_class(TRACE_KIND_RUNTIME, name, strlen(name));
}

static uint32_t class_of(struct interface *interface, const struct told *told)
{
	uint32_t at = (uint32_t)told->operation;
	struct asked asked = { interface, told, 0 };

	if (at < N_OPERATIONS)
		asked.class_id = __atomic_load_n(&interface->classes[at], __ATOMIC_ACQUIRE);
	if (asked.class_id)
		return asked.class_id;
	tacho_run_aside(declare, &asked);
	if (at < N_OPERATIONS)
		__atomic_store_n(&interface->classes[at], asked.class_id, __ATOMIC_RELEASE);
	return asked.class_id;
}

static struct thread_calls *calls_now(void)
{
	if (TACHO_UNLIKELY(calls.generation != tacho_generation())) {
		calls.n = 0;
		calls.generation = tacho_generation();
	}
	return &calls;
}

static void begin_call(struct interface *interface, const struct told *told)
{
	struct thread_calls *self = calls_now();
	struct open_call *open;

	if (self->n++ >= DEEPEST)
		return;
	open = &self->open[self->n - 1];
	open->correlation = told->correlation;
	open->record =
		tacho_slice_begin(class_of(interface, told), ROCP_CORRELATION(told->correlation));
}

static void end_call(uint64_t correlation)
{
	struct thread_calls *self = calls_now();
	uint32_t at;

	if (self->n > DEEPEST) {
		self->n--;
		return;
	}
	for (at = self->n; at && self->open[at - 1].correlation != correlation;)
		at--;
	while (at && self->n >= at)
		tacho_slice_finish(self->open[--self->n].record);
}

static void take_call(struct interface *interface, const struct told *told)
{
	if (told->phase == ROCP_ENTER)
		begin_call(interface, told);
	else if (told->phase == ROCP_EXIT)
		end_call(told->correlation);
}

/* --- the others ------------------------------------------------------------------------------ */

static void take_kernel(struct interface *interface, const struct told *told)
{
	(void)interface;
	if (told->operation == ROCP_KERNEL_SYMBOL && told->phase == ROCP_ENTER)
		rocp_kernel_named(told->payload);
}

static void take_marker(struct interface *interface, const struct told *told)
{
	(void)interface;
	if (told->payload)
		rocp_marker_told(told->operation, told->phase, told->payload);
}

/* Whose memory is at an address: who takes it back is not told so. A place that another address takes loses the first. */
#define N_ADDRESSES 16384
static struct {
	uint64_t address; /* atomic */
	int device;	  /* atomic */
} owners[N_ADDRESSES];

static unsigned place_of(uint64_t address)
{
	return (unsigned)(address >> 12 ^ address >> 24) % N_ADDRESSES;
}

static int take_owner(uint64_t address)
{
	unsigned at = place_of(address);
	int device = __atomic_load_n(&owners[at].device, __ATOMIC_RELAXED);

	return __atomic_compare_exchange_n(&owners[at].address, &address, 0, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
		       ? device
		       : -1;
}

static void set_owner(uint64_t address, int device)
{
	__atomic_store_n(&owners[place_of(address)].device, device, __ATOMIC_RELAXED);
	__atomic_store_n(&owners[place_of(address)].address, address, __ATOMIC_RELEASE);
}

/* That of the host is not a device's. */
static void take_memory(struct interface *interface, const struct told *told)
{
	const struct rocp_memory *memory = told->payload;
	bool is_free = told->operation == ROCP_FREE || told->operation == ROCP_VMEM_FREE;
	int device;

	if (!memory || memory->size < sizeof(*memory) || !memory->address ||
	    told->operation < ROCP_ALLOCATE || told->operation > ROCP_VMEM_FREE ||
	    told->phase != (is_free ? ROCP_ENTER : ROCP_EXIT))
		return;
	device = is_free ? take_owner(memory->address) : rocp_agent_device(memory->agent);
	if (device < 0)
		return;
	if (!is_free)
		set_owner(memory->address, device);
	tacho_device_memory(region_class(is_free ? TRACE_KIND_DEVICE_FREE : TRACE_KIND_DEVICE_ALLOC,
					 NULL, interface->name),
			    device, memory->address, is_free ? 0 : memory->bytes);
}

static struct interface hip = { .name = "HIP call", .take = take_call },
			hsa = { .name = "HSA call", .take = take_call },
			hsa_amd = { .name = "HSA call", .take = take_call },
			rccl = { .name = "RCCL call", .take = take_call },
			marker = { .name = "ROCTx", .take = take_marker },
			memory = { .name = "rocprofiler", .take = take_memory },
			code = { .name = "code object", .take = take_kernel };

/* --- what is called ------------------------------------------------------------------------- */

/* Names are always; regions also of ranks that are recorded in part; what has begun may end. */
static bool is_wanted(const struct interface *interface, const struct told *told)
{
	if (interface == &code)
		return true;
	if (tacho_writer.is_inside)
		return false;
	if (interface == &marker)
		return tacho_is_recording();
	return tacho_is_recording_all() ||
	       (told->phase == ROCP_EXIT && interface->take == take_call);
}

static void take(struct interface *interface, const struct told *told)
{
	if (!interface || rocp_is_child())
		return;
	if (!is_wanted(interface, told))
		return;
	interface->take(interface, told);
}

static void call_0_told(struct rocp_call_0 record, uint64_t *user_data, void *data)
{
	struct told told = { record.correlation, record.kind, record.operation, record.phase,
			     record.payload };

	(void)user_data;
	take(data, &told);
}

static void call_1_told(struct rocp_call_1 record, uint64_t *user_data, void *data)
{
	struct told told = { record.correlation, record.kind, record.operation, record.phase,
			     record.payload };

	(void)user_data;
	take(data, &told);
}

static void in_child(void)
{
	__atomic_store_n(&is_child, 1, __ATOMIC_RELAXED);
}

static bool configure(rocp_handle context, const char *kind_name, struct interface *interface)
{
	int32_t kind = rocp_callback_kind(library, kind_name);
	void *told =
		library->version >= ROCP_WITH_ANCESTOR ? (void *)call_1_told : (void *)call_0_told;

	return kind >= 0 && library->configure_callback_tracing_service(
				    context, kind, NULL, 0, told, interface) == ROCP_SUCCESS;
}

bool rocp_calls_configure(const struct rocp *rocp, rocp_handle always, rocp_handle calls_context,
			  bool has_hsa)
{
	library = rocp;
	pthread_atfork(NULL, NULL, in_child);
	configure(always, "CODE_OBJECT", &code);
	configure(always, "MARKER_CORE_API", &marker);
	configure(calls_context, "MEMORY_ALLOCATION", &memory);
	configure(calls_context, "RCCL_API", &rccl);
	if (has_hsa) {
		configure(calls_context, "HSA_CORE_API", &hsa);
		configure(calls_context, "HSA_AMD_EXT_API", &hsa_amd);
	}
	return configure(calls_context, "HIP_RUNTIME_API", &hip);
}

void rocp_call_told(int32_t phase, uint64_t correlation)
{
	struct told told = { correlation, -1, N_OPERATIONS - 1, phase, NULL };

	take(&hip, &told);
}
