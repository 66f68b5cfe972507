/* opencl_clock: when something was, by the trace's clock, that a device tells by a clock of its own.
 *
 * OpenCL tells times of commands in nanoseconds of a clock that it does not name. What is known are bounds: a command is queued within
 * the call that queues it, does not begin before, and has ended once its end was told. Each bounds from one side how far the trace's clock is ahead:
 *
 *     call begins - queued <= shift <= call ends - queued,    call begins - start <= shift <= now - end
 *
 * (1) All bounds together leave an interval; a shift within it is taken, and stays as long as it is within it, unless a better one
 *     at least halves the error. So what a queue did one after the other is told so.
 * (2) The interval grows by 50 ns a millisecond, as clocks may drift; if it is empty, what was told last counts, and it grows twice as
 *     fast from then on.
 * (3) Where the device tells its clock (clGetDeviceAndHostTimer), this is one more pair of bounds. */
#ifndef TACHO_OPENCL_CLOCK_H
#define TACHO_OPENCL_CLOCK_H

#include "common/activity.h"

/* Zero before its first use. Whoever uses it holds a lock. */
struct opencl_clock {
	struct tacho_clock_pair pair; /* some moment, and what is taken for it in ticks */
	int64_t low, high;	      /* ticks: bounds of what must be added to that */
	int64_t shift;		      /* ticks: what is added */
	uint64_t bounded_ns;	      /* the device's time of the last bound */
	uint32_t drift_ppm;	      /* by which the interval grows; 0: as at first */
	bool has_low, has_high;
};

/* At `ns` of the device it was `ticks` or later; or earlier. `ns` 0 says nothing. */
void opencl_clock_not_before(struct opencl_clock *clock, uint64_t ns, uint64_t ticks);
void opencl_clock_not_after(struct opencl_clock *clock, uint64_t ns, uint64_t ticks);

/* 0 stays 0. */
uint64_t opencl_clock_ticks(const struct opencl_clock *clock, uint64_t ns);

/* By how many nanoseconds times may be wrong; UINT64_MAX: nobody knows. */
uint64_t opencl_clock_error_ns(const struct opencl_clock *clock);

#endif
