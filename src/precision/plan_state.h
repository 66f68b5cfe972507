/* plan_state: a plan on all workers, what it takes, and what a change of one operation makes of that.
 *
 * Terms of operations and tensors are kept, so that a change computes anew only those that it touches; the step's time and the peak of
 * memory are sums over operations in order (problem.h (4)).
 *
 * Memory: what an operation saves, and the tensors that readers keep, are held from when they are made until the backward pass of the first
 * operation that reads them has ended. A tensor that is kept as it is counts once, a cast one for each reader, or once for each format where
 * it is cast once. */
#ifndef TACHO_PLAN_STATE_H
#define TACHO_PLAN_STATE_H

#include "precision/problem.h"

typedef struct _PlanState PlanState;

/* All operations as they were recorded, or, where a worker does not have that, in its first format that is allowed. Borrows the problem. */
PlanState *plan_state_new(const TachoPrecisionProblem *problem);
void plan_state_free(PlanState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlanState, plan_state_free)

/* The plan as it is; the state's. */
const guint8 *plan_state_plan(const PlanState *state);
static inline enum number_format plan_state_format(const PlanState *state,
						   const TachoPrecisionProblem *problem,
						   guint32 worker, guint32 operation)
{
	return (enum number_format)plan_state_plan(
		state)[precision_plan_at(problem, worker, operation)];
}
/* Take over a worker's part of a plan. Operations that follow are set from what they read. FALSE: one then has a format that is not allowed;
 * the state holds the plan all the same. */
gboolean plan_state_load(PlanState *state, guint32 worker, const guint8 *formats);

/* Have an operation that is chosen, and those tied to it, compute in `format`, and let others follow. FALSE: one cannot; it is set all the
 * same, to be undone. What was changed since plan_state_keep() can be undone. */
gboolean plan_state_set(PlanState *state, guint32 worker, guint32 operation,
			enum number_format format);
void plan_state_keep(PlanState *state);
void plan_state_undo(PlanState *state);

/* The step; of each worker what it takes alone, and what it waits, where they are not NULL. */
gdouble plan_state_step_ns(PlanState *state, gdouble *ret_worker_ns, gdouble *ret_wait_ns);
/* What a worker's operations and casts take, one after the other: the part of the step that the plan decides. */
gdouble plan_state_work_ns(const PlanState *state, guint32 worker);
/* The peak of a worker's memory. */
gdouble plan_state_bytes(const PlanState *state, guint32 worker);
/* Of the operations whose harm is known, by the workers' shares. */
gdouble plan_state_harm(const PlanState *state);
/* Half the width of the interval of a worker's own time: the root of the sum of the operations' squared spreads. */
gdouble plan_state_spread_ns(const PlanState *state, guint32 worker);
/* An operation's part: with the casts of what it reads. */
gdouble plan_state_operation_ns(const PlanState *state, guint32 worker, guint32 operation);

/* The other operations that tensors tie it to, those that follow passed over; appended to `operations`, guint32. */
void plan_state_neighbours(const PlanState *state, guint32 operation, GArray *operations);

#endif
