/* search_moves: what a search changes of a plan: raises of operations and regions, exchanges, and all combinations of a small problem. */
#ifndef TACHO_SEARCH_MOVES_H
#define TACHO_SEARCH_MOVES_H

#include "precision/plan_state.h"

/* Whether the plan at hand may be kept. */
typedef gboolean (*SearchKeeps)(PlanState *state, gconstpointer data);

/* Raise operations and regions as long as that removes harm and `keeps` allows it, most harm for the time first. TRUE: something was raised. */
gboolean search_raise(const TachoPrecisionProblem *problem, PlanState *state, SearchKeeps keeps,
		      gconstpointer data);
/* Lower an operation that another may be raised for, as long as that removes harm. TRUE: something was exchanged. */
gboolean search_exchange(const TachoPrecisionProblem *problem, PlanState *state, SearchKeeps keeps,
			 gconstpointer data);
/* Try all plans, if they are few, and go to that with the least harm that `keeps` allows, of equals the shortest. FALSE: they are too many, or
 * none may be kept; the plan is as it was. */
gboolean search_enumerate(const TachoPrecisionProblem *problem, PlanState *state, SearchKeeps keeps,
			  gconstpointer data);

#endif
