/* outside_steps: how much of a rank's work lies in none of its steps, so that views leave it out. */
#ifndef TACHO_OUTSIDE_STEPS_H
#define TACHO_OUTSIDE_STEPS_H

#include "analyze/selection.h"

/* Work is what a rank's devices do; of a rank whose devices did nothing, the operations of its threads (those
 * inside others add nothing). What begins in no step is outside. */
struct outside_steps {
	gdouble outside_ns, total_ns; /* sums of durations */
	gboolean is_device;
};

/* A row a rank, by its index; ranks that are not chosen have zeros. The caller's, to be freed. */
struct outside_steps *outside_steps_measure(const struct selection *selection);

/* When the rank was there, but in none of its steps. To be initialized here. */
void outside_steps_moments(const TachoTimeline *timeline, guint rank_index,
			   struct interval_set *ret_moments);

/* Tell under the table how much it leaves out, where that is more than one percent of the work of a rank, and no steps
 * were asked for. */
void outside_steps_note(const struct selection *selection, TachoTable *table);

#endif
