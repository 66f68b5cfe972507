#include "optimize/cluster_buckets.h"

#include "base/for_each.h"

/* Name -> number of its cluster, and 1 more. */
static GHashTable *index_names(const struct plan_change *clusters)
{
	GHashTable *index = g_hash_table_new(g_str_hash, g_str_equal);
	guint32 at = 0;

	for (guint i = 0; i < clusters->n_of->len; i++)
		for (guint32 n = g_array_index(clusters->n_of, guint32, i); n > 0; n--)
			g_hash_table_insert(index, clusters->names->pdata[at++],
					    GUINT_TO_POINTER(i + 1));
	return index;
}

/* The cluster of the operation that a node is of, or of one around it; 0: of none. */
static guint cluster_of(const TachoGraph *graph, GHashTable *index, guint32 node)
{
	const TachoTimeline *timeline = graph->timeline;
	guint32 slice = graph_node_at(graph, node)->slice;

	for (; slice != TACHO_NONE; slice = timeline->slices.parent[slice]) {
		guint cluster = GPOINTER_TO_UINT(
			g_hash_table_lookup(index, tacho_slice_name(timeline, slice)));

		if (cluster)
			return cluster;
	}
	return 0;
}

static const struct graph_pass *find_pass(const TachoGraph *graph, guint32 n_gradients)
{
	FOR_EACH(const struct graph_pass, pass, graph->passes)
		if (pass->n_gradients == n_gradients)
			return pass;
	return NULL;
}

guint32 cluster_buckets(const TachoGraph *graph, const struct bucket_problem *problem,
			const struct plan_change *clusters, guint32 *ends)
{
	const struct graph_pass *pass = find_pass(graph, problem->n);
	g_autoptr(GHashTable) index = index_names(clusters);
	guint before = 0;
	gboolean is_any = FALSE;
	guint32 n = 0;

	for (guint32 i = 0; pass && i < problem->n; i++) {
		const struct graph_gradient *gradient = &g_array_index(
			graph->gradients, struct graph_gradient, pass->first_gradient + i);
		guint cluster = gradient->ready_node == TACHO_NONE
					? 0
					: cluster_of(graph, index, gradient->ready_node);

		is_any |= cluster > 0;
		if (i > 0 && (cluster == 0 || cluster != before || problem->begins_bucket[i]))
			ends[n++] = i;
		before = cluster;
	}
	if (!is_any)
		return 0;
	ends[n++] = problem->n;
	return n;
}
