/* pass_accumulation: several passes an update, of which the last alone sends gradients. A step then has as many samples more, so what it
 * takes for as many samples as a step has now is what counts. */
#include "optimize/optimizing.h"

#include "optimize/bucket_judge.h"

void pass_accumulation(struct optimizing *optimizing)
{
	static const guint32 counts[] = { 2, 4 };

	if (!(optimizing->options->allowed & TACHO_ALLOW_BATCH) || !optimizing->problem)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(counts) && !optimizing_is_over(optimizing); i++) {
		TachoPlan *plan = optimizing_new_plan(optimizing);

		plan_add_count(plan, PLAN_ACCUMULATION, counts[i]);
		optimizing_propose_per_sample(
			optimizing, plan,
			g_strdup_printf("%u passes an update, for as many samples as now",
					counts[i]),
			counts[i], "a learning rate for larger updates; results change",
			OPTIMIZING_BY_APPLY, TRUE);
	}
}
