#include "precision/even_cost.h"

#include "base/for_each.h"
#include "base/time_units.h"

/* What an operation keeps at least of its time.
 * Source: a rule: pieces of one operation that recording made twice as long are wrong otherwise, too. If wrong, some operations are too long, and
 * the step with them. */
#define LEAST_KEPT 0.3

struct group {
	gdouble recorded_ns, n_pieces, kept;
};

gint64 *even_cost_durations(const TachoGraph *graph)
{
	gint64 *durations = g_new(gint64, MAX(graph->nodes->len, 1u));

	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes)
		durations[i] = node->duration_ns;
	return durations;
}

static gboolean is_host_work(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL ||
	       node->kind == TACHO_NODE_HOST;
}

/* Of an operation's pass; the last group is of no operation. */
static struct group *group_of(struct group *groups, const struct layers *layers, guint32 node)
{
	guint32 operation = layers->operation_of[node];

	return &groups[operation == TACHO_NONE
			       ? (gsize)layers->n_operations * N_LAYER_PASSES
			       : (gsize)operation * N_LAYER_PASSES + layers->pass_of[node]];
}

gboolean even_cost_spread(TachoGraph *graph, const struct layers *layers, const gint64 *recorded,
			  GError **error)
{
	gsize n_groups = (gsize)layers->n_operations * N_LAYER_PASSES + 1;
	g_autofree struct group *groups = g_new0(struct group, n_groups);
	gdouble taken_ns = 0, n_pieces = 0;

	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		struct group *group = group_of(groups, layers, i);

		if (!is_host_work(node))
			continue;
		group->recorded_ns += (gdouble)recorded[i];
		group->n_pieces++;
		taken_ns += (gdouble)(recorded[i] - node->duration_ns);
		n_pieces++;
	}
	if (taken_ns <= 0)
		return TRUE;
	for (gsize i = 0; i < n_groups; i++)
		groups[i].kept = groups[i].recorded_ns > 0
					 ? MAX(1 - groups[i].n_pieces * taken_ns / n_pieces /
							       groups[i].recorded_ns,
					       LEAST_KEPT)
					 : 1;
	FOR_EACH_AT(struct graph_node, node, i, graph->nodes)
		if (is_host_work(node))
			node->duration_ns = rounded_ns((gdouble)recorded[i] *
						       group_of(groups, layers, i)->kept);
	return graph_freeze(graph, error);
}
