/* graph_freeze: from tables that are edited to the compressed lists that a replay walks.
 *
 * pred[] and succ[] hold the edges by node, those of node i from pred_first[i] up to pred_first[i + 1].
 * Nodes are numbered by when they began in the recording, so the numbers mostly are a topological order
 * already, and only where they are not is one made (`order`).
 *
 * Lists are made by counting: counts stand two entries on, so that first[i + 1] is where list i begins once they are
 * summed up, and where it ends once it has been filled. */
#include "base/for_each.h"
#include "base/order.h"
#include "graph/graph_internal.h"
#include "trace/none_rows.h"

/* Nodes of a cycle that are named.
 * Source: a rule: what fits a line or two of a message. If wrong, the message is short or long; no time depends on it. */
#define MAX_NAMED_IN_CYCLE 6

/* --- workers -------------------------------------------------------------------------------- */

static gint compare_queues(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoGraph *graph = data;
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
	gint64 begin_x = graph_node_at(graph, x)->begin_ns;
	gint64 begin_y = graph_node_at(graph, y)->begin_ns;

	return ORDER(begin_x, begin_y) ?: ORDER(x, y);
}

static gboolean is_queued(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_QUEUE && node->pool != TACHO_NONE;
}

/* The QUEUE nodes of each pool in the order queued. */
static void freeze_pools(TachoGraph *graph)
{
	guint32 *first = g_new0(guint32, graph->pools->len + 2), *node, n = graph->nodes->len;

	for (guint32 i = 0; i < n; i++)
		if (is_queued(graph_node_at(graph, i)))
			first[graph_node_at(graph, i)->pool + 2]++;
	for (guint i = 2; i < graph->pools->len + 2; i++)
		first[i] += first[i - 1];
	node = g_new(guint32, MAX(first[graph->pools->len + 1], 1u));
	for (guint32 i = 0; i < n; i++)
		if (is_queued(graph_node_at(graph, i)))
			node[first[graph_node_at(graph, i)->pool + 1]++] = i;
	for (guint i = 0; i < graph->pools->len; i++)
		if (first[i + 1] > first[i])
			g_qsort_with_data(node + first[i], (gint)(first[i + 1] - first[i]),
					  sizeof(*node), compare_queues, graph);
	graph->pool_first = first;
	graph->pool_node = node;
}

/* The COMPLETE node of each (pool, transfer), to be found from the QUEUE node: an array by node. */
static guint32 *find_completions(const TachoGraph *graph)
{
	guint32 n = graph->nodes->len;
	guint32 *complete = none_rows_new(n);
	g_autoptr(GHashTable) found = g_hash_table_new(g_int64_hash, g_int64_equal);
	g_autofree gint64 *keys = g_new(gint64, MAX(n, 1u));

	for (guint32 i = 0; i < n; i++) {
		const struct graph_node *node = graph_node_at(graph, i);

		keys[i] = (gint64)((guint64)node->pool << 32 | node->transfer);
		if (node->kind == TACHO_NODE_COMPLETE && node->pool != TACHO_NONE)
			g_hash_table_insert(found, &keys[i], GUINT_TO_POINTER(i));
	}
	for (guint32 i = 0; i < n; i++) {
		gpointer value;

		if (is_queued(graph_node_at(graph, i)) &&
		    g_hash_table_lookup_extended(found, &keys[i], NULL, &value))
			complete[i] = GPOINTER_TO_UINT(value);
	}
	return complete;
}

/* A single worker takes up a collective when it is done with the one before: a plain edge. Where
 * there are more, who comes free first is known only in the replay. Returns the edges. */
static GArray *order_single_workers(const TachoGraph *graph)
{
	g_autofree guint32 *complete = find_completions(graph);
	GArray *edges = g_array_new(FALSE, FALSE, sizeof(struct graph_edge));

	for (guint pool = 0; pool < graph->pools->len; pool++) {
		if (g_array_index(graph->pools, struct graph_pool, pool).n_workers > 1)
			continue;
		for (guint32 i = graph->pool_first[pool] + 1; i < graph->pool_first[pool + 1];
		     i++) {
			struct graph_edge edge = { complete[graph->pool_node[i - 1]],
						   graph->pool_node[i], TACHO_EDGE_ORDER };

			if (edge.from != TACHO_NONE)
				g_array_append_val(edges, edge);
		}
	}
	return edges;
}

/* --- edges ---------------------------------------------------------------------------------- */

static void count_edges(const GArray *edges, guint32 *pred_first, guint32 *succ_first)
{
	FOR_EACH(const struct graph_edge, edge, edges) {
		pred_first[edge->to + 2]++;
		succ_first[edge->from + 2]++;
	}
}

static void place_edges(TachoGraph *graph, const GArray *edges)
{
	FOR_EACH(const struct graph_edge, edge, edges) {
		graph->pred[graph->pred_first[edge->to + 1]++] = edge->from;
		graph->succ[graph->succ_first[edge->from + 1]++] = edge->to;
	}
}

static void freeze_edges(TachoGraph *graph)
{
	g_autoptr(GArray) orders = order_single_workers(graph);
	guint32 n = graph->nodes->len;
	gsize n_edges = (gsize)graph->edges->len + orders->len;

	graph->pred_first = g_new0(guint32, (gsize)n + 2);
	graph->succ_first = g_new0(guint32, (gsize)n + 2);
	graph->pred = g_new(guint32, MAX(n_edges, 1u));
	graph->succ = g_new(guint32, MAX(n_edges, 1u));
	count_edges(graph->edges, graph->pred_first, graph->succ_first);
	count_edges(orders, graph->pred_first, graph->succ_first);
	for (gsize i = 2; i <= n; i++) {
		graph->pred_first[i] += graph->pred_first[i - 1];
		graph->succ_first[i] += graph->succ_first[i - 1];
	}
	place_edges(graph, graph->edges);
	place_edges(graph, orders);
}

/* --- order ---------------------------------------------------------------------------------- */

static gboolean is_in_order(const TachoGraph *graph)
{
	for (guint32 i = 0; i < graph->n_frozen; i++)
		for (guint32 j = graph->pred_first[i]; j < graph->pred_first[i + 1]; j++)
			if (graph->pred[j] >= i)
				return FALSE;
	return TRUE;
}

/* One that waits and that `node`, which waits too, waits for. */
static guint32 first_waiting(const TachoGraph *graph, const guint32 *n_waiting, guint32 node)
{
	guint32 j = graph->pred_first[node];

	while (n_waiting[graph->pred[j]] == 0)
		j++;
	return graph->pred[j];
}

/* From a node that waits, go to one it waits for that waits too: sooner or later in a circle. */
static void explain_cycle(const TachoGraph *graph, const guint32 *n_waiting, GError **error)
{
	g_autofree guint8 *was_here = g_new0(guint8, graph->n_frozen);
	g_autoptr(GString) names = g_string_new(NULL);
	guint32 node = 0, first, n_nodes = 0;

	while (n_waiting[node] == 0)
		node++;
	for (; !was_here[node]; node = first_waiting(graph, n_waiting, node))
		was_here[node] = 1;
	first = node;
	do {
		g_autofree gchar *name = graph_describe_node(graph, node);

		if (n_nodes < MAX_NAMED_IN_CYCLE)
			g_string_append_printf(names, "%s%s", n_nodes ? " <- " : "", name);
		n_nodes++;
		node = first_waiting(graph, n_waiting, node);
	} while (node != first);
	g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE,
		    "work would wait for itself, over %u nodes: %s%s", n_nodes, names->str,
		    n_nodes > MAX_NAMED_IN_CYCLE ? " ..." : "");
}

static gboolean sort_topologically(TachoGraph *graph, GError **error)
{
	guint32 n = graph->n_frozen, n_sorted = 0;
	g_autofree guint32 *n_waiting = g_new(guint32, n);
	g_autofree guint32 *order = g_new(guint32, n);

	for (guint32 i = 0; i < n; i++) {
		n_waiting[i] = graph->pred_first[i + 1] - graph->pred_first[i];
		if (n_waiting[i] == 0)
			order[n_sorted++] = i;
	}
	for (guint32 i = 0; i < n_sorted; i++)
		for (guint32 j = graph->succ_first[order[i]]; j < graph->succ_first[order[i] + 1];
		     j++)
			if (--n_waiting[graph->succ[j]] == 0)
				order[n_sorted++] = graph->succ[j];
	if (n_sorted < n) {
		explain_cycle(graph, n_waiting, error);
		return FALSE;
	}
	graph->order = g_steal_pointer(&order);
	return TRUE;
}

/* --- the whole ------------------------------------------------------------------------------ */

static gboolean have_common_link(const TachoGraph *graph, guint a, guint b)
{
	const struct graph_group *x = graph_group_at(graph, a), *y = graph_group_at(graph, b);

	for (guint32 i = 0; i < x->n_links; i++)
		for (guint32 j = 0; j < y->n_links; j++)
			if (g_array_index(graph->group_links, guint32, x->first_link + i) ==
			    g_array_index(graph->group_links, guint32, y->first_link + j))
				return TRUE;
	return FALSE;
}

/* Whether moving bytes slows the devices of any rank. */
static gboolean takes_from_devices(const TachoGraph *graph)
{
	for (guint i = 0; i < graph->guests->len; i++)
		if (g_array_index(graph->guests, struct graph_guest, i).device_taken_share > 0)
			return TRUE;
	return graph_takes_from_device(graph, 0);
}

/* Whether two nodes can be on one resource at a time. */
static gboolean is_shared(const TachoGraph *graph)
{
	if (graph_has_cores(graph) || takes_from_devices(graph))
		return TRUE;
	for (guint i = 0; i < graph->pools->len; i++)
		if (g_array_index(graph->pools, struct graph_pool, i).n_workers > 1 ||
		    g_array_index(graph->pools, struct graph_pool, i).is_engine)
			return TRUE;
	for (guint i = 0; i < graph->groups->len; i++)
		if (graph_group_at(graph, i)->is_hops)
			return TRUE;
	for (guint i = 0; i < graph->groups->len; i++)
		for (guint j = i + 1; j < graph->groups->len; j++)
			if (have_common_link(graph, i, j))
				return TRUE;
	return FALSE;
}

void graph_thaw(TachoGraph *graph)
{
	g_clear_pointer(&graph->duration_ns, g_free);
	g_clear_pointer(&graph->pred_first, g_free);
	g_clear_pointer(&graph->pred, g_free);
	g_clear_pointer(&graph->succ_first, g_free);
	g_clear_pointer(&graph->succ, g_free);
	g_clear_pointer(&graph->order, g_free);
	g_clear_pointer(&graph->pool_first, g_free);
	g_clear_pointer(&graph->pool_node, g_free);
	graph->n_frozen = 0;
}

gboolean graph_freeze(TachoGraph *graph, GError **error)
{
	graph_thaw(graph);
	if ((guint64)graph->edges->len + graph->nodes->len >= GRAPH_MAX_NODES ||
	    graph->lanes->len > GRAPH_MAX_LANES) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_SIZE,
			    "there are more than %u nodes and edges; choose fewer steps",
			    GRAPH_MAX_NODES);
		return FALSE;
	}
	graph->n_frozen = graph->nodes->len;
	graph->duration_ns = g_new(gint64, MAX(graph->n_frozen, 1u));
	for (guint32 i = 0; i < graph->n_frozen; i++)
		graph->duration_ns[i] = graph_node_at(graph, i)->duration_ns;
	freeze_pools(graph);
	freeze_edges(graph);
	graph->is_shared = is_shared(graph);
	return is_in_order(graph) || sort_topologically(graph, error);
}

gboolean graph_reorder(TachoGraph *graph, GError **error)
{
	g_clear_pointer(&graph->order, g_free);
	return is_in_order(graph) || sort_topologically(graph, error);
}
