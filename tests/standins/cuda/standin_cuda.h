/* standin_cuda: the functions of CUDA that the stand-ins have, as NVIDIA declares them, for programs of ours. */
#ifndef STANDIN_CUDA_H
#define STANDIN_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef struct standin_stream *cudaStream_t; /* NULL: the stream 7 */
typedef struct standin_event *cudaEvent_t;
typedef struct standin_graph *cudaGraph_t;
typedef struct standin_graph_exec *cudaGraphExec_t;

struct dim3 {
	unsigned x, y, z;
};

enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };

int cuInit(unsigned flags);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra);
int cudaSetDevice(int device);
int cudaMalloc(void **pointer, size_t bytes);
int cudaMallocManaged(void **pointer, size_t bytes, unsigned flags);
int cudaFree(void *pointer);
int cudaStreamCreate(cudaStream_t *stream);
int cudaEventCreate(cudaEvent_t *event);
int cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
/* `function`: a struct standin_kernel, in place of the address of a kernel's stub. */
int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **args,
		     size_t shared, cudaStream_t stream);
int cudaMemcpyAsync(void *target, const void *source, size_t bytes, int way, cudaStream_t stream);
int cudaMemcpyPeerAsync(void *target, int target_device, const void *source, int source_device,
			size_t bytes, cudaStream_t stream);
int cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream);
int cudaStreamSynchronize(cudaStream_t stream);
int cudaDeviceSynchronize(void);
int cudaStreamBeginCapture(cudaStream_t stream, int mode);
int cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
int cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, uint64_t flags);
int cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);

struct standin_kernel {
	const char *name;
	uint64_t ns;
};

#endif
