#include "common/device_clock.h"

#define N_PAIRS 9 /* readings, of which the narrowest counts */
#define DRIFT_SHARE                                                                                \
	500 /* a clock that is off by a larger part of what has passed has jumped (NTP slews by 1/2000) */
#define FOLLOW_NS (50 * 1000000u) /* a drift is told from noise over no less */

static uint64_t read_pair(const struct device_clock *clock, struct tacho_clock_pair *read)
{
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < N_PAIRS; i++) {
		uint64_t before = tacho_ticks(), ns = clock->read(clock->runtime), after;

		after = tacho_ticks();
		if (!ns || after - before >= narrowest)
			continue;
		narrowest = after - before;
		*read = tacho_clock_pair_at(ns, before + narrowest / 2);
	}
	return narrowest;
}

static void widen_error(struct device_clock *clock, uint64_t ticks)
{
	uint64_t ns = tacho_clock_scale
			      ? (uint64_t)(((unsigned __int128)ticks << 40) / tacho_clock_scale)
			      : 0;

	if (ns > clock->error_ns)
		clock->error_ns = ns;
}

void device_clock_start(struct device_clock *clock, device_clock_read *read, const void *runtime)
{
	uint64_t width;

	*clock = (struct device_clock){ .read = read,
					.runtime = runtime,
					.pair = tacho_clock_pair_at(0, 0) };
	width = read_pair(clock, &clock->pair);
	if (width != UINT64_MAX)
		widen_error(clock, width / 2);
}

bool device_clock_follow(struct device_clock *clock)
{
	struct tacho_clock_pair *pair = &clock->pair, now;
	uint64_t width = read_pair(clock, &now), expected, off;

	if (width == UINT64_MAX)
		return false;
	expected = tacho_ticks_at(pair, now.ns);
	off = expected > now.ticks ? expected - now.ticks : now.ticks - expected;
	if (off > width + (now.ticks - pair->ticks) / DRIFT_SHARE || now.ns < pair->ns) {
		*pair = now;
		return false;
	}
	widen_error(clock, width / 2 + off);
	if (now.ns - pair->ns < FOLLOW_NS)
		return true;
	tacho_clock_pair_follow(pair, &now);
	now.scale = pair->scale;
	*pair = now;
	return true;
}
