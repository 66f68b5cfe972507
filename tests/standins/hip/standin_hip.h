/* standin_hip: what our program calls of HIP. */
#ifndef STANDIN_HIP_H
#define STANDIN_HIP_H

#include "hip/hip_abi.h"

hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
			   size_t shared_bytes, hipStream_t stream);
hipError_t hipModuleGetFunction(hipFunction_t *found, hipModule_t module, const char *name);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
				 unsigned int grid_z, unsigned int block_x, unsigned int block_y,
				 unsigned int block_z, unsigned int shared_bytes,
				 hipStream_t stream, void **arguments, void **extra);
hipError_t hipMalloc(void **memory, size_t size);
hipError_t hipFree(void *memory);
hipError_t hipMemcpyAsync(void *target, const void *source, size_t size, hipMemcpyKind kind,
			  hipStream_t stream);
hipError_t hipMemcpy(void *target, const void *source, size_t size, hipMemcpyKind kind);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipDeviceSynchronize(void);

#endif
