/* standin_counters: what the halves of the stand-in for CUPTI have of each other. */
#ifndef STANDIN_COUNTERS_H
#define STANDIN_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

struct cupti_kernel;

/* CLOCK_MONOTONIC's time on the clock that CUPTI tells. */
uint64_t standin_counters_clock(uint64_t mono_ns);
/* The device runs a kernel (at CLOCK_MONOTONIC's times). Whether it is told as an activity. */
bool standin_counters_kernel(const struct cupti_kernel *kernel);

#endif
