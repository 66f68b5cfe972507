/* fused_cost: what operations take that one kernel does together, one after the other.
 *
 * What lies between two of them is neither written nor read again, and there is one launch instead of several. So with t the times of
 * the operations by themselves and r what their rooflines say, together they take
 *
 *     sum(t) * r(operations of all, bytes of all less twice what lies between) / sum(r)
 *
 * and never more than by themselves. What lies between two is taken to be half of what the lesser of them moves, which is so of
 * operations element by element with one input. The roofline is of the class of the one that computes most. */
#ifndef TACHO_FUSED_COST_H
#define TACHO_FUSED_COST_H

#include "learn/cost_model.h"

/* All of them as one call; n > 0. */
struct cost_call fused_cost_call(const struct cost_model *model, const struct cost_call *calls,
				 guint n);
/* `sum_ns`: of their times by themselves. */
gdouble fused_cost_ns(const struct cost_model *model, const struct cost_call *calls, guint n,
		      gdouble sum_ns);

#endif
