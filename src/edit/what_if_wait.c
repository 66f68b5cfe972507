/* what_if_wait: no rank waits for a later one.
 *
 * A collective is one node that begins when its last rank has come. Without waiting each rank has it to itself: what
 * it takes follows the rank's own coming, so each goes at its own pace, and the mean of their steps is what a step would
 * take if the same work were spread evenly. What ranks send at the same time is then no longer shared by links. */
#include "base/for_each.h"
#include "edit/change_internal.h"
#include "edit/edit_state.h"
#include "trace/none_rows.h"

/* What comes to a transfer, and what it lets go on. */
struct ends {
	GArray *queues, *completes; /* guint32 nodes */
};

static struct ends *find_ends(const TachoGraph *graph)
{
	struct ends *ends = g_new0(struct ends, MAX(graph->transfers->len, 1u));

	for (guint32 i = 0; i < graph->transfers->len; i++) {
		ends[i].queues = g_array_new(FALSE, FALSE, sizeof(guint32));
		ends[i].completes = g_array_new(FALSE, FALSE, sizeof(guint32));
	}
	FOR_EACH(const struct graph_edge, edge, graph->edges) {
		const struct graph_node *from = graph_node_at(graph, edge->from);
		const struct graph_node *to = graph_node_at(graph, edge->to);

		if (edge->kind != TACHO_EDGE_TRANSFER)
			continue;
		if (to->kind == TACHO_NODE_TRANSFER && !graph_is_guest_node(graph, to))
			g_array_append_val(ends[to->transfer].queues, edge->from);
		else if (from->kind == TACHO_NODE_TRANSFER && !graph_is_guest_node(graph, from))
			g_array_append_val(ends[from->transfer].completes, edge->to);
	}
	return ends;
}

static void free_ends(struct ends *ends, guint32 n)
{
	for (guint32 i = 0; i < n; i++) {
		g_array_unref(ends[i].queues);
		g_array_unref(ends[i].completes);
	}
	g_free(ends);
}

/* A place before the node, after `queue`, in which the rank has the transfer to itself. */
static void give_alone(TachoGraph *graph, guint32 transfer_node, guint32 queue, guint32 complete)
{
	struct graph_node alone = *graph_node_at(graph, transfer_node);
	const struct graph_transfer *transfer = graph_transfer_at(graph, alone.transfer);
	guint32 node;

	alone.kind = TACHO_NODE_PART;
	alone.origin = MAX(transfer->fixed_origin, transfer->work_origin);
	alone.lane = graph_node_at(graph, complete)->lane;
	alone.step = graph_node_at(graph, complete)->step;
	alone.transfer = TACHO_NONE;
	node = graph_add_node(graph, alone);
	graph_add_edge(graph, queue, node, TACHO_EDGE_TRANSFER);
	graph_add_edge(graph, node, complete, TACHO_EDGE_TRANSFER);
}

/* The transfer's node goes; each rank gets what it took. `queue_of` has a place a rank, all TACHO_NONE. */
static void separate(TachoGraph *graph, guint32 index, const struct ends *ends, guint32 *queue_of,
		     guint8 *is_removed)
{
	guint32 node = graph_transfer_at(graph, index)->node;

	for (guint i = 0; i < ends->queues->len; i++) {
		guint32 queue = g_array_index(ends->queues, guint32, i);

		queue_of[graph_rank_index(graph, queue)] = queue;
	}
	for (guint i = 0; i < ends->completes->len; i++) {
		guint32 complete = g_array_index(ends->completes, guint32, i);
		guint32 queue = queue_of[graph_rank_index(graph, complete)];

		if (queue != TACHO_NONE)
			give_alone(graph, node, queue, complete);
	}
	for (guint i = 0; i < ends->queues->len; i++)
		queue_of[graph_rank_index(graph, g_array_index(ends->queues, guint32, i))] =
			TACHO_NONE;
	is_removed[node] = 1;
	graph_transfer_at(graph, index)->is_removed = TRUE;
}

gboolean change_drop_wait(TachoGraph *graph, const struct change *change, GError **error)
{
	g_autofree guint32 *queue_of = none_rows_new(graph_n_ranks(graph));
	g_autofree guint8 *is_removed = NULL;
	struct ends *ends;
	guint32 n = 0;

	graph_fold_hops(graph);
	ends = find_ends(graph);
	is_removed = g_new0(guint8, (gsize)graph->nodes->len + graph->edges->len);
	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers) {
		if (transfer->is_removed || ends[i].queues->len < 2 ||
		    graph_node_at(graph, transfer->node)->kind != TACHO_NODE_TRANSFER)
			continue;
		separate(graph, i, &ends[i], queue_of, is_removed);
		n++;
	}
	if (n > 0) {
		graph_remove_nodes(graph, is_removed);
		graph_renumber(graph);
		edit_state_of(graph)->has_no_waits = TRUE;
		graph_note(graph, "no rank waits for a later one; a step is the mean of the ranks' "
				  "own times, as if the same work were spread evenly");
	}
	free_ends(ends, graph->transfers->len);
	return n > 0 || change_refuse(error, change,
				      "the steps have no collective of two or more recorded ranks");
}
