/* plan_gradients: the collectives that send gradients, as wide as the gradients are under a plan.
 *
 * (1) A gradient is of the operation whose backward pass was the last on its thread before it was there.
 * (2) A collective carries the gradients that follow those of the one before, as many as make up its bytes. Where they do not, it stays.
 * (3) It sends them in the widest format of its gradients on all ranks (problem.h), and takes what one of that size takes. */
#ifndef TACHO_PLAN_GRADIENTS_H
#define TACHO_PLAN_GRADIENTS_H

#include "precision/precision_job.h"
#include "precision/rank_formats.h"

/* Change the collectives of `graph`, a copy of the reference's with the same nodes. Returns how many became narrower or wider. */
guint plan_gradients_edit(const struct precision_job *job, TachoGraph *graph,
			  const struct rank_formats *ranks);

#endif
