/* counter_sampler: hardware counters of whole devices, sampled by their performance monitors (CUPTI's PM sampling, 12.6 and later), as
 * COUNTER records of the device.
 *
 *     a context is made ----> the thread sets its device up: what to count, how often; and starts it
 *     every 20 ms             ... decodes what the device has put into its buffer, and writes samples
 *     --steps, --control      ... stops it, and starts it again
 *     the end                 ... stops it, and writes the rest
 *
 * (1) All calls of CUPTI's for it are made by one thread of the probe's: the job waits for none of them but, no longer than END_MS,
 *     for the last.
 * (2) A sample's value holds from the sample's begin on. Its times are on the clock of CUPTI's activities (cuda_clock.h).
 * (3) What the hardware's buffer had no room for is counted as lost: by the time that is missing between two samples.
 * (4) A device that fails is left alone from then on, and said; others go on. A child of a fork begins anew.
 *
 * CUPTI's objects are not destroyed at the end of the process: cuptiPmSamplingDisable() of CUDA 12.8 is known to free twice then. */
#ifndef TACHO_COUNTER_SAMPLER_H
#define TACHO_COUNTER_SAMPLER_H

#include <stdint.h>

#include "cuda/counter_library.h"
#include "common/counter_list.h"

struct counter_sampler_options {
	const struct counter_library *library; /* these two stay */
	const struct counter_list *list;
	uint64_t interval_ns;
	bool is_on;
};

/* Nothing is counted before a device is named. */
void counter_sampler_start(const struct counter_sampler_options *options);
/* The process uses the device. In a thread of the job's, which waits for nothing. */
void counter_sampler_add(uint32_t device);
/* Whether counters are wanted now. */
void counter_sampler_switch(bool is_on);
/* The process ends, and counters with it. */
void counter_sampler_end(void);

#endif
