/* pass_partition: buckets in parts, of sizes that double, with the recorded buckets and with the best that were found; then the size around
 * the best one. Only of frameworks that cut tensors: DistributedDataParallel sends a bucket whole. */
#include "optimize/optimizing.h"

#include <math.h>

#include "optimize/bucket_judge.h"

#define MIB	     (1024.0 * 1024)
#define SMALLEST_MIB 0.0625
#define LARGEST_MIB  64.0

struct parts {
	struct optimizing *optimizing;
	const gchar *fusion; /* what-if of the buckets; NULL: as recorded */
	gdouble best_ms;
	guint64 best_bytes; /* 0: none is better than none */
};

static gdouble judge(const struct parts *parts, gdouble mib, GError **error)
{
	g_autofree gchar *what_ifs =
		g_strdup_printf("%s%spartition_mb=%.10g", parts->fusion ? parts->fusion : "",
				parts->fusion ? ";" : "", mib);
	struct optimizing *optimizing = parts->optimizing;
	gdouble step_ms = bucket_judge_step_ms(optimizing->base->graph, what_ifs, error);

	optimizing->result->candidates_tried++;
	optimizing_note_tried(optimizing, what_ifs, step_ms,
			      error && *error ? (*error)->message : "parts");
	return step_ms;
}

static void try_size(struct parts *parts, gdouble mib)
{
	g_autoptr(GError) error = NULL;
	gdouble step_ms = judge(parts, mib, &error);

	if (step_ms < parts->best_ms) {
		parts->best_ms = step_ms;
		parts->best_bytes = (guint64)(mib * MIB);
	}
}

static void try_sizes(struct parts *parts)
{
	static const gdouble around[] = { 0.59460355750136, 0.70710678118655, 0.84089641525371,
					  1.18920711500272, 1.41421356237310, 1.68179283050743 };
	gdouble best_mib;

	for (gdouble mib = LARGEST_MIB;
	     mib >= SMALLEST_MIB && !optimizing_is_over(parts->optimizing); mib /= 2)
		try_size(parts, mib);
	best_mib = (gdouble)parts->best_bytes / MIB;
	for (guint i = 0; i < G_N_ELEMENTS(around) && best_mib > 0; i++)
		if (!optimizing_is_over(parts->optimizing))
			try_size(parts, best_mib * around[i]);
}

static void propose(const struct parts *parts)
{
	struct optimizing *optimizing = parts->optimizing;
	TachoPlan *plan;

	if (parts->best_bytes == 0)
		return;
	plan = optimizing_new_plan(optimizing);
	if (parts->fusion)
		plan_add_buckets(plan, optimizing->best_ends, optimizing->n_best_ends);
	plan_add_count(plan, PLAN_PART_BYTES, parts->best_bytes);
	optimizing_propose(optimizing, plan,
			   g_strdup_printf("%s in parts of at most %.2f MiB",
					   parts->fusion ? "the best buckets" : "gradients",
					   (gdouble)parts->best_bytes / MIB),
			   "a framework that cuts tensors, as BytePS does", OPTIMIZING_BY_FRAMEWORK,
			   FALSE);
}

void pass_partition(struct optimizing *optimizing)
{
	gdouble now_ms = bucket_judge_step_ms(optimizing->base->graph, "bandwidth=1x", NULL);
	g_autofree gchar *fusion = optimizing_best_fusion(optimizing);
	struct parts as_recorded = { .optimizing = optimizing, .best_ms = now_ms };
	struct parts jointly = { .optimizing = optimizing, .fusion = fusion };

	if (!optimizing->problem || optimizing_packing(optimizing) == TACHO_PACKED_UNKNOWN)
		return;
	try_sizes(&as_recorded);
	propose(&as_recorded);
	if (!fusion)
		return;
	jointly.best_ms = bucket_judge_step_ms(optimizing->base->graph, fusion, NULL);
	try_sizes(&jointly);
	propose(&jointly);
}
