/* pass_compression: gradients sent in 16 bits, with the recorded buckets, and with those that are best then. It changes results, so it is
 * tried only where that is allowed.
 *
 * The search's model of a bucket is asked for half the bytes; what it finds is judged by the whole replay. PowerSGD is not tried: what its
 * orthogonalisation takes is in no recording without it. */
#include "optimize/optimizing.h"

#include <math.h>

#include "optimize/bucket_judge.h"

/* Partitions that the replay judges. */
#define N_JUDGED 3

static const gchar *const needs = "PyTorch's DistributedDataParallel; results change";

struct halved {
	BucketCost *cost;
	gconstpointer data;
};

static struct collective_time halved_cost(gconstpointer data, guint64 bytes)
{
	const struct halved *halved = data;

	return halved->cost(halved->data, bytes / 2);
}

static void propose(struct optimizing *optimizing, const guint32 *ends, guint32 n_buckets)
{
	TachoPlan *plan = optimizing_new_plan(optimizing);

	if (n_buckets > 0)
		plan_add_buckets(plan, ends, n_buckets);
	plan_add_word(plan, PLAN_COMPRESSION, "bf16");
	optimizing_propose(optimizing, plan,
			   n_buckets > 0 ? g_strdup_printf("gradients in 16 bits, %u in %u buckets",
							   optimizing->problem->n, n_buckets)
					 : g_strdup("gradients in 16 bits"),
			   needs, OPTIMIZING_BY_APPLY, TRUE);
}

static gdouble judge(const struct optimizing *optimizing, const struct bucket_candidate *candidate)
{
	g_autoptr(TachoPlan) plan = plan_new(1);
	g_autofree gchar *fusion = NULL, *what_ifs = NULL;

	plan_add_buckets(plan, candidate->ends, candidate->n_buckets);
	fusion = plan_change_what_if(plan_find(plan, PLAN_BUCKETS));
	what_ifs = g_strdup_printf("%s;compress=bf16", fusion);
	return bucket_judge_step_ms(optimizing->base->graph, what_ifs, NULL);
}

/* The problem with half the bytes on the way, searched as the whole one was. */
static void search_halved(struct optimizing *optimizing)
{
	struct bucket_problem problem = *optimizing->problem;
	struct halved halved = { problem.cost, problem.cost_data };
	const TachoOptimizeOptions *options = optimizing->options;
	const struct bucket_candidate *best = NULL;
	struct bucket_search search;
	gdouble best_ms = INFINITY;

	problem.cost = halved_cost;
	problem.cost_data = &halved;
	bucket_search_init(&search, &problem, options->seed,
			   options->budget_ms > 0 ? MAX(optimizing_left_us(optimizing) / 3, 1) : 0,
			   options->max_tried);
	optimizing_set_search(optimizing, &search);
	bucket_search_run(&search);
	optimizing->result->candidates_tried += search.tries;
	for (guint i = 0; i < MIN(search.n_kept, N_JUDGED); i++) {
		gdouble step_ms = judge(optimizing, &search.kept[i]);

		if (step_ms < best_ms) {
			best_ms = step_ms;
			best = &search.kept[i];
		}
	}
	if (best)
		propose(optimizing, best->ends, best->n_buckets);
	bucket_search_release(&search);
}

void pass_compression(struct optimizing *optimizing)
{
	if (!(optimizing->options->allowed & TACHO_ALLOW_COMPRESSION) || !optimizing->problem)
		return;
	propose(optimizing, NULL, 0);
	if (optimizing_packing(optimizing) == TACHO_PACKED_UNKNOWN &&
	    !optimizing_is_over(optimizing))
		search_halved(optimizing);
}
