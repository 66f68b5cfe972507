/* memory_total: bytes allocated over time. What was handed out before the recording began is seen
 * only when it is given back; so the total starts at what is needed to never be negative. */
#ifndef TACHO_MEMORY_TOTAL_H
#define TACHO_MEMORY_TOTAL_H

#include <tacho/timeline.h>

/* The sum wraps, since a broken trace may hold any number. */
static inline gint64 memory_total_after(gint64 total, const TachoMemoryEvent *event)
{
	return (gint64)((guint64)total + (guint64)event->bytes);
}

/* The total before the first of the `n` memory events `rows`, which are in order of time. */
static inline gint64 memory_total_start(const TachoTimeline *timeline, const guint32 *rows,
					guint32 n)
{
	gint64 total = 0, lowest = 0;

	for (guint32 i = 0; i < n; i++) {
		total = memory_total_after(
			total, &g_array_index(timeline->memory, TachoMemoryEvent, rows[i]));
		lowest = MIN(lowest, total);
	}
	return (gint64) - (guint64)lowest;
}

#endif
