/* standin_hip: in place of libamdhip64.so: what a program of ours calls of HIP, done by the HSA runtime below (the stand-in for it). STANDIN_FAULTS:
 *
 *     refuses    every 5th launch is refused
 *     elsewhere  kernels are submitted by a thread of HIP's own */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hip/hip_abi.h"
#include "standin_hip.h"
#include "standin_hsa.h"

#define EXPORT __attribute__((visibility("default")))

static const hsa_agent_t host = { 1 }, device = { 2 };
static const hsa_amd_memory_pool_t pool = { 102 };
static hsa_queue_t *queue;
static hsa_signal_t signal_done;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int has_fault(const char *fault)
{
	const char *faults = getenv("STANDIN_FAULTS");

	return faults && strstr(faults, fault);
}

static void start(void)
{
	hsa_init();
	hsa_queue_create(device, 256, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue);
	hsa_signal_create(0, 0, NULL, &signal_done);
}

static void wait_for(hsa_signal_t signal)
{
	hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_BLOCKED);
}

struct launch {
	const struct standin_hsa_kernel *kernel;
	dim3 grid, block;
};

static void *submit(void *launch_pointer)
{
	const struct launch *launch = launch_pointer;
	hsa_kernel_dispatch_packet_t *ring = queue->base_address, packet = { 0 };
	uint64_t index;

	pthread_mutex_lock(&lock);
	index = hsa_queue_add_write_index_screlease(queue, 1);
	if (launch->kernel) {
		packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
		packet.workgroup_size_x = (uint16_t)launch->block.x;
		packet.workgroup_size_y = packet.workgroup_size_z = 1;
		packet.grid_size_x = launch->grid.x * launch->block.x;
		packet.grid_size_y = packet.grid_size_z = 1;
		/* nobody asks for its symbol */
		packet.kernel_object = (uint64_t)(uintptr_t)launch->kernel;
		ring[index % queue->size] = packet;
	} else {
		hsa_barrier_and_packet_t barrier = { .header = HSA_PACKET_TYPE_BARRIER_AND,
						     .completion_signal = signal_done };

		memcpy(&ring[index % queue->size], &barrier, sizeof(barrier));
	}
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static hipError_t launch_kernel(const struct standin_hsa_kernel *kernel, dim3 grid, dim3 block)
{
	static unsigned n; /* atomic */
	struct launch launch = { kernel, grid, block };
	pthread_t thread;

	pthread_once(&once, start);
	if (has_fault("refuses") && __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) % 5 == 0)
		return 1;
	if (!has_fault("elsewhere")) {
		submit(&launch);
		return 0;
	}
	pthread_create(&thread, NULL, submit, &launch);
	pthread_join(thread, NULL);
	return 0;
}

EXPORT void __hipRegisterFunction(void **modules, const void *host_function, char *device_function,
				  const char *device_name, unsigned thread_limit, void *thread,
				  void *block, void *block_size, void *grid_size, int *wave_size);

/* The host's function is what launches name; the kernel behind it is in its place here. */
void __hipRegisterFunction(void **modules, const void *host_function, char *device_function,
			   const char *device_name, unsigned thread_limit, void *thread,
			   void *block, void *block_size, void *grid_size, int *wave_size)
{
	(void)modules, (void)host_function, (void)device_function, (void)device_name;
	(void)thread_limit, (void)thread, (void)block, (void)block_size, (void)grid_size;
	(void)wave_size;
}

EXPORT hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
				  size_t shared_bytes, hipStream_t stream)
{
	(void)arguments, (void)shared_bytes, (void)stream;
	return launch_kernel(function, grid, block);
}

EXPORT hipError_t hipModuleGetFunction(hipFunction_t *found, hipModule_t module, const char *name)
{
	static struct standin_hsa_kernel of_module = { "unseen", 30000 };

	(void)module;
	if (strcmp(name, "_Z3mulPf") != 0)
		return HIP_NOT_FOUND;
	*found = &of_module;
	return 0;
}

EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x,
					unsigned int grid_y, unsigned int grid_z,
					unsigned int block_x, unsigned int block_y,
					unsigned int block_z, unsigned int shared_bytes,
					hipStream_t stream, void **arguments, void **extra)
{
	(void)shared_bytes, (void)stream, (void)arguments, (void)extra;
	return launch_kernel(function, (dim3){ grid_x, grid_y, grid_z },
			     (dim3){ block_x, block_y, block_z });
}

EXPORT hipError_t hipMalloc(void **memory, size_t size)
{
	pthread_once(&once, start);
	return hsa_amd_memory_pool_allocate(pool, size, 0, memory) != HSA_STATUS_SUCCESS;
}

EXPORT hipError_t hipFree(void *memory)
{
	return hsa_amd_memory_pool_free(memory) != HSA_STATUS_SUCCESS;
}

EXPORT hipError_t hipStreamSynchronize(hipStream_t stream)
{
	struct launch barrier = { 0 };

	(void)stream;
	pthread_once(&once, start);
	hsa_signal_store_screlease(signal_done, 1);
	submit(&barrier);
	wait_for(signal_done);
	return 0;
}

EXPORT hipError_t hipMemcpyAsync(void *target, const void *source, size_t size, hipMemcpyKind kind,
				 hipStream_t stream)
{
	(void)kind, (void)stream;
	pthread_once(&once, start);
	hsa_signal_store_screlease(signal_done, 1);
	if (hsa_amd_memory_async_copy(target, device, source, host, size, 0, NULL, signal_done) !=
	    HSA_STATUS_SUCCESS)
		return 1;
	wait_for(signal_done);
	return 0;
}

/* By its own functions, as the real one may. */
EXPORT hipError_t hipMemcpy(void *target, const void *source, size_t size, hipMemcpyKind kind)
{
	return hipMemcpyAsync(target, source, size, kind, NULL) || hipStreamSynchronize(NULL);
}

EXPORT hipError_t hipDeviceSynchronize(void)
{
	return hipStreamSynchronize(NULL);
}
