#include "precision_proposal.h"

#include "cli.h"

TachoPrecisionPlan *precision_proposal_find(const PrecisionProposal *proposal)
{
	TachoPrecisionInputs inputs = { .runs = proposal->runs, .casts = proposal->casts };
	TachoPrecisionOptions how = { .within_pct = -1, .memory_bytes = proposal->memory_bytes };
	GError *error = NULL;
	g_autoptr(TachoPrecisionProblem) problem = tacho_precision_problem_of_runs(&inputs, &error);
	g_autoptr(TachoPrecisionStatistics) statistics = NULL;
	TachoPrecisionPlan *found = NULL;

	if (problem && proposal->statistics)
		statistics = tacho_precision_statistics_read(proposal->statistics, &error);
	how.statistics = statistics;
	if (!error)
		found = tacho_precision_plan(problem, &how, &error);
	if (!found)
		cli_fail_error("optimize", error);
	return found;
}

const TachoPlan *precision_proposal_plan(const TachoPrecisionPlan *found)
{
	GError *error = NULL;
	guint worker;

	if (found->joint)
		return found->joint;
	if (tacho_precision_plan_find_worker(found, NULL, &worker, &error))
		return g_ptr_array_index(found->plans, worker);
	cli_fail_error("optimize", error);
	return NULL;
}
