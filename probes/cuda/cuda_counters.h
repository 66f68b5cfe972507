/* cuda_counters: hardware counters, where they are asked for: of devices, sampled (`tacho record --counters`, counter_sampler.h). Without
 * TACHO_COUNTERS nothing here does anything. */
#ifndef TACHO_CUDA_COUNTERS_H
#define TACHO_CUDA_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

struct cupti;

/* Once CUPTI has its clock (cuda_clock.h): read what is wanted, and have contexts told. The library stays as it is. */
void cuda_counters_start(const struct cupti *cupti, void *subscriber, bool is_on);
/* CUPTI tells of a context that is made, in the thread that makes it. */
void cuda_counters_context(const struct cupti *cupti, void *context);
void cuda_counters_switch(bool is_on);
void cuda_counters_end(void);

#endif
