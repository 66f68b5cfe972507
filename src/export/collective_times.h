/* collective_times: what collectives take once all their ranks have come, for those who plan by it. */
#ifndef TACHO_COLLECTIVE_TIMES_H
#define TACHO_COLLECTIVE_TIMES_H

#include <tacho/timeline.h>

/* From when the last member had begun to when the last one ended: no rank's waiting for others is in it. 0: it did not end, or
 * members do not fit together. */
gint64 collective_busy_ns(const TachoTimeline *timeline, const TachoCollective *collective);
/* The collective that each slice is a member of, as index; TACHO_NONE: of none. To be freed with g_free(). */
guint32 *collective_of_slices(const TachoTimeline *timeline);

#endif
