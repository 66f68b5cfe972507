#include "cuda/cuda_counters.h"

#include <stdlib.h>

#include "common/probe.h"
#include "cuda/counter_sampler.h"
#include "cuda/cupti_library.h"

#define COUNTERS_VARIABLE "TACHO_COUNTERS"	 /* NAME,NAME...; "default" */
#define EVERY_VARIABLE	  "TACHO_COUNTERS_EVERY" /* microseconds */
#define EVERY_US	  1000
#define EVERY_MOST_US	  1000000

static struct counter_library library;
static struct counter_list list;

static uint64_t interval_ns(void)
{
	const char *text = getenv(EVERY_VARIABLE);
	unsigned long us = text && *text ? strtoul(text, NULL, 10) : EVERY_US;

	return UINT64_C(1000) * (us && us <= EVERY_MOST_US ? us : EVERY_US);
}

static void start_sampling(const char *text, bool is_on)
{
	struct counter_sampler_options options = {
		.library = &library, .list = &list, .interval_ns = interval_ns(), .is_on = is_on
	};

	if (!counter_list_parse(&list, text, DEFAULT_SAMPLED_COUNTERS))
		tacho_unseen(COUNTERS_UNSEEN, "of so many counters the first %u are counted",
			     list.n);
	if (list.n)
		counter_sampler_start(&options);
}

void cuda_counters_start(const struct cupti *cupti, void *subscriber, bool is_on)
{
	const char *text = getenv(COUNTERS_VARIABLE), *missing = NULL;

	if (!text || !*text)
		return;
	if (!counter_library_load(&library, cupti, &missing)) {
		tacho_unseen(COUNTERS_UNSEEN,
			     "CUPTI (%s) has no %s; counters are counted with 12.6 and later",
			     cupti->path, missing);
		return;
	}
	start_sampling(text, is_on);
	cupti->EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_CONTEXT_CREATED);
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
}

void cuda_counters_end(void)
{
	counter_sampler_end();
}
