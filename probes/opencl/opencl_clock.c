#include "opencl/opencl_clock.h"

#define DRIFT_PPM    50 /* of oscillators; (2) finds out where it is more */
#define MAX_PPM	     100000
#define LITTLE_NS    200 /* a better shift is not worth a change */
#define TICKS_OF(ns) ((int64_t)(((__int128)(ns)*tacho_clock_scale) >> 40))

static uint32_t drift_ppm(const struct opencl_clock *clock)
{
	return clock->drift_ppm ? clock->drift_ppm : DRIFT_PPM;
}

static void contradict(struct opencl_clock *clock)
{
	if (drift_ppm(clock) < MAX_PPM)
		clock->drift_ppm = 2 * drift_ppm(clock);
}

static void start(struct opencl_clock *clock, uint64_t ns, uint64_t ticks)
{
	if (clock->has_low || clock->has_high)
		return;
	clock->pair = tacho_clock_pair_at(ns, ticks);
	clock->bounded_ns = ns;
}

/* The interval as it is at `ns`. */
static void widen(struct opencl_clock *clock, uint64_t ns)
{
	int64_t more;

	if (ns <= clock->bounded_ns)
		return;
	more = TICKS_OF((ns - clock->bounded_ns) * drift_ppm(clock) / 1000000);
	clock->low -= more;
	clock->high += more;
	clock->bounded_ns = ns;
}

static int64_t middle(const struct opencl_clock *clock)
{
	return clock->low + (clock->high - clock->low) / 2;
}

static int64_t error_of(const struct opencl_clock *clock)
{
	int64_t below = clock->shift - clock->low, above = clock->high - clock->shift;

	return below > above ? below : above;
}

/* `was_bounded`: from both sides, before the last bound. */
static void choose(struct opencl_clock *clock, bool was_bounded)
{
	if (!clock->has_low || !clock->has_high) {
		clock->shift = clock->has_low ? clock->low : clock->high;
		return;
	}
	if (!was_bounded || error_of(clock) > clock->high - clock->low ||
	    (error_of(clock) > TICKS_OF(LITTLE_NS) &&
	     error_of(clock) * 9 > (clock->high - clock->low) * 8))
		clock->shift = middle(clock);
}

void opencl_clock_not_before(struct opencl_clock *clock, uint64_t ns, uint64_t ticks)
{
	bool was_bounded = clock->has_low && clock->has_high;
	int64_t low;

	if (!ns)
		return;
	start(clock, ns, ticks);
	widen(clock, ns);
	low = (int64_t)(ticks - tacho_ticks_at(&clock->pair, ns));
	if (!clock->has_low || low > clock->low)
		clock->low = low;
	clock->has_low = true;
	if (clock->has_high && clock->low > clock->high) {
		clock->has_high = false;
		clock->low = low;
		contradict(clock);
	}
	choose(clock, was_bounded);
}

void opencl_clock_not_after(struct opencl_clock *clock, uint64_t ns, uint64_t ticks)
{
	bool was_bounded = clock->has_low && clock->has_high;
	int64_t high;

	if (!ns)
		return;
	start(clock, ns, ticks);
	widen(clock, ns);
	high = (int64_t)(ticks - tacho_ticks_at(&clock->pair, ns));
	if (!clock->has_high || high < clock->high)
		clock->high = high;
	clock->has_high = true;
	if (clock->has_low && clock->low > clock->high) {
		clock->has_low = false;
		clock->high = high;
		contradict(clock);
	}
	choose(clock, was_bounded);
}

uint64_t opencl_clock_ticks(const struct opencl_clock *clock, uint64_t ns)
{
	return ns ? tacho_ticks_at(&clock->pair, ns) + (uint64_t)clock->shift : 0;
}

uint64_t opencl_clock_error_ns(const struct opencl_clock *clock)
{
	if (!clock->has_low || !clock->has_high)
		return UINT64_MAX;
	return (uint64_t)(((__int128)error_of(clock) << 40) / tacho_clock_scale);
}
