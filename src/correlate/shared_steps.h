/* shared_steps: what the owners of ranks (trace/run_share.h) tell each other of the steps that they found. */
#ifndef TACHO_SHARED_STEPS_H
#define TACHO_SHARED_STEPS_H

#include <tacho/timeline.h>

#include "trace/run_share.h"

/* Of one rank. */
struct shared_steps {
	guint32 source;	   /* TachoStepSource */
	guint32 is_marked; /* by marks */
	guint64 n_outside;
	GArray *steps, *control_steps; /* TachoStep; never NULL */
};

/* Have all of `n` ranks, by rank, be as their owners have them. */
void shared_steps_exchange(const TachoTimeline *timeline, struct shared_steps *ranks, guint n);

#endif
