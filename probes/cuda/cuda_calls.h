/* cuda_calls: calls of CUDA's runtime and driver, as they are made: CUPTI tells of the begin and the end of each.
 *
 * (1) A call that the runtime makes of the driver is part of the runtime's.
 * (2) Calls that only ask for something cheap, and are made for every operation, are not told of (cuda_calls.c lists them).
 * (3) An end without its begin ends nothing; a begin without its end is ended with the call that it lies in. */
#ifndef TACHO_CUDA_CALLS_H
#define TACHO_CUDA_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct cupti;

/* Switch what is told on (once) and off. */
void cuda_calls_enable(const struct cupti *cupti, void *subscriber, bool is_on);

/* What CUPTI calls. */
void cuda_calls_told(void *cupti, uint32_t domain, uint32_t id, const void *told);

#endif
