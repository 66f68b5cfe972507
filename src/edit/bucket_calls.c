#include "edit/bucket_calls.h"

#include <math.h>

#include "base/for_each.h"
#include "base/order.h"
#include "trace/none_rows.h"

/* Both nodes. */
struct added_call {
	guint32 ready, queue;
};

/* --- as recorded ------------------------------------------------------------------------------------ */

/* A rank's part in a collective, in the recording. */
struct part {
	guint32 rank, pool, transfer;
	gint64 queued_ns, over_ns;
	gdouble call_ns; /* negative: no call of it was recorded */
};

static gint compare_parts(gconstpointer a, gconstpointer b)
{
	const struct part *x = a, *y = b;

	return ORDER(x->pool, y->pool) ?: ORDER(x->queued_ns, y->queued_ns) ?:
	       ORDER(x->transfer, y->transfer);
}

/* The rank's part in the transfer; NULL: it has none. */
static struct part *find_part(GArray *parts, GHashTable *rows, guint32 rank, guint32 transfer)
{
	guint64 key = (guint64)rank << 32 | transfer;
	guint row = GPOINTER_TO_UINT(g_hash_table_lookup(rows, &key));

	return row ? &g_array_index(parts, struct part, row - 1) : NULL;
}

static void add_parts(const TachoGraph *graph, GArray *parts, GHashTable *rows)
{
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		struct part part = { graph_rank_index(graph, i),
				     node->pool,
				     node->transfer,
				     node->begin_ns,
				     node->begin_ns,
				     -1 };
		guint64 key = (guint64)part.rank << 32 | part.transfer;

		if (node->kind != TACHO_NODE_QUEUE || part.rank >= graph_n_own_ranks(graph))
			continue;
		g_array_append_val(parts, part);
		g_hash_table_insert(rows, g_memdup2(&key, sizeof(key)),
				    GUINT_TO_POINTER(parts->len));
	}
}

static GArray *collect_parts(struct bucket_calls *calls)
{
	const TachoGraph *graph = calls->graph;
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	g_autoptr(GHashTable) rows =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	struct part *part;

	add_parts(graph, parts, rows);
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes)
		if (node->kind == TACHO_NODE_COMPLETE &&
		    (part = find_part(parts, rows, graph_rank_index(graph, i), node->transfer)))
			part->over_ns = node->begin_ns;
	FOR_EACH(const struct graph_call, call, graph->calls) {
		guint32 rank = graph_rank_index(graph, call->node);

		part = find_part(parts, rows, rank, call->transfer);
		if (!part || graph_transfer_at(graph, call->transfer)->pass == TACHO_NONE)
			continue;
		part->call_ns = MAX(part->call_ns, 0.0) +
				(gdouble)graph_node_at(graph, call->node)->duration_ns;
		calls->like[rank] = call->node;
	}
	g_array_sort(parts, compare_parts);
	return parts;
}

static guint32 n_workers_of(const TachoGraph *graph, guint32 pool)
{
	return pool == TACHO_NONE
		       ? 1
		       : MAX(g_array_index(graph->pools, struct graph_pool, pool).n_workers, 1u);
}

/* The share of its workers that were at nothing else when part `index` was queued. */
static gdouble free_share(const TachoGraph *graph, const GArray *parts, guint index)
{
	const struct part *part = &g_array_index(parts, struct part, index);
	guint32 n_workers = n_workers_of(graph, part->pool), n_busy = 0;

	for (guint i = index; i-- > 0 && part->pool != TACHO_NONE && n_busy < n_workers;) {
		const struct part *before = &g_array_index(parts, struct part, i);

		if (before->pool != part->pool ||
		    graph_transfer_at(graph, before->transfer)->step !=
			    graph_transfer_at(graph, part->transfer)->step)
			break;
		n_busy += before->over_ns > part->queued_ns;
	}
	return 1 - (gdouble)n_busy / n_workers;
}

void bucket_calls_init(struct bucket_calls *calls, TachoGraph *graph)
{
	guint32 n_ranks = MAX(graph_n_own_ranks(graph), 1u);
	g_autofree gdouble *sums_ns = g_new0(gdouble, n_ranks);
	g_autofree gdouble *shares = g_new0(gdouble, n_ranks);
	g_autoptr(GArray) parts = NULL;

	*calls = (struct bucket_calls){ .graph = graph };
	calls->alone_ns = g_new0(gint64, n_ranks);
	calls->like = none_rows_new(n_ranks);
	calls->added = g_array_new(FALSE, FALSE, sizeof(struct added_call));
	parts = collect_parts(calls);
	FOR_EACH_AT(const struct part, part, i, parts) {
		if (part->call_ns < 0)
			continue;
		sums_ns[part->rank] += part->call_ns;
		shares[part->rank] += free_share(graph, parts, i);
	}
	for (guint32 rank = 0; rank < n_ranks; rank++)
		if (shares[rank] >= 1)
			calls->alone_ns[rank] = llround(sums_ns[rank] / shares[rank]);
}

void bucket_calls_release(struct bucket_calls *calls)
{
	g_free(calls->alone_ns);
	g_free(calls->like);
	g_array_unref(calls->added);
}

/* --- anew ------------------------------------------------------------------------------------------- */

void bucket_calls_add(struct bucket_calls *calls, guint32 ready, guint32 queue)
{
	struct added_call added = { ready, queue };

	if (calls->alone_ns[graph_rank_index(calls->graph, queue)] > 0)
		g_array_append_val(calls->added, added);
}

static void drop_calls(TachoGraph *graph, const guint8 *is_dropped, guint32 n_transfers)
{
	FOR_EACH(const struct graph_call, call, graph->calls)
		if (call->transfer < n_transfers && is_dropped[call->transfer])
			graph_change_duration(graph_node_at(graph, call->node), 0, ORIGIN_MODELLED);
}

static struct graph_call add_node(const struct bucket_calls *calls, const struct added_call *added)
{
	TachoGraph *graph = calls->graph;
	const struct graph_node *ready = graph_node_at(graph, added->ready);
	const struct graph_node *queue = graph_node_at(graph, added->queue);
	guint32 rank = graph_rank_index(graph, added->queue);
	struct graph_call call = { .transfer = queue->transfer };
	struct graph_node node = { .duration_ns = calls->alone_ns[rank],
				   .begin_ns = ready->begin_ns, /* behind it, before all else */
				   .name = graph_node_at(graph, calls->like[rank])->name,
				   .slice = TACHO_NONE,
				   .lane = ready->lane,
				   .origin = ORIGIN_MODELLED,
				   .kind = TACHO_NODE_OP,
				   .step = queue->step,
				   .transfer = TACHO_NONE,
				   .pool = queue->pool };

	call.node = graph_add_node(graph, node);
	return call;
}

/* Calls behind one node follow each other, and what the thread did next follows the last. */
static void add_calls(struct bucket_calls *calls)
{
	TachoGraph *graph = calls->graph;
	guint n_edges = graph->edges->len;
	g_autofree guint32 *last = none_rows_new(graph->nodes->len); /* [node]: call behind it */

	FOR_EACH(const struct added_call, added, calls->added) {
		guint32 before =
			last[added->ready] == TACHO_NONE ? added->ready : last[added->ready];
		struct graph_call call = add_node(calls, added);

		graph_add_edge(graph, before, call.node, TACHO_EDGE_PROGRAM);
		g_array_append_val(graph->calls, call);
		last[added->ready] = call.node;
	}
	for (guint i = 0; i < n_edges; i++) {
		struct graph_edge *edge = &g_array_index(graph->edges, struct graph_edge, i);

		if (edge->kind == TACHO_EDGE_PROGRAM && last[edge->from] != TACHO_NONE)
			edge->from = last[edge->from];
	}
}

void bucket_calls_finish(struct bucket_calls *calls, const guint8 *is_dropped, guint32 n_transfers)
{
	drop_calls(calls->graph, is_dropped, n_transfers);
	if (calls->added->len > 0)
		add_calls(calls);
}
