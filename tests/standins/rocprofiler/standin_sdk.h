/* standin_sdk: between the halves of the stand-in: HIP and the devices (standin_hip.c) tell the sdk (standin_sdk.c). */
#ifndef STANDIN_SDK_H
#define STANDIN_SDK_H

#include <stdbool.h>

#include "rocprofiler/rocprofiler_abi.h"

#ifndef MAJOR
#define MAJOR 1
#endif

/* They have other numbers in each version, as in the real ones. */
enum standin_kind {
	KIND_NONE,
	KIND_HSA_CORE,
	KIND_HIP,
	KIND_MARKER,
	KIND_COPY,
	KIND_KERNEL,
#if MAJOR == 0
	KIND_PAGE_MIGRATION,
#endif
	KIND_SCRATCH,
	KIND_CODE,
	KIND_RCCL,
	KIND_MEMORY,
	N_KINDS,
};

enum { HIP_MALLOC, HIP_FREE, HIP_MEMCPY, HIP_LAUNCH, HIP_SYNCHRONIZE, N_HIP_CALLS };

#define GPU_0 7001
#define GPU_1 7002
#define HOST  7000

bool standin_fault(const char *name);
/* Load the tools, the first time. */
void standin_sdk_start(void);
uint64_t standin_ns(void);
/* Call back all that want it. */
void standin_sdk_call(int kind, int operation, int phase, uint64_t correlation, void *payload);
/* Put a record into each buffer that wants it. */
void standin_sdk_record(int kind, const void *record, size_t bytes);
/* A kernel is about to be queued: what is to be counted of it; 0: nothing. */
uint64_t standin_sdk_ask(const struct rocp_dispatch *dispatch);
/* It is over: tell what was counted of it. */
void standin_sdk_tell_values(const struct rocp_dispatch *dispatch, uint64_t config);
/* Hand on all buffers. */
void standin_sdk_flush(void);
/* Hand on buffers that are full enough. */
void standin_sdk_poll(void);

#endif
