/* cuda_clock: brings CUPTI's times to the trace's clock.
 *
 * Where CUPTI takes a clock of ours (cuptiActivityRegisterTimestampCallback(), 11.6 and later), it is given the trace's, once, and its
 * times are exact to a nanosecond's rounding: how well CUPTI fits a device's clock to it is CUPTI's. Where it does not, its clock is
 * followed (common/device_clock.h), again whenever a buffer comes. 0 stays 0. */
#ifndef TACHO_CUDA_CLOCK_H
#define TACHO_CUDA_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct cupti;
struct device_clock;

/* Before anything of CUPTI is switched on. */
void cuda_clock_start(const struct cupti *cupti);
/* False: CUPTI's clock has jumped since it was read last, and when is not known. */
bool cuda_clock_follow(void);
/* One thread at a time. */
uint64_t cuda_clock_ticks(uint64_t ns);
/* Nanoseconds that times may be off by, as far as it is known here. */
uint64_t cuda_clock_error_ns(void);

/* The same clock for another thread, which has what it knows of it in `clock` (its `pair` brings times to the trace's clock). */
void cuda_clock_begin(struct device_clock *clock, const struct cupti *cupti);
/* As cuda_clock_follow(). */
bool cuda_clock_keep(struct device_clock *clock);

#endif
