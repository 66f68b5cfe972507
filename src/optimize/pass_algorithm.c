/* pass_algorithm: all-reduces by ring or tree, where that can be chosen: NCCL takes it from the environment or a tuner's file. */
#include "optimize/optimizing.h"

#include "graph/graph_internal.h"
#include "optimize/bucket_problem.h"

void pass_algorithm(struct optimizing *optimizing)
{
	static const gchar *const algorithms[] = { "ring", "tree" };
	const struct bucket_problem *problem = optimizing->problem;

	if (!problem || !graph_transfer_at(problem->graph, problem->model)->is_device)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(algorithms) && !optimizing_is_over(optimizing); i++) {
		TachoPlan *plan = optimizing_new_plan(optimizing);

		plan_add_word(plan, PLAN_ALGORITHM, algorithms[i]);
		optimizing_propose(
			optimizing, plan, g_strdup_printf("all-reduces by %s", algorithms[i]),
			"NCCL, and that it does not do so now", OPTIMIZING_BY_FRAMEWORK, FALSE);
	}
}
