#include "rocprofiler/rocprofiler_ranges.h"

#include "common/probe.h"
#include "common/region_stack.h"

#define DOMAIN	 ((const void *)&open_ranges) /* regions of ROCTx's own stack */
#define N_RANGES 1024 /* started and not stopped: what is more is not recorded */

/* What roctxRangeStart returned, and what region_start() did. */
static struct open_range {
	uint64_t id; /* atomic; 0: free, for ROCTx counts from 1 on */
	uint64_t number;
} open_ranges[N_RANGES];

/* What the thread is about to start: rocprofiler-sdk tells the text before, the id after. */
static _Thread_local uint64_t starting;

static void keep(uint64_t id, uint64_t number)
{
	struct open_range *range = &open_ranges[id % N_RANGES];
	uint64_t none = 0;

	if (!id || !number)
		return;
	if (__atomic_load_n(&range->id, __ATOMIC_ACQUIRE)) {
		region_end(number);
		return;
	}
	__atomic_store_n(&range->number, number, __ATOMIC_RELAXED);
	if (!__atomic_compare_exchange_n(&range->id, &none, id, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		region_end(number);
}

static void end(uint64_t id)
{
	struct open_range *range = &open_ranges[id % N_RANGES];
	uint64_t number = __atomic_load_n(&range->number, __ATOMIC_RELAXED);

	if (id && __atomic_compare_exchange_n(&range->id, &id, 0, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED))
		region_end(number);
}

struct named {
	const char *message;
	uint32_t class_id;
};

static void find_class(void *named_pointer)
{
	struct named *named = named_pointer;

	named->class_id = region_class_anew(TRACE_KIND_ANNOTATION, NULL, named->message);
}

static void mark(void *message)
{
	region_mark("ROCTx", message, 0, "");
}

static void take_message(int32_t operation, const char *message)
{
	struct named named = { message, 0 };

	if (operation == ROCP_MARK) {
		tacho_run_aside(mark, (void *)(uintptr_t)message);
		return;
	}
	tacho_run_aside(find_class, &named);
	if (operation == ROCP_PUSH)
		region_open(TRACE_KIND_ANNOTATION, named.class_id, DOMAIN, 0);
	else
		starting = region_start(named.class_id, 0);
}

void rocp_marker_told(int32_t operation, int32_t phase, const struct rocp_marker_call *call)
{
	bool has_message =
		operation == ROCP_MARK || operation == ROCP_PUSH || operation == ROCP_RANGE_START;

	if (phase == ROCP_ENTER && has_message) {
		take_message(operation, call->given.message ? call->given.message : "?");
	} else if (phase == ROCP_ENTER && operation == ROCP_RANGE_STOP) {
		end(call->given.id);
	} else if (phase == ROCP_EXIT && operation == ROCP_POP) {
		region_close(DOMAIN);
	} else if (phase == ROCP_EXIT && operation == ROCP_RANGE_START) {
		keep(call->returned, starting);
		starting = 0;
	}
}
