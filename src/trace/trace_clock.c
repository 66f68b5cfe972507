#include "trace/trace_clock.h"

#include <tacho/timeline.h>

#define NS_PER_S	 G_GUINT64_CONSTANT(1000000000)
#define LATEST_NS	 ((guint64)TACHO_MAX_TIME_NS)
#define MAX_OFFSET_S	 (LATEST_NS / NS_PER_S / 2)
#define MAX_OFFSET_TICKS (G_GUINT64_CONSTANT(1) << 60)
#define MIN_FREQUENCY_HZ G_GUINT64_CONSTANT(1000)
#define MAX_FREQUENCY_HZ G_GUINT64_CONSTANT(100000000000)

gboolean trace_clock_init(struct trace_clock *clock, guint64 frequency_hz, guint64 offset_s,
			  guint64 offset_ticks)
{
	unsigned __int128 multiplier, max_ticks;
	guint shift = 63;

	if (frequency_hz < MIN_FREQUENCY_HZ || frequency_hz > MAX_FREQUENCY_HZ ||
	    offset_s > MAX_OFFSET_S || offset_ticks > MAX_OFFSET_TICKS)
		return FALSE;
	do
		multiplier =
			(((unsigned __int128)NS_PER_S << shift) + frequency_hz - 1) / frequency_hz;
	while (multiplier > G_MAXUINT64 && shift--);
	max_ticks = (unsigned __int128)(LATEST_NS - offset_s * NS_PER_S) * frequency_hz / NS_PER_S;
	max_ticks = MIN(max_ticks, LATEST_NS);
	if (max_ticks <= offset_ticks)
		return FALSE;
	clock->frequency_hz = frequency_hz;
	clock->offset_ticks = offset_ticks;
	clock->offset_ns = (gint64)(offset_s * NS_PER_S);
	clock->multiplier = (guint64)multiplier;
	clock->shift = shift;
	clock->max_ticks = (guint64)max_ticks - offset_ticks;
	return TRUE;
}

guint64 trace_clock_ticks_from(const struct trace_clock *clock, gint64 unix_ns)
{
	guint64 from = 0, end = clock->max_ticks + 1;

	while (from < end) {
		guint64 middle = from + (end - from) / 2;

		if (trace_clock_unix_ns(clock, middle) < unix_ns)
			from = middle + 1;
		else
			end = middle;
	}
	return from;
}
