/* rocprofiler_counters: hardware counters kernel by kernel (`tacho record --kernel-counters`), as COUNTER records at the begin of their kernel.
 *
 *     a kernel is about to be queued ---> rocprofiler-sdk asks what is to be counted of it
 *     it is over ---> values, in a thread of rocprofiler-sdk's ---> they wait until its begin is told (rocprofiler_records.h) ---> COUNTER
 *
 * (1) While it counts, rocprofiler-sdk runs the kernels of a device one by one: what this run says of times is not the job's.
 * (2) RCCL's kernels wait for those of other ranks: they are not counted.
 * (3) What fits into a device's counters at once is counted, in the order of the list; the rest is said. A counter's instances (shader engines,
 *     memory channels) are added up.
 * (4) Without TACHO_KERNEL_COUNTERS nothing here does anything. */
#ifndef TACHO_ROCPROFILER_COUNTERS_H
#define TACHO_ROCPROFILER_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "rocprofiler/rocprofiler_library.h"

/* After rocp_agents_find(). */
void rocp_counters_configure(const struct rocp *rocp);
/* Whether what is launched from now on is counted. */
void rocp_counters_switch(bool is_on);
/* The kernel of that dispatch began at `ticks`. */
void rocp_counters_began(uint64_t dispatch, uint64_t ticks);
/* When all kernels have been told: what is left. */
void rocp_counters_end(void);

#endif
