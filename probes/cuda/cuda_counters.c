#include "cuda/cuda_counters.h"

#include <stdlib.h>

#include "common/probe.h"
#include "cuda/counter_sampler.h"
#include "cuda/cupti_library.h"
#include "cuda/kernel_counters.h"

#define COUNTERS_VARIABLE "TACHO_COUNTERS" /* NAME,NAME...; "default" */
#define KERNELS_VARIABLE                                                                           \
	"TACHO_KERNEL_COUNTERS" /* ... of kernels; where there are both, these are not counted */
#define EVERY_VARIABLE "TACHO_COUNTERS_EVERY" /* microseconds */
#define EVERY_US       1000
#define EVERY_MOST_US  1000000

static struct counter_library library;
static struct counter_list list;

static uint64_t interval_ns(void)
{
	const char *text = getenv(EVERY_VARIABLE);
	unsigned long us = text && *text ? strtoul(text, NULL, 10) : EVERY_US;

	return UINT64_C(1000) * (us && us <= EVERY_MOST_US ? us : EVERY_US);
}

static bool parse_list(const char *text, const char *default_text)
{
	if (!counter_list_parse(&list, text, default_text))
		tacho_unseen(COUNTERS_UNSEEN, "of so many counters the first %u are counted",
			     list.n);
	return list.n > 0;
}

static void start_sampling(const char *text, const struct cupti *cupti, void *subscriber,
			   bool is_on)
{
	struct counter_sampler_options options = {
		.library = &library, .list = &list, .interval_ns = interval_ns(), .is_on = is_on
	};

	if (!parse_list(text, DEFAULT_SAMPLED_COUNTERS))
		return;
	counter_sampler_start(&options);
	cupti->EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_CONTEXT_CREATED);
}

void cuda_counters_start(const struct cupti *cupti, void *subscriber, bool is_on)
{
	const char *sampled = getenv(COUNTERS_VARIABLE), *kernels = getenv(KERNELS_VARIABLE);
	const char *missing = NULL;
	bool has_sampled = sampled && *sampled, has_kernels = kernels && *kernels;

	if (!has_sampled && !has_kernels)
		return;
	if (!counter_library_load(&library, cupti, &missing))
		tacho_unseen(COUNTERS_UNSEEN,
			     "CUPTI (%s) has no %s; counters are counted with 12.6 and later",
			     cupti->path, missing);
	else if (has_sampled)
		start_sampling(sampled, cupti, subscriber, is_on);
	else if (parse_list(kernels, DEFAULT_KERNEL_COUNTERS))
		kernel_counters_start(&library, &list, is_on);
}

void cuda_counters_context(const struct cupti *cupti, void *context)
{
	uint32_t device = 0;

	if (context && cupti->GetDeviceId(context, &device) == CUPTI_SUCCESS)
		counter_sampler_add(device);
}

void cuda_counters_switch(bool is_on)
{
	counter_sampler_switch(is_on);
	kernel_counters_switch(is_on);
}

void cuda_counters_call(const struct cupti_call *call, uint32_t correlation)
{
	kernel_counters_call(call, correlation);
}

void cuda_counters_kernel(uint32_t correlation, uint32_t device, uint64_t ticks)
{
	counter_sampler_add(device); /* should its context not have been told */
	kernel_counters_began(correlation, ticks);
}

void cuda_counters_stop(void)
{
	counter_sampler_end();
	kernel_counters_stop();
}

void cuda_counters_end(void)
{
	kernel_counters_end();
}
