/* event_path_longest: the path of most weight through the edges of an event path.
 *
 * Nodes are settled in topological order: each, when all before it are, tells those after it how long the longest path to
 * them is by way of it. Among equals, the edge made first and the node reached first are taken, so the result is
 * unique; the order in which equals are looked at is HTA's (networkx' dag_longest_path), for only so a path has as
 * many nodes as theirs. */
#include "analyze/event_path_longest.h"

#include <tacho/graph.h>

#include "trace/none_rows.h"

/* Nodes in the order in which edges first named them, with their edges in the order made. */
struct event_nodes {
	GHashTable *number; /* node -> number + 1 */
	guint32 n;
	guint32 *first_out, *out; /* edges */
	guint32 *n_waiting;
	guint32 *best_in; /* edge, or TACHO_NONE */
	gint64 *length_ns;
};

static guint32 take_node(struct event_nodes *nodes, guint64 node)
{
	gpointer known = g_hash_table_lookup(nodes->number, &node);

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	g_hash_table_insert(nodes->number, g_memdup2(&node, sizeof(node)),
			    GUINT_TO_POINTER(++nodes->n));
	return nodes->n - 1;
}

static guint32 node_of(const struct event_nodes *nodes, guint64 node)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(nodes->number, &node)) - 1;
}

/* The begin or the end of a slice, as one number. */
static guint64 from_node(const TachoEventEdge *edge)
{
	return 2 * (guint64)edge->from + (edge->from_end != 0);
}

static guint64 to_node(const TachoEventEdge *edge)
{
	return 2 * (guint64)edge->to + (edge->to_end != 0);
}

static const TachoEventEdge *edge_at(const TachoEventPath *path, guint32 index)
{
	return &g_array_index(path->edges, TachoEventEdge, index);
}

static void event_nodes_init(struct event_nodes *nodes, const TachoEventPath *path)
{
	*nodes = (struct event_nodes){ 0 };
	nodes->number = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	for (guint32 i = 0; i < path->edges->len; i++) {
		take_node(nodes, from_node(edge_at(path, i)));
		take_node(nodes, to_node(edge_at(path, i)));
	}
	nodes->first_out = g_new0(guint32, (gsize)nodes->n + 2);
	nodes->out = g_new(guint32, MAX(path->edges->len, 1u));
	nodes->n_waiting = g_new0(guint32, MAX(nodes->n, 1u));
	nodes->best_in = none_rows_new(nodes->n);
	nodes->length_ns = g_new0(gint64, MAX(nodes->n, 1u));
	for (guint32 i = 0; i < path->edges->len; i++) {
		nodes->first_out[node_of(nodes, from_node(edge_at(path, i))) + 2]++;
		nodes->n_waiting[node_of(nodes, to_node(edge_at(path, i)))]++;
	}
	for (guint32 i = 2; i < nodes->n + 2; i++)
		nodes->first_out[i] += nodes->first_out[i - 1];
	for (guint32 i = 0; i < path->edges->len; i++)
		nodes->out[nodes->first_out[node_of(nodes, from_node(edge_at(path, i))) + 1]++] = i;
}

static void event_nodes_release(struct event_nodes *nodes)
{
	g_hash_table_unref(nodes->number);
	g_free(nodes->first_out);
	g_free(nodes->out);
	g_free(nodes->n_waiting);
	g_free(nodes->best_in);
	g_free(nodes->length_ns);
}

/* The node's predecessors are final: so is it, and its followers know. If several edges into a follower give it the
 * same length, the one made first stays, whatever the order in which they come here. */
static void settle(struct event_nodes *nodes, const TachoEventPath *path, guint32 node,
		   GArray *order)
{
	for (guint32 i = nodes->first_out[node]; i < nodes->first_out[node + 1]; i++) {
		guint32 edge = nodes->out[i], to = node_of(nodes, to_node(edge_at(path, edge)));
		gint64 length_ns = nodes->length_ns[node] + edge_at(path, edge)->weight_ns;

		if (nodes->best_in[to] == TACHO_NONE || length_ns > nodes->length_ns[to] ||
		    (length_ns == nodes->length_ns[to] && edge < nodes->best_in[to])) {
			nodes->best_in[to] = edge;
			nodes->length_ns[to] = length_ns;
		}
		if (--nodes->n_waiting[to] == 0)
			g_array_append_val(order, to);
	}
}

/* Nodes in topological order: those that wait for nothing, then those that then wait for nothing ... */
static GArray *settle_all(struct event_nodes *nodes, const TachoEventPath *path)
{
	GArray *order = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < nodes->n; i++)
		if (nodes->n_waiting[i] == 0)
			g_array_append_val(order, i);
	for (guint i = 0; i < order->len; i++)
		settle(nodes, path, g_array_index(order, guint32, i), order);
	return order;
}

static void reverse(GArray *array)
{
	for (guint i = 0; i < array->len / 2; i++) {
		guint32 *a = &g_array_index(array, guint32, i);
		guint32 *b = &g_array_index(array, guint32, array->len - 1 - i);
		guint32 kept = *a;

		*a = *b;
		*b = kept;
	}
}

/* The longest of all paths, from its last node backwards. */
static void take_longest(const struct event_nodes *nodes, const GArray *order, TachoEventPath *path)
{
	guint32 node = g_array_index(order, guint32, 0);

	for (guint i = 1; i < order->len; i++)
		if (nodes->length_ns[g_array_index(order, guint32, i)] > nodes->length_ns[node])
			node = g_array_index(order, guint32, i);
	while (nodes->best_in[node] != TACHO_NONE) {
		guint32 edge = nodes->best_in[node];

		g_array_append_val(path->path, edge);
		node = node_of(nodes, from_node(edge_at(path, edge)));
	}
	reverse(path->path);
}

gboolean event_path_find_longest(TachoEventPath *path, GError **error)
{
	struct event_nodes nodes;
	g_autoptr(GArray) order = NULL;
	gboolean is_whole;

	event_nodes_init(&nodes, path);
	order = settle_all(&nodes, path);
	is_whole = order->len == nodes.n && nodes.n > 0;
	if (is_whole)
		take_longest(&nodes, order, path);
	else if (nodes.n == 0)
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "it has no operation");
	else
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE,
			    "%u begins and ends of events would wait for themselves",
			    nodes.n - order->len);
	event_nodes_release(&nodes);
	return is_whole;
}
