/* step_path: the critical path of a step.
 *
 * Every node knows whose end let it begin. From the last node of the rank that ends the step last, that leads back, from
 * rank to rank, to the moment the step began there. What lies between a node's cause and its own end is that node's, so
 * the times add up to the step. A time in which the path is still in the step before, on a rank that is behind, is of
 * what was done there.
 *
 * Where a step is over only when a device is (step_times.c), the path ends with what that did last, and begins as
 * much later than the step as the device was behind when it was recorded. */
#ifndef TACHO_STEP_PATH_H
#define TACHO_STEP_PATH_H

#include "replay/replay_internal.h"

/* The node has the path in [begin_ns, end_ns), which may be empty. */
typedef void (*StepPathVisit)(guint32 node, gint64 begin_ns, gint64 end_ns, gpointer data);

/* Walk from the end of the step back to step_path_begin_ns(). `last` is of the rank that ends the step last
 * (replay_last_spans()). */
void step_path_visit(const TachoReplay *replay, const struct step_span *last, StepPathVisit visit,
		     gpointer data);

/* When the path begins. */
gint64 step_path_begin_ns(const struct step_span *last);

#endif
