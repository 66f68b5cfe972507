/* rocprofiler_ranges: ranges and marks that programs tell by ROCTx: pushed and popped, they are regions of their thread; started, they may end in any. */
#ifndef TACHO_ROCPROFILER_RANGES_H
#define TACHO_ROCPROFILER_RANGES_H

#include "rocprofiler/rocprofiler_abi.h"

void rocp_marker_told(int32_t operation, int32_t phase, const struct rocp_marker_call *call);

#endif
