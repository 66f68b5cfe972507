/* record_lttng: the peer of record.c: the same slice as a pair of LTTng-UST tracepoints. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "record_lttng_events.h"
#include "record_lttng.h"

bool lttng_is_tracing(void)
{
	return lttng_ust_tracepoint_enabled(tacho_bench, slice_begin);
}

unsigned int lttng_pairs(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		lttng_ust_tracepoint(tacho_bench, slice_begin, i);
		__asm__ volatile("" ::: "memory");
		lttng_ust_tracepoint(tacho_bench, slice_end);
	}
	return 0; /* its own tools say how many were lost */
}
