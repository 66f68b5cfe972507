/* stack_checks: whether exports of stacks (folded, pprof) and of who calls whom (dot) say what the timeline does. Each figure
 * is found once more from the slices, in another way than exports find it. Whoever finds a difference ends the test.
 *
 * (1) A moment of a thread is its slice's that began last of those that are open then: by looking at all of them, moment
 *     by moment.
 * (2) The stack of a slice is those of the slices around it, whose names have no control characters. */
#ifndef TACHO_STACK_CHECKS_H
#define TACHO_STACK_CHECKS_H

#include <tacho/timeline.h>

/* `path` is an export of the whole timeline. */
void stack_check_folded(const TachoTimeline *timeline, const gchar *path);
void stack_check_pprof(const TachoTimeline *timeline, const gchar *path);
void stack_check_dot(const TachoTimeline *timeline, const gchar *path);

/* The time in which any slice is open, of all tracks: no part of the timeline has more. */
guint64 stack_total_ns(const TachoTimeline *timeline);

#endif
