/* rocprofiler_calls: calls of HIP (and HSA, RCCL), ranges and marks of ROCTx, memory of devices and names of kernels, as rocprofiler-sdk calls back for
 * them: in the thread that calls, before and after.
 *
 * (1) A call's `id` is rocprofiler-sdk's correlation, which the device's work has too.
 * (2) An end without its begin ends nothing; a begin without its end is ended with the call that it lies in.
 * (3) In a child of a fork nothing is told: rocprofiler-sdk does not follow there. */
#ifndef TACHO_ROCPROFILER_CALLS_H
#define TACHO_ROCPROFILER_CALLS_H

#include <stdbool.h>

#include "rocprofiler/rocprofiler_library.h"

/* Correlations are numbered by rocprofiler-sdk from 1 on: apart from other runtimes', exact as a double. */
#define ROCP_CORRELATION(internal) ((internal) ? (UINT64_C(5) << 50) + (internal) : 0)

/* Kinds that this version has not are left out. `always` is the context of what is told also while no calls are wanted: names of kernels, and
 * regions. False: there are no calls of HIP. */
bool rocp_calls_configure(const struct rocp *rocp, rocp_handle always, rocp_handle calls,
			  bool has_hsa);
/* Whether this process is a child of one that had been configured: rocprofiler-sdk's threads are not in it. */
bool rocp_is_child(void);
/* A call of HIP's begins (ROCP_ENTER) or ends, for who measures what that costs. */
void rocp_call_told(int32_t phase, uint64_t correlation);

#endif
