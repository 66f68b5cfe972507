/* graph_dump: nodes as text, for messages, tests and for looking. */
#include "base/for_each.h"
#include "base/order.h"
#include "graph/graph_internal.h"
#include "graph/rank_copies.h"

static void append_place(const TachoGraph *graph, const struct graph_lane *lane, GString *text)
{
	const struct graph_guest *guest = graph_guest_of(graph, lane->rank_index);

	if (guest)
		g_string_append_printf(text, "%s rank %u ",
				       tacho_timeline_string(graph->timeline, guest->name),
				       lane->rank_index - guest->first_rank);
	else if (lane->rank_index != TACHO_NONE)
		g_string_append_printf(text, "rank %d ",
				       rank_copies_number(graph, lane->rank_index));
	g_string_append(text, tacho_timeline_string(graph->timeline, lane->name));
}

gchar *graph_describe_node(const TachoGraph *graph, guint32 index)
{
	const struct graph_node *node = graph_node_at(graph, index);
	GString *text = g_string_new(NULL);

	append_place(graph, graph_lane_at(graph, node->lane), text);
	g_string_append_printf(text, ": %s %s", tacho_node_kind_name(node->kind),
			       tacho_timeline_string(graph->timeline, node->name));
	return g_string_free(text, FALSE);
}

/* Microseconds with what is needed of three decimals. */
static void append_us(GString *text, gint64 time_ns)
{
	g_string_append_printf(text, "%" G_GINT64_FORMAT, time_ns / 1000);
	if (time_ns % 1000)
		g_string_append_printf(text, ".%03d", (gint)(ABS(time_ns) % 1000));
}

static gint compare_edges(gconstpointer a, gconstpointer b)
{
	const struct graph_edge *x = a, *y = b;

	return ORDER(x->to, y->to) ?: ORDER(x->from, y->from) ?: ORDER(x->kind, y->kind);
}

/* The edges into `to`, of which the first is edges[*next], in brackets. */
static void append_edges(const GArray *edges, guint *next, guint32 to, GString *text)
{
	const gchar *before = " [";

	for (; *next < edges->len; (*next)++) {
		const struct graph_edge *edge = &g_array_index(edges, struct graph_edge, *next);

		if (edge->to != to)
			break;
		g_string_append_printf(text, "%s%s %u", before, tacho_edge_kind_name(edge->kind),
				       edge->from);
		before = ", ";
	}
	if (*before == ',')
		g_string_append_c(text, ']');
}

void tacho_graph_dump(const TachoGraph *graph, FILE *out)
{
	g_autoptr(GArray) edges = g_array_copy(graph->edges);
	guint next = 0;

	g_array_sort(edges, compare_edges);
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		g_autofree gchar *description = graph_describe_node(graph, i);
		g_autoptr(GString) text = g_string_new(NULL);

		if (node->kind == TACHO_NODE_REMOVED)
			continue;
		g_string_append_printf(text, "%u %s ", i, description);
		append_us(text, node->duration_ns);
		g_string_append(text, " us");
		append_edges(edges, &next, i, text);
		fprintf(out, "%s\n", text->str);
	}
}
