/* The clock of a device, bounded by what cannot be otherwise: by hand, with ticks of a nanosecond. */
#include "opencl/opencl_clock.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t tacho_clock_scale = UINT64_C(1) << 40;

#define CHECK(what, found, expected)                                                               \
	do {                                                                                       \
		if ((uint64_t)(found) != (uint64_t)(expected)) {                                   \
			printf("%s: %llu, not %llu\n", what, (unsigned long long)(found),          \
			       (unsigned long long)(expected));                                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define DAYS UINT64_C(1000000000000000)

static void bounds_from_both_sides(void)
{
	struct opencl_clock clock = { 0 };

	CHECK("no bound", opencl_clock_error_ns(&clock), UINT64_MAX);
	/* queued at 5000 of the device, in a call from 1000 to 3000 */
	opencl_clock_not_before(&clock, DAYS + 5000, 1000);
	CHECK("one bound", opencl_clock_error_ns(&clock), UINT64_MAX);
	opencl_clock_not_after(&clock, DAYS + 5000, 3000);
	CHECK("the middle", opencl_clock_ticks(&clock, DAYS + 5000), 2000);
	CHECK("half the interval", opencl_clock_error_ns(&clock), 1000);
	CHECK("not known stays so", opencl_clock_ticks(&clock, 0), 0);
	/* it ended 10 later, and that was told at 2000: the shift was 10 too much */
	opencl_clock_not_after(&clock, DAYS + 5010, 2000);
	CHECK("a new middle", opencl_clock_ticks(&clock, DAYS + 5000), 1495);
	CHECK("its error", opencl_clock_error_ns(&clock), 495);
	/* a bound that changes little is no reason to jump */
	opencl_clock_not_after(&clock, DAYS + 5010, 1980);
	CHECK("the same shift", opencl_clock_ticks(&clock, DAYS + 5000), 1495);
}

static void drift(void)
{
	struct opencl_clock clock = { 0 };

	opencl_clock_not_before(&clock, DAYS, 1000);
	opencl_clock_not_after(&clock, DAYS, 1100);
	CHECK("at first", opencl_clock_error_ns(&clock), 50);
	/* a second later each bound may be wrong by 50 us more; these leave 300 ns around 40 us of drift */
	opencl_clock_not_before(&clock, DAYS + 1000000000, 1000040900);
	opencl_clock_not_after(&clock, DAYS + 1000000000, 1000041200);
	CHECK("drifted", opencl_clock_ticks(&clock, DAYS + 1000000000), 1000041050);
	CHECK("and its error", opencl_clock_error_ns(&clock), 150);
}

/* More than clocks drift: what is told last counts, and from then on the interval grows faster. */
static void contradiction(void)
{
	struct opencl_clock clock = { 0 };

	opencl_clock_not_before(&clock, DAYS, 1000);
	opencl_clock_not_after(&clock, DAYS, 1100);
	opencl_clock_not_before(&clock, DAYS + 1000, 900000);
	opencl_clock_not_after(&clock, DAYS + 1000, 900100);
	CHECK("the last", opencl_clock_ticks(&clock, DAYS + 1000), 900050);
	CHECK("faster", clock.drift_ppm, 100);
}

int main(void)
{
	bounds_from_both_sides();
	drift();
	contradiction();
	return 0;
}
