/* step_coverage: whether steps that nobody annotated hold what the process did. */
#ifndef TACHO_STEP_COVERAGE_H
#define TACHO_STEP_COVERAGE_H

#include <tacho/timeline.h>

/* Whether a moment lies in one of `steps` (TachoStep, by time). */
gboolean step_coverage_holds(const GArray *steps, gint64 time_ns);

/* Whether they hold at least half of what the process's devices did, by time, and of what its threads did, by
 * count: a process may begin slowly, but what repeats elsewhere in less than half of its work is not what it
 * is about. */
gboolean step_coverage_is_most(const TachoTimeline *timeline, guint32 process, const GArray *steps);

#endif
