/* plan_judge: plans in files, judged as those that were found are. */
#include "optimize/optimizing.h"

#include <math.h>
#include <string.h>

#include "optimize/bucket_judge.h"
#include "optimize/cluster_buckets.h"
#include "optimize/plan_target.h"

static gboolean is_same_job(const TachoPlan *plan, const TachoPlan *job)
{
	if (plan->n_ranks != job->n_ranks)
		return FALSE;
	if (plan->gradients->len != job->gradients->len)
		return plan->gradients->len == 0;
	for (guint i = 0; i < job->gradients->len; i++) {
		const struct plan_gradient *a =
			&g_array_index(plan->gradients, struct plan_gradient, i);
		const struct plan_gradient *b =
			&g_array_index(job->gradients, struct plan_gradient, i);

		if (a->bytes != b->bytes || strcmp(a->dtype, b->dtype) != 0)
			return FALSE;
	}
	return TRUE;
}

/* The step with the plan's buckets by the model, for predict_proposal(). */
static void judge_buckets_of(struct optimizing *optimizing, const TachoPlan *plan)
{
	const struct plan_change *buckets = plan_find(plan, PLAN_BUCKETS);
	g_autofree gchar *what_if = buckets ? plan_change_what_if(buckets) : NULL;

	if (!what_if)
		return;
	if (isnan(optimizing->modelled_ms) && optimizing->problem)
		optimizing_judge_recorded(optimizing);
	optimizing->judged_ms = bucket_judge_fusion_ms(optimizing->base->graph, what_if, NULL);
}

/* What a file of clusters says of gradients, too. */
static void judge_buckets_of_clusters(struct optimizing *optimizing,
				      const struct plan_change *clusters, const gchar *name)
{
	const struct bucket_problem *problem = optimizing->problem;
	g_autofree guint32 *ends = problem ? g_new(guint32, MAX(problem->n, 1u)) : NULL;
	gdouble judged_ms = optimizing->judged_ms;
	TachoPlan *plan;
	guint32 n;

	if (!problem)
		return;
	n = cluster_buckets(optimizing->base->graph, problem, clusters, ends);
	if (n == 0)
		return;
	plan = optimizing_new_plan(optimizing);
	plan_add_buckets(plan, ends, n);
	judge_buckets_of(optimizing, plan);
	optimizing_propose(optimizing, plan,
			   g_strdup_printf("%u gradients in %u buckets, by the clusters of %s",
					   problem->n, n, name),
			   "what takes groups of tensors", OPTIMIZING_BY_FRAMEWORK, FALSE);
	optimizing->judged_ms = judged_ms;
}

/* FALSE: it is no plan, or one for another job. */
static gboolean judge_file(struct optimizing *optimizing, const gchar *path, GError **error)
{
	g_autoptr(TachoPlan) job = optimizing_new_plan(optimizing);
	g_autoptr(TachoPlan) plan = plan_read_any(path, job, error);
	g_autofree gchar *name = g_path_get_basename(path);
	gdouble judged_ms = optimizing->judged_ms;
	gboolean is_applicable;

	if (!plan)
		return FALSE;
	if (!is_same_job(plan, job)) {
		g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT,
			    "%s: the plan is for another job than the recorded one", path);
		return FALSE;
	}
	if (plan_find(plan, PLAN_CLUSTERS))
		judge_buckets_of_clusters(optimizing, plan_find(plan, PLAN_CLUSTERS), name);
	is_applicable = tacho_plan_check_applicable(plan, NULL);
	judge_buckets_of(optimizing, plan);
	if (!optimizing_propose(optimizing, g_steal_pointer(&plan),
				g_strdup_printf("the plan %s", name), "what the file says",
				is_applicable ? OPTIMIZING_BY_APPLY : OPTIMIZING_BY_FRAMEWORK,
				is_applicable))
		optimizing_note(optimizing,
				"the plan %s gains nothing, or cannot be judged; --all says which",
				path);
	optimizing->judged_ms = judged_ms;
	return TRUE;
}

/* The plan of precisions of the options. */
static gboolean judge_precision(struct optimizing *optimizing, GError **error)
{
	const TachoPlan *given = optimizing->options->precision_plan;
	g_autoptr(TachoPlan) job = optimizing_new_plan(optimizing);

	if (!given)
		return TRUE;
	if (!is_same_job(given, job)) {
		g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT,
			    "the recordings in other precisions are of %u ranks, and the run is of "
			    "%u: record the same job",
			    given->n_ranks, job->n_ranks);
		return FALSE;
	}
	optimizing_propose(optimizing, plan_copy(given),
			   g_strdup("operations in precisions of their own"),
			   "PyTorch; results change", OPTIMIZING_BY_APPLY, TRUE);
	return TRUE;
}

gboolean optimizing_judge_files(struct optimizing *optimizing, GError **error)
{
	const gchar *const *paths = optimizing->options->plan_paths;

	for (guint i = 0; paths && paths[i]; i++)
		if (!judge_file(optimizing, paths[i], error))
			return FALSE;
	return judge_precision(optimizing, error);
}
