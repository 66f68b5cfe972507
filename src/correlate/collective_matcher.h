/* collective_matcher: the same collective, seen from each of its ranks, for those who need no rows of
 * it. */
#ifndef TACHO_COLLECTIVE_MATCHER_H
#define TACHO_COLLECTIVE_MATCHER_H

#include <tacho/timeline.h>

/* The slices of one collective; `is_exact`: surely of one. */
typedef void (*CollectiveVisit)(const guint32 *slices, guint n_slices, gboolean is_exact,
				gpointer data);

/* Match the collectives as match_collectives() does, group by group, and show each to `visit`; the
 * timeline stays as it is. `is_by_order`: by their order alone, without comparing times of different
 * ranks. Returns whether any rank lacked a collective. */
gboolean collective_matches_visit(TachoTimeline *timeline, gboolean is_by_order,
				  CollectiveVisit visit, gpointer data);

/* When each collective was queued, as far as is known, else when it began; by slice. To be freed with g_free(). */
gint64 *collective_queue_times(const TachoTimeline *timeline);

#endif
