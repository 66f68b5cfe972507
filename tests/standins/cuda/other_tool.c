/* Another tool of CUPTI's, which the driver loads as it does the probe (CUDA_INJECTION64_PATH): it is told of all calls and of kernels, and does nothing.
 * So a launch with it takes what CUPTI takes (bench/device_calls.sh). */
#include <stdint.h>
#include <stdlib.h>

#include "cuda/cupti_abi.h"

#define BUFFER_BYTES (1 << 20)

int cuptiSubscribe(void **subscriber, cupti_callback *function, void *data);
int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain);
int cuptiActivityRegisterCallbacks(cupti_request_buffer *requests,
				   cupti_buffer_complete *completes);
int cuptiActivityEnable(uint32_t kind);
int InitializeInjection(void);

static void told(void *data, uint32_t domain, uint32_t id, const void *what)
{
	(void)data, (void)domain, (void)id, (void)what;
}

static void give(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = malloc(BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static void take(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t n_valid)
{
	(void)context, (void)stream, (void)size, (void)n_valid;
	free(buffer);
}

int InitializeInjection(void)
{
	void *subscriber;

	if (cuptiSubscribe(&subscriber, told, NULL) != CUPTI_SUCCESS)
		return 0;
	cuptiEnableDomain(1, subscriber, CUPTI_RUNTIME_API);
	cuptiEnableDomain(1, subscriber, CUPTI_DRIVER_API);
	cuptiActivityRegisterCallbacks(give, take);
	cuptiActivityEnable(CUPTI_CONCURRENT_KERNEL);
	return 1;
}
