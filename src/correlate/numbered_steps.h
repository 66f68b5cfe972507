/* numbered_steps: the steps of all ranks by their number, recorded ones and control steps. */
#ifndef TACHO_NUMBERED_STEPS_H
#define TACHO_NUMBERED_STEPS_H

#include <tacho/timeline.h>

struct numbered_step {
	guint32 number;
	guint32 n_recorded, n_control; /* ranks that completed it */
	gint64 sum_ns;		       /* over these */
	gint64 start_ns;	       /* of the rank that began it last */
};

/* struct numbered_step, by number, in a new array: those that a rank completed at least. */
GArray *numbered_steps(const TachoTimeline *timeline);

static inline const struct numbered_step *numbered_step_at(const GArray *steps, guint index)
{
	return &g_array_index(steps, struct numbered_step, index);
}

#endif
