/* plain_plan: what a plan of precisions takes, as problem.h says it, computed in the plainest way. */
#ifndef TACHO_PLAIN_PLAN_H
#define TACHO_PLAIN_PLAN_H

#include "precision/problem.h"

struct plain_plan {
	gboolean is_possible; /* all formats are allowed, ties hold, followers follow */
	gdouble step_ns, harm;
	gdouble work_ns[4], bytes[4]; /* of up to 4 workers */
};

/* `plan` as problem.h (2) has it. */
struct plain_plan plain_plan(const TachoPrecisionProblem *problem, const guint8 *plan);
/* Set the formats of those that follow. */
void plain_follow(const TachoPrecisionProblem *problem, guint8 *plan);
/* The next of all plans of operations that are chosen, others followed; FALSE: it was the last, and the plan is the first again. */
gboolean plain_next(const TachoPrecisionProblem *problem, guint8 *plan);
/* The first of them. */
void plain_first(const TachoPrecisionProblem *problem, guint8 *plan);

#endif
