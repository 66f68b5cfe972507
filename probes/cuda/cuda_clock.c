#include "cuda/cuda_clock.h"

#include "common/activity.h"
#include "cuda/cupti_library.h"

#define N_PAIRS 9 /* readings, of which the narrowest counts */
#define DRIFT_SHARE                                                                                \
	500 /* a clock that is off by a larger part of what has passed has jumped (NTP slews by 1/2000) */
#define FOLLOW_NS (50 * 1000000u) /* a drift is told from noise over no less */

static struct tacho_clock_pair pair;
static bool is_ours;
static uint64_t error_ns;

static uint64_t ns_of_ticks(uint64_t ticks)
{
	return tacho_clock_scale ? (uint64_t)(((unsigned __int128)ticks << 40) / tacho_clock_scale)
				 : 0;
}

static uint64_t trace_clock(void)
{
	return ns_of_ticks(tacho_ticks());
}

static uint64_t read_pair(const struct cupti *cupti, struct tacho_clock_pair *read)
{
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < N_PAIRS; i++) {
		uint64_t before = tacho_ticks(), after, ns = 0;

		if (cupti->GetTimestamp(&ns) != CUPTI_SUCCESS || !ns)
			continue;
		after = tacho_ticks();
		if (after - before >= narrowest)
			continue;
		narrowest = after - before;
		*read = tacho_clock_pair_at(ns, before + narrowest / 2);
	}
	return narrowest;
}

static void widen_error(uint64_t ticks)
{
	uint64_t ns = ns_of_ticks(ticks);

	if (ns > error_ns)
		error_ns = ns;
}

void cuda_clock_start(const struct cupti *cupti)
{
	uint64_t width;

	error_ns = 0;
	/* once a process: CUPTI mixes up times where it is registered again */
	if (!is_ours && cupti->ActivityRegisterTimestampCallback &&
	    cupti->ActivityRegisterTimestampCallback(trace_clock) == CUPTI_SUCCESS)
		is_ours = true;
	pair = tacho_clock_pair_at(0, 0);
	if (is_ours)
		return;
	width = read_pair(cupti, &pair);
	if (width != UINT64_MAX)
		widen_error(width / 2);
}

bool cuda_clock_follow(const struct cupti *cupti)
{
	struct tacho_clock_pair now;
	uint64_t width, expected, off, since;

	if (is_ours)
		return true;
	width = read_pair(cupti, &now);
	if (width == UINT64_MAX)
		return false;
	expected = tacho_ticks_at(&pair, now.ns);
	off = expected > now.ticks ? expected - now.ticks : now.ticks - expected;
	since = now.ticks - pair.ticks;
	if (off > width + since / DRIFT_SHARE || now.ns < pair.ns) {
		pair = now;
		return false;
	}
	widen_error(width / 2 + off);
	if (now.ns - pair.ns < FOLLOW_NS)
		return true;
	tacho_clock_pair_follow(&pair, &now);
	now.scale = pair.scale;
	pair = now;
	return true;
}

uint64_t cuda_clock_ticks(uint64_t ns)
{
	return tacho_ticks_at(&pair, ns);
}

uint64_t cuda_clock_error_ns(void)
{
	return error_ns;
}
