/* standin_rocprofiler: the part of HIP, RCCL and ROCTx that the job uses. One library plays these, rocprofiler-register, rocprofiler-sdk and two devices. */
#ifndef STANDIN_ROCPROFILER_H
#define STANDIN_ROCPROFILER_H

#include <stddef.h>
#include <stdint.h>

struct standin_kernel {
	const char *name;
	uint64_t ns;
	uint64_t id; /* the stand-in's; 0 at first */
};

int hipMalloc(void **memory, size_t bytes);
int hipFree(void *memory);
/* `way`: 1 host to device, 2 device to host, 3 within a device, 4 to the other device. */
int hipMemcpyAsync(void *target, const void *source, size_t bytes, int way, int stream);
int hipLaunchKernel(struct standin_kernel *kernel, uint32_t blocks, uint32_t threads,
		    uint32_t shared, int stream);
int hipDeviceSynchronize(void);
int ncclAllReduce(size_t bytes);
void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);

#endif
