/* trace_clock: from the ticks of a trace to nanoseconds, in integers only.
 *
 *     Unix time = offset_s seconds + (offset_ticks + ticks) / frequency_hz
 *
 * The division is a multiplication by ceil(2^shift * 10^9 / frequency_hz), which has 63 significant
 * bits: wrong by less than a thousandth of a nanosecond in a month of ticks, and exact where a tick
 * is a nanosecond.
 *
 * (1) Later ticks never give an earlier time.
 * (2) Ticks up to max_ticks give a time below 2^62 ns; larger ones must not be converted. */
#ifndef TACHO_TRACE_CLOCK_H
#define TACHO_TRACE_CLOCK_H

#include <glib.h>

struct trace_clock {
	guint64 frequency_hz;
	guint64 offset_ticks;
	gint64 offset_ns;
	guint64 multiplier;
	guint shift;
	guint64 max_ticks;
};

/* False where no sane clock is described. */
gboolean trace_clock_init(struct trace_clock *clock, guint64 frequency_hz, guint64 offset_s,
			  guint64 offset_ticks);

/* The least ticks of that time or a later one; max_ticks + 1: there are none. */
guint64 trace_clock_ticks_from(const struct trace_clock *clock, gint64 unix_ns);

static inline gint64 trace_clock_unix_ns(const struct trace_clock *clock, guint64 ticks)
{
	unsigned __int128 product =
		(unsigned __int128)(clock->offset_ticks + ticks) * clock->multiplier;

	return clock->offset_ns + (gint64)(product >> clock->shift);
}

#endif
