#include "graph/graph_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/rank_copies.h"

#define MAX_NODES	   (G_MAXUINT32 - 1)
#define MAX_NAMED_IN_CYCLE 6
#define MAX_TRANSFER_NS	   1e16 /* a third of a year: thousands of them are still a time */

G_DEFINE_QUARK(tacho - graph - error - quark, tacho_graph_error)

static const struct {
	const gchar *name, *category;
} node_kinds[] = {
#define NODE_KIND_ROW(enumerator, name, category) { #name, category },
	TACHO_NODE_KINDS(NODE_KIND_ROW)
#undef NODE_KIND_ROW
};

static const gchar *const edge_kinds[] = {
#define EDGE_KIND_ROW(enumerator, name) #name,
	TACHO_EDGE_KINDS(EDGE_KIND_ROW)
#undef EDGE_KIND_ROW
};

const gchar *tacho_node_kind_name(TachoNodeKind kind)
{
	return node_kinds[kind].name;
}

const gchar *tacho_node_kind_category(TachoNodeKind kind)
{
	return node_kinds[kind].category;
}

const gchar *tacho_edge_kind_name(TachoEdgeKind kind)
{
	return edge_kinds[kind];
}

TachoGraph *graph_new(TachoTimeline *timeline)
{
	TachoGraph *graph = g_new0(TachoGraph, 1);

	graph->timeline = timeline;
	graph->nodes = g_array_new(FALSE, FALSE, sizeof(struct graph_node));
	graph->edges = g_array_new(FALSE, FALSE, sizeof(struct graph_edge));
	graph->lanes = g_array_new(FALSE, FALSE, sizeof(struct graph_lane));
	graph->links = g_array_new(FALSE, FALSE, sizeof(struct graph_link));
	graph->group_links = g_array_new(FALSE, FALSE, sizeof(guint32));
	graph->pools = g_array_new(FALSE, FALSE, sizeof(struct graph_pool));
	graph->groups = g_array_new(FALSE, FALSE, sizeof(struct graph_group));
	graph->transfers = g_array_new(FALSE, FALSE, sizeof(struct graph_transfer));
	graph->gradients = g_array_new(FALSE, FALSE, sizeof(struct graph_gradient));
	graph->passes = g_array_new(FALSE, FALSE, sizeof(struct graph_pass));
	graph->blocks = g_array_new(FALSE, FALSE, sizeof(struct graph_block));
	graph->guests = g_array_new(FALSE, FALSE, sizeof(struct graph_guest));
	graph->guest_steps = g_array_new(FALSE, FALSE, sizeof(gint64));
	graph->guest_lags = g_array_new(FALSE, FALSE, sizeof(gint64));
	graph->lags = g_array_new(FALSE, FALSE, sizeof(gint64));
	graph->guest_rounds = 1;
	graph->sets = g_array_new(FALSE, FALSE, sizeof(guint32));
	graph->devices = g_array_new(FALSE, TRUE, sizeof(const gchar *));
	graph->precisions = g_array_new(FALSE, FALSE, sizeof(struct graph_precision));
	graph->steps = g_array_new(FALSE, TRUE, sizeof(guint32));
	graph->notes = g_ptr_array_new_with_free_func(g_free);
	return graph;
}

static void thaw(TachoGraph *graph)
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

void tacho_graph_free(TachoGraph *graph)
{
	if (!graph)
		return;
	thaw(graph);
	g_array_unref(graph->nodes);
	g_array_unref(graph->edges);
	g_array_unref(graph->lanes);
	g_array_unref(graph->links);
	g_array_unref(graph->group_links);
	g_array_unref(graph->pools);
	g_array_unref(graph->groups);
	g_array_unref(graph->transfers);
	g_array_unref(graph->gradients);
	g_array_unref(graph->passes);
	g_array_unref(graph->blocks);
	g_array_unref(graph->guests);
	g_array_unref(graph->guest_steps);
	g_array_unref(graph->sets);
	g_array_unref(graph->devices);
	g_array_unref(graph->precisions);
	g_array_unref(graph->guest_lags);
	g_array_unref(graph->lags);
	g_array_unref(graph->steps);
	g_ptr_array_unref(graph->notes);
	g_free(graph);
}

static gpointer copy_string(gconstpointer string, gpointer data)
{
	(void)data;
	return g_strdup(string);
}

static void forget_frozen(TachoGraph *graph)
{
	graph->n_frozen = 0;
	graph->duration_ns = NULL;
	graph->pred_first = graph->pred = graph->succ_first = graph->succ = NULL;
	graph->order = graph->pool_first = graph->pool_node = NULL;
}

TachoGraph *graph_copy(const TachoGraph *graph)
{
	TachoGraph *copy = g_memdup2(graph, sizeof(*graph));

	forget_frozen(copy);
	copy->nodes = g_array_copy(graph->nodes);
	copy->edges = g_array_copy(graph->edges);
	copy->lanes = g_array_copy(graph->lanes);
	copy->links = g_array_copy(graph->links);
	copy->group_links = g_array_copy(graph->group_links);
	copy->pools = g_array_copy(graph->pools);
	copy->groups = g_array_copy(graph->groups);
	copy->transfers = g_array_copy(graph->transfers);
	copy->gradients = g_array_copy(graph->gradients);
	copy->passes = g_array_copy(graph->passes);
	copy->blocks = g_array_copy(graph->blocks);
	copy->guests = g_array_copy(graph->guests);
	copy->guest_steps = g_array_copy(graph->guest_steps);
	copy->sets = g_array_copy(graph->sets);
	copy->devices = g_array_copy(graph->devices);
	copy->precisions = g_array_copy(graph->precisions);
	copy->guest_lags = g_array_copy(graph->guest_lags);
	copy->lags = g_array_copy(graph->lags);
	copy->steps = g_array_copy(graph->steps);
	copy->notes = g_ptr_array_copy(graph->notes, copy_string, NULL);
	g_ptr_array_set_free_func(copy->notes, g_free);
	return copy;
}

guint32 graph_step_index(const TachoGraph *graph, guint32 number)
{
	guint low = 0, high = graph->steps->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(graph->steps, guint32, middle) < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == graph->steps->len || g_array_index(graph->steps, guint32, low) != number)
		return TACHO_NONE;
	return low;
}

guint32 tacho_graph_n_nodes(const TachoGraph *graph)
{
	return graph->nodes->len;
}

guint32 tacho_graph_n_edges(const TachoGraph *graph)
{
	return graph->edges->len;
}

guint tacho_graph_n_notes(const TachoGraph *graph)
{
	return graph->notes->len;
}

const gchar *tacho_graph_borrow_note(const TachoGraph *graph, guint index)
{
	return index < graph->notes->len ? g_ptr_array_index(graph->notes, index) : NULL;
}

void graph_note(TachoGraph *graph, const gchar *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(graph->notes, g_strdup_vprintf(format, args));
	va_end(args);
}

guint32 graph_add_node(TachoGraph *graph, struct graph_node node)
{
	g_array_append_val(graph->nodes, node);
	return graph->nodes->len - 1;
}

void graph_add_edge(TachoGraph *graph, guint32 from, guint32 to, TachoEdgeKind kind)
{
	struct graph_edge edge = { from, to, kind };

	g_array_append_val(graph->edges, edge);
}

static guint32 take_link(TachoGraph *graph, guint32 host, const gchar *direction)
{
	struct graph_link link = { .host = host, .direction = direction };

	for (guint32 i = 0; i < graph->links->len; i++) {
		const struct graph_link *known = &g_array_index(graph->links, struct graph_link, i);

		if (known->host == host && strcmp(known->direction, direction) == 0)
			return i;
	}
	g_array_append_val(graph->links, link);
	return graph->links->len - 1;
}

void graph_add_group_link(TachoGraph *graph, guint32 index, guint32 host, const gchar *direction)
{
	struct graph_group *group = graph_group_at(graph, index);
	guint32 link = take_link(graph, host, direction);

	if (group->n_links == 0)
		group->first_link = graph->group_links->len;
	for (guint32 i = 0; i < group->n_links; i++)
		if (g_array_index(graph->group_links, guint32, group->first_link + i) == link)
			return;
	g_array_append_val(graph->group_links, link);
	group->n_links++;
}

guint32 graph_n_ranks(const TachoGraph *graph)
{
	guint32 n_ranks = graph_n_own_ranks(graph);

	for (guint i = 0; i < graph->guests->len; i++)
		n_ranks += g_array_index(graph->guests, struct graph_guest, i).n_ranks;
	return n_ranks;
}

const struct graph_guest *graph_guest_of(const TachoGraph *graph, guint32 rank_index)
{
	for (guint i = 0; i < graph->guests->len; i++) {
		const struct graph_guest *guest =
			&g_array_index(graph->guests, struct graph_guest, i);

		if (rank_index >= guest->first_rank &&
		    rank_index - guest->first_rank < guest->n_ranks)
			return guest;
	}
	return NULL;
}

gboolean graph_is_guest_node(const TachoGraph *graph, const struct graph_node *node)
{
	guint32 rank_index = graph_lane_at(graph, node->lane)->rank_index;

	if (node->transfer != TACHO_NONE)
		return graph_group_at(graph, graph_transfer_at(graph, node->transfer)->group)
			->is_guest;
	return graph->guests->len > 0 && rank_index != TACHO_NONE &&
	       rank_index >= graph_n_own_ranks(graph);
}

guint32 *graph_none_new(guint32 n)
{
	guint32 *numbers = g_new(guint32, MAX(n, 1u));

	for (guint32 i = 0; i < n; i++)
		numbers[i] = TACHO_NONE;
	return numbers;
}

gint32 graph_node_rank(const TachoGraph *graph, guint32 node)
{
	guint32 rank_index = graph_lane_at(graph, graph_node_at(graph, node)->lane)->rank_index;

	return rank_index < graph_n_own_ranks(graph) ? rank_copies_number(graph, rank_index) : -1;
}

void graph_set_transfer(TachoGraph *graph, guint32 index, gdouble fixed_ns, gdouble work_ns)
{
	struct graph_transfer *transfer = graph_transfer_at(graph, index);

	transfer->fixed_ns = CLAMP(fixed_ns, 0.0, MAX_TRANSFER_NS);
	transfer->work_ns = CLAMP(work_ns, 0.0, MAX_TRANSFER_NS);
	graph_node_at(graph, transfer->node)->duration_ns =
		llround(transfer->fixed_ns + transfer->work_ns);
}

guint32 graph_n_sharing(const TachoGraph *graph, guint32 index, const guint32 *load,
			guint32 n_of_group)
{
	const struct graph_group *group = graph_group_at(graph, index);
	guint32 busiest = 1;

	for (guint32 i = 0; i < group->n_links; i++)
		busiest = MAX(
			busiest,
			load[g_array_index(graph->group_links, guint32, group->first_link + i)]);
	return group->is_device && !group->is_hops && busiest >= n_of_group
		       ? busiest - (n_of_group - 1)
		       : busiest;
}

void graph_remove_nodes(TachoGraph *graph, const guint8 *is_removed)
{
	guint n_kept = 0;

	for (guint i = 0; i < graph->edges->len; i++) {
		struct graph_edge edge = g_array_index(graph->edges, struct graph_edge, i);

		if (!is_removed[edge.from] && !is_removed[edge.to])
			g_array_index(graph->edges, struct graph_edge, n_kept++) = edge;
	}
	g_array_set_size(graph->edges, n_kept);
	for (guint32 i = 0; i < graph->nodes->len; i++) {
		struct graph_node *node = graph_node_at(graph, i);

		if (!is_removed[i])
			continue;
		node->kind = TACHO_NODE_REMOVED;
		node->duration_ns = 0;
		node->pool = TACHO_NONE;
	}
}

/* --- numbering ------------------------------------------------------------------------------ */

/* At one moment, a rank comes to a collective, the collective begins, ends, and work goes on. */
static guint rank_of_kind(TachoNodeKind kind)
{
	return MIN((guint)kind, (guint)TACHO_NODE_OP);
}

static gint compare_nodes(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoGraph *graph = data;
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
	const struct graph_node *node_x = graph_node_at(graph, x);
	const struct graph_node *node_y = graph_node_at(graph, y);
	guint kind_x = rank_of_kind(node_x->kind), kind_y = rank_of_kind(node_y->kind);

	if (node_x->begin_ns != node_y->begin_ns)
		return node_x->begin_ns < node_y->begin_ns ? -1 : 1;
	if (kind_x != kind_y)
		return kind_x < kind_y ? -1 : 1;
	return (x > y) - (x < y);
}

static void renumber_references(TachoGraph *graph, const guint32 *number)
{
	for (guint i = 0; i < graph->edges->len; i++) {
		struct graph_edge *edge = &g_array_index(graph->edges, struct graph_edge, i);

		edge->from = number[edge->from];
		edge->to = number[edge->to];
	}
	for (guint i = 0; i < graph->transfers->len; i++)
		graph_transfer_at(graph, i)->node = number[graph_transfer_at(graph, i)->node];
	for (guint i = 0; i < graph->gradients->len; i++) {
		struct graph_gradient *gradient =
			&g_array_index(graph->gradients, struct graph_gradient, i);

		gradient->ready_node = number[gradient->ready_node];
		if (gradient->copy_node != TACHO_NONE)
			gradient->copy_node = number[gradient->copy_node];
	}
	for (guint i = 0; i < graph->passes->len; i++) {
		struct graph_pass *pass = &g_array_index(graph->passes, struct graph_pass, i);

		pass->finish_node = number[pass->finish_node];
	}
	for (guint i = 0; i < graph->blocks->len; i++) {
		struct graph_block *block = &g_array_index(graph->blocks, struct graph_block, i);

		if (block->begin.node != TACHO_NONE)
			block->begin.node = number[block->begin.node];
		if (block->end.node != TACHO_NONE)
			block->end.node = number[block->end.node];
	}
}

void graph_renumber(TachoGraph *graph)
{
	guint32 n = graph->nodes->len;
	g_autofree guint32 *order = g_new(guint32, n);
	g_autofree guint32 *number = g_new(guint32, n);
	g_autoptr(GArray) nodes = graph->nodes;

	for (guint32 i = 0; i < n; i++)
		order[i] = i;
	g_qsort_with_data(order, (gint)n, sizeof(*order), compare_nodes, graph);
	graph->nodes = g_array_sized_new(FALSE, FALSE, sizeof(struct graph_node), n);
	for (guint32 i = 0; i < n; i++) {
		number[order[i]] = i;
		g_array_append_val(graph->nodes, g_array_index(nodes, struct graph_node, order[i]));
	}
	renumber_references(graph, number);
}

/* --- freezing ------------------------------------------------------------------------------- */

static gint compare_queues(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoGraph *graph = data;
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
	gint64 begin_x = graph_node_at(graph, x)->begin_ns;
	gint64 begin_y = graph_node_at(graph, y)->begin_ns;

	if (begin_x != begin_y)
		return begin_x < begin_y ? -1 : 1;
	return (x > y) - (x < y);
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
	guint32 *complete = g_new(guint32, MAX(n, 1u));
	g_autoptr(GHashTable) found = g_hash_table_new(g_int64_hash, g_int64_equal);
	g_autofree gint64 *keys = g_new(gint64, MAX(n, 1u));

	for (guint32 i = 0; i < n; i++) {
		const struct graph_node *node = graph_node_at(graph, i);

		complete[i] = TACHO_NONE;
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

static void count_edges(const GArray *edges, guint32 *pred_first, guint32 *succ_first)
{
	for (guint i = 0; i < edges->len; i++) {
		const struct graph_edge *edge = &g_array_index(edges, struct graph_edge, i);

		pred_first[edge->to + 2]++;
		succ_first[edge->from + 2]++;
	}
}

static void place_edges(TachoGraph *graph, const GArray *edges)
{
	for (guint i = 0; i < edges->len; i++) {
		const struct graph_edge *edge = &g_array_index(edges, struct graph_edge, i);

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
	for (gsize i = 2; i < (gsize)n + 2; i++) {
		graph->pred_first[i] += graph->pred_first[i - 1];
		graph->succ_first[i] += graph->succ_first[i - 1];
	}
	place_edges(graph, graph->edges);
	place_edges(graph, orders);
}

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
		    "work that waits for itself, over %u nodes: %s%s", n_nodes, names->str,
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

gdouble graph_device_taken(const TachoGraph *graph, guint32 rank_index)
{
	const struct graph_guest *guest = graph_guest_of(graph, rank_index);

	return guest ? guest->device_taken_share : graph->device_taken_share;
}

/* Of any rank. */
static gboolean takes_from_devices(const TachoGraph *graph)
{
	for (guint i = 0; i < graph->guests->len; i++)
		if (g_array_index(graph->guests, struct graph_guest, i).device_taken_share > 0)
			return TRUE;
	return graph->device_taken_share > 0;
}

gboolean graph_has_cores(const TachoGraph *graph)
{
	if (graph->n_cores > 0 || graph->taken_share > 0)
		return TRUE;
	for (guint i = 0; i < graph->guests->len; i++)
		if (g_array_index(graph->guests, struct graph_guest, i).taken_share > 0)
			return TRUE;
	return FALSE;
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

gboolean graph_freeze(TachoGraph *graph, GError **error)
{
	thaw(graph);
	if ((guint64)graph->edges->len + graph->nodes->len >= MAX_NODES ||
	    graph->lanes->len > GRAPH_MAX_LANES) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_SIZE,
			    "more than %u nodes and edges; choose fewer steps", MAX_NODES);
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

/* --- text ----------------------------------------------------------------------------------- */

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

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
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
	for (guint32 i = 0; i < graph->nodes->len; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
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
