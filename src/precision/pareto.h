/* pareto: plans of which none is at least as good as another in time, memory and harm, and better in one. */
#ifndef TACHO_PARETO_H
#define TACHO_PARETO_H

#include "precision/search.h"

struct pareto_point {
	gdouble step_ns, bytes, harm; /* bytes: of the fullest worker */
	guint8 *plan;		      /* owned */
	gboolean is_chosen;
};

/* Add the plan at hand to a front, an array of struct pareto_point by step, unless one of it is as good; those that it is as good as
 * leave it. */
void pareto_add(GArray *front, const TachoPrecisionProblem *problem, PlanState *state,
		gboolean is_chosen);
/* Look for plans between the fastest and the least harmful, and at less memory than they need. The problem's memory is changed meanwhile. */
void pareto_search(GArray *front, TachoPrecisionProblem *problem);
GArray *pareto_new(void);

#endif
