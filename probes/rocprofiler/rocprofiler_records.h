/* rocprofiler_records: what rocprofiler-sdk tells of the devices' work in buffers, in a thread of its own, as records.
 *
 * (1) A record that says that it is shorter than what is read of it is counted as lost. So is what rocprofiler-sdk dropped, and what was done while
 *     its clock jumped.
 * (2) Kinds that are not known are passed over.
 * (3) Buffers that are full drop: the job is never made to wait for one. */
#ifndef TACHO_ROCPROFILER_RECORDS_H
#define TACHO_ROCPROFILER_RECORDS_H

#include <stdbool.h>

#include "rocprofiler/rocprofiler_library.h"

/* False: nothing will be told of kernels. */
bool rocp_records_configure(const struct rocp *rocp, rocp_handle context);
/* Have everything told that is in the buffer. */
void rocp_records_flush(void);
/* Nanoseconds that times may be off by, as far as it is known. */
uint64_t rocp_records_clock_error_ns(void);

#endif
