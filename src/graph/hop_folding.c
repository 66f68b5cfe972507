/* hop_folding: collectives that were unfolded into hops, as one transfer each again.
 *
 * What a collective took as a whole was kept when it was unfolded. What changes have since made of its hops, summed
 * up, is made of the whole in proportion. */
#include "graph/graph_hops.h"

#include "base/for_each.h"

/* What the hops take in all, as they are now. */
static void sum_up_hops(TachoGraph *graph, gdouble *fixed_ns, gdouble *work_ns)
{
	FOR_EACH(const struct graph_transfer, transfer, graph->transfers) {
		if (!transfer->is_hop || transfer->is_removed)
			continue;
		fixed_ns[transfer->whole] += transfer->fixed_ns;
		work_ns[transfer->whole] += transfer->work_ns;
	}
}

void graph_keep_hop_sums(TachoGraph *graph)
{
	guint32 n = graph->transfers->len;
	g_autofree gdouble *fixed_ns = g_new0(gdouble, n);
	g_autofree gdouble *work_ns = g_new0(gdouble, n);

	sum_up_hops(graph, fixed_ns, work_ns);
	for (guint32 i = 0; i < n; i++) {
		graph_transfer_at(graph, i)->hops_fixed_ns = fixed_ns[i];
		graph_transfer_at(graph, i)->hops_work_ns = work_ns[i];
	}
}

static gdouble in_proportion(gdouble whole_ns, gdouble now_ns, gdouble recorded_ns)
{
	return recorded_ns > 0 ? whole_ns * (now_ns / recorded_ns) : whole_ns + now_ns;
}

/* Whether the transfer is of this job; those of jobs beside it stay as they are. */
static gboolean is_folded_back(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	return transfer->is_unfolded && graph_group_at(graph, transfer->group)->job == 0;
}

/* When the part was over. The copy of one in another pass has no slice; it is over as long after it began. */
static gint64 recorded_end_ns(const TachoGraph *graph, const struct graph_node *complete)
{
	return complete->slice != TACHO_NONE
		       ? tacho_slice_end_ns(graph->timeline, complete->slice)
		       : graph->origin_ns + complete->begin_ns + complete->duration_ns;
}

/* When it had the result, of each rank's part: after the transfer as a whole again. */
static void fold_completions(TachoGraph *graph)
{
	FOR_EACH_AT(struct graph_node, node, i, graph->nodes) {
		const struct graph_transfer *transfer;

		if (node->transfer == TACHO_NONE || node->kind != TACHO_NODE_COMPLETE)
			continue;
		transfer = graph_transfer_at(graph, node->transfer);
		if (!is_folded_back(graph, transfer))
			continue;
		node->duration_ns = MAX(recorded_end_ns(graph, node) - transfer->end_ns, 0);
		node->origin = ORIGIN_MEASURED;
		graph_add_edge(graph, transfer->node, i, TACHO_EDGE_TRANSFER);
	}
}

static void remove_hops(TachoGraph *graph)
{
	g_autofree guint8 *is_removed = g_new0(guint8, MAX(graph->nodes->len, 1u));

	for (guint32 i = 0; i < graph->transfers->len; i++)
		if (graph_transfer_at(graph, i)->is_hop &&
		    graph_group_at(graph, graph_transfer_at(graph, i)->group)->job == 0) {
			is_removed[graph_transfer_at(graph, i)->node] = 1;
			graph_transfer_at(graph, i)->is_removed = TRUE;
		}
	graph_remove_nodes(graph, is_removed);
}

void graph_fold_hops(TachoGraph *graph)
{
	guint32 n = graph->transfers->len;
	g_autofree gdouble *fixed_ns = g_new0(gdouble, n);
	g_autofree gdouble *work_ns = g_new0(gdouble, n);
	gboolean is_folded = FALSE;

	sum_up_hops(graph, fixed_ns, work_ns);
	fold_completions(graph);
	for (guint32 i = 0; i < n; i++) {
		struct graph_transfer *transfer = graph_transfer_at(graph, i);

		if (!is_folded_back(graph, transfer))
			continue;
		transfer->is_unfolded = transfer->is_removed = FALSE;
		graph_set_transfer(graph, i, transfer->whole_fixed_ns, transfer->whole_work_ns);
		graph_change_transfer(
			graph, i,
			in_proportion(transfer->whole_fixed_ns, fixed_ns[i],
				      transfer->hops_fixed_ns),
			in_proportion(transfer->whole_work_ns, work_ns[i], transfer->hops_work_ns),
			ORIGIN_MODELLED);
		is_folded = TRUE;
	}
	if (!is_folded)
		return;
	remove_hops(graph);
	graph_note(graph, "collectives that were recorded hop by hop are played as a whole, "
			  "because the change applies to the whole");
}
