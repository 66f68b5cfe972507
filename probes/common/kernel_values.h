/* kernel_values: values that wait for the begin of their kernel, and begins that wait for values: whichever comes later has both written. */
#ifndef TACHO_KERNEL_VALUES_H
#define TACHO_KERNEL_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/counter_list.h"

/* Of a process, for `n` values each, of these classes. False: there is no memory. */
bool kernel_values_start(unsigned n, const uint32_t classes[COUNTERS_MOST]);
/* Of the kernel of that correlation, which was launched at `ticks`. */
void kernel_values_add(uint32_t correlation, int32_t device, uint64_t launch_ticks,
		       const double values[COUNTERS_MOST]);
void kernel_values_began(uint32_t correlation, uint64_t ticks);
/* Write the values whose kernel was not told, at its launch. How many kernels there were. */
uint64_t kernel_values_end(void);

#endif
