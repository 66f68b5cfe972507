/* hip_abi: types of HIP's functions, as far as they are recorded: what is a handle there is a pointer here, which is passed alike. HIP's own headers are for a compiler of
 * devices, and are not wanted for a build. */
#ifndef TACHO_HIP_ABI_H
#define TACHO_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int hipError_t; /* 0: success */
typedef int hipMemcpyKind, hipStreamCaptureMode;
typedef void *hipDeviceptr_t, *hipStream_t, *hipEvent_t, *hipFunction_t, *hipModule_t, *hipGraph_t,
	*hipGraphExec_t, *hipGraphNode_t;
typedef struct dim3 {
	uint32_t x, y, z;
} dim3;

enum {
	HIP_NOT_FOUND = 500, /* hipErrorNotFound */
	HIP_NOT_READY = 600, /* hipErrorNotReady: no failure */
};

#endif
