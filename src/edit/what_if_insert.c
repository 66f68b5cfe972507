/* what_if_insert: put work into a graph that was not recorded. */
#include "base/for_each.h"
#include "edit/change_internal.h"
#include "trace/none_rows.h"

static guint32 add_insertion(TachoGraph *graph, const struct insertion *insertion)
{
	struct graph_node node = *graph_node_at(graph, insertion->next);

	node.kind = insertion->kind;
	node.name = insertion->name;
	node.duration_ns = insertion->duration_ns;
	node.origin = insertion->origin;
	node.transfer = node.pool = TACHO_NONE;
	if (!insertion->has_slice)
		node.slice = TACHO_NONE;
	return graph_add_node(graph, node);
}

void change_insert(TachoGraph *graph, const GArray *insertions)
{
	guint32 n_nodes = graph->nodes->len;
	guint n_edges = graph->edges->len;
	g_autofree guint32 *before = none_rows_new(n_nodes);

	FOR_EACH(const struct insertion, insertion, insertions) {
		before[insertion->next] = add_insertion(graph, insertion);
		graph_add_edge(graph, before[insertion->next], insertion->next, TACHO_EDGE_PROGRAM);
	}
	for (guint i = 0; i < n_edges; i++) {
		struct graph_edge *edge = &g_array_index(graph->edges, struct graph_edge, i);

		if (before[edge->to] != TACHO_NONE)
			edge->to = before[edge->to];
	}
	graph_renumber(graph);
}
