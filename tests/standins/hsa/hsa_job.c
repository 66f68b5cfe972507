/* hsa_job [N]: a program that uses AMD's HSA runtime as HIP does, linked with the stand-in: N rounds of memory, copies, kernels in a queue, a barrier. It says
 * where the times of its own signals are not those of what they were for, and where a copy that cannot be is not refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin_hsa.h"

static const struct standin_hsa_kernel gemm = { "Cijk_Ailk_Bljk_SB.kd", 40000 },
				       add = { "_Z3addPf.kd", 10000 };
static const hsa_agent_t host = { 1 }, device = { 2 };
static const hsa_amd_memory_pool_t pool = { 102 };

static void submit(hsa_queue_t *queue, const struct standin_hsa_kernel *kernel, hsa_signal_t signal)
{
	hsa_kernel_dispatch_packet_t *ring = queue->base_address, packet = { 0 };
	uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
	hsa_barrier_and_packet_t barrier = { .header = HSA_PACKET_TYPE_BARRIER_AND,
					     .completion_signal = signal };

	if (kernel) {
		const hsa_executable_symbol_t symbol = { (uint64_t)(uintptr_t)kernel };

		packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
		packet.workgroup_size_x = 256,
		packet.workgroup_size_y = packet.workgroup_size_z = 1;
		packet.grid_size_x = 1024, packet.grid_size_y = packet.grid_size_z = 1;
		packet.group_segment_size = 512;
		packet.completion_signal = signal;
		hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
					       &packet.kernel_object);
		ring[index % queue->size] = packet;
	} else {
		memcpy(&ring[index % queue->size], &barrier, sizeof(barrier));
	}
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void wait_for(hsa_signal_t signal)
{
	hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_BLOCKED);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;
	const hsa_signal_t none = { 0 };
	static char data[65536];
	hsa_signal_t signal;
	hsa_queue_t *queue;

	hsa_init();
	hsa_queue_create(device, 256, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue);
	hsa_signal_create(0, 0, NULL, &signal);
	for (int i = 0; i < n; i++) {
		hsa_amd_profiling_dispatch_time_t time = { 0, 0 };
		void *memory;

		hsa_amd_memory_pool_allocate(pool, sizeof(data), 0, &memory);
		hsa_signal_store_screlease(signal, 1);
		hsa_amd_memory_async_copy(memory, device, data, host, sizeof(data), 0, NULL,
					  signal);
		wait_for(signal);
		submit(queue, &gemm, none);
		submit(queue, &add, none);
		hsa_signal_store_screlease(signal, 1);
		submit(queue, &gemm, signal);
		wait_for(signal);
		hsa_amd_profiling_get_dispatch_time(device, signal, &time);
		if (time.end - time.start != 4000 && !getenv("STANDIN_FAULTS"))
			printf("the signal has other times: %llu\n",
			       (unsigned long long)(time.end - time.start));
		hsa_signal_store_screlease(signal, 1);
		submit(queue, NULL, signal);
		wait_for(signal);
		if (hsa_amd_memory_async_copy(memory, device, data, host, 0, 0, NULL, signal) ==
		    HSA_STATUS_SUCCESS)
			puts("a copy of nothing is not refused");
		hsa_amd_memory_pool_free(memory);
	}
	hsa_queue_destroy(queue);
	hsa_shut_down();
	puts("done");
	return 0;
}
