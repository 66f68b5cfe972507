/* pass_nodes: which nodes of a graph are of the forward and backward pass of their step.
 *
 * A rank's pass goes from the begin of its step to its last gradient: to the piece after which the last bucket can be
 * queued, where buckets were seen; else to the last piece within AccumulateGrad; else to autograd's last piece.
 *
 * (1) A pass has all work of threads that began by then, and all work of devices that was launched by then.
 * (2) A pass has the collectives that all ranks came to within their passes, except those that carry gradients:
 *     queued in the backward pass, or launched within AccumulateGrad, whose hooks send buckets
 *     (DistributedDataParallel).
 * (3) Launches and gaps go with what they lead to. */
#include "edit/pass_nodes.h"

#include <string.h>

#include "base/for_each.h"
#include "edit/change_internal.h"
#include "trace/none_rows.h"
#include "trace/region_kind.h"

/* What contains a slice, or is it. */
enum within { WITHIN_AUTOGRAD = 1 << 0, WITHIN_ACCUMULATION = 1 << 1 };

/* How a node that comes to a collective was queued. */
enum queued { QUEUED_UNKNOWN, QUEUED_IN_PASS, QUEUED_ELSEWHERE };

struct finding {
	struct pass_nodes *pass;
	const TachoGraph *graph;
	guint8 *within;	      /* enum within, of each slice */
	guint8 *queued;	      /* enum queued, of each node */
	GHashTable *left_out; /* slices of devices: parts in collectives that are not of the pass */
};

gboolean pass_lane_is_thread(const TachoGraph *graph, guint32 lane)
{
	const struct graph_lane *row = graph_lane_at(graph, lane);

	return row->track != TACHO_NONE && !graph_lane_is_stream(graph, row);
}

gboolean pass_node_is_stream_work(const TachoGraph *graph, const struct graph_node *node)
{
	switch ((TachoNodeKind)node->kind) {
	case TACHO_NODE_DEVICE:
	case TACHO_NODE_COPY:
	case TACHO_NODE_PART:
	case TACHO_NODE_QUEUE:
	case TACHO_NODE_COMPLETE:
		return graph_lane_is_stream(graph, graph_lane_at(graph, node->lane));
	default:
		return FALSE;
	}
}

/* --- until when ------------------------------------------------------------------------------- */

static void find_within(struct finding *finding)
{
	const TachoTimeline *timeline = finding->graph->timeline;
	const TachoSlices *slices = &timeline->slices;

	finding->within = g_new0(guint8, MAX(slices->n, 1u));
	for (guint32 i = 0; i < slices->n; i++) {
		guint32 parent = slices->parent[i];

		if (parent != TACHO_NONE && parent < i) /* parents begin first */
			finding->within[i] = finding->within[parent];
		if (graph_slice_is_autograd(timeline, i))
			finding->within[i] |= WITHIN_AUTOGRAD;
		if ((finding->within[i] & WITHIN_AUTOGRAD) &&
		    region_kind_accumulates(region_kind_of(timeline, i)))
			finding->within[i] |= WITHIN_ACCUMULATION;
	}
}

/* The step of a node of this job; TACHO_NONE: it is in none. */
static guint32 step_of(const TachoGraph *graph, const struct graph_node *node)
{
	if (node->kind == TACHO_NODE_REMOVED || node->kind == TACHO_NODE_START ||
	    node->step == TACHO_NONE || graph_is_guest_node(graph, node))
		return TACHO_NONE;
	return graph_step_index(graph, node->step);
}

static gsize cell_of(const struct finding *finding, const struct graph_node *node, guint32 step)
{
	return (gsize)graph_lane_at(finding->graph, node->lane)->rank_index *
		       finding->pass->n_steps +
	       step;
}

static void end_with_buckets(struct finding *finding)
{
	const TachoGraph *graph = finding->graph;

	FOR_EACH(const struct graph_pass, row, graph->passes) {
		guint32 step = graph_step_index(graph, row->step);
		gint64 *last_ns;

		if (step == TACHO_NONE)
			continue;
		last_ns =
			&finding->pass
				 ->last_ns[(gsize)row->rank_index * finding->pass->n_steps + step];
		for (guint32 j = 0; j < row->n_gradients; j++) {
			guint32 ready = g_array_index(graph->gradients, struct graph_gradient,
						      row->first_gradient + j)
						.ready_node;

			*last_ns = MAX(*last_ns, graph_node_at(graph, ready)->begin_ns);
		}
	}
}

/* Where the pass has no end yet, the last piece within such slices. */
static void end_within(struct finding *finding, enum within within, gsize n_cells)
{
	const TachoGraph *graph = finding->graph;
	gint64 *last_ns = finding->pass->last_ns;
	g_autofree gint64 *found_ns = g_memdup2(last_ns, n_cells * sizeof(*last_ns));

	FOR_EACH(const struct graph_node, node, graph->nodes) {
		guint32 step = step_of(graph, node);
		gsize cell;

		if (step == TACHO_NONE || node->slice == TACHO_NONE ||
		    !pass_lane_is_thread(graph, node->lane) ||
		    !(finding->within[node->slice] & within))
			continue;
		cell = cell_of(finding, node, step);
		if (last_ns[cell] == G_MININT64)
			found_ns[cell] = MAX(found_ns[cell], node->begin_ns);
	}
	memcpy(last_ns, found_ns, n_cells * sizeof(*last_ns));
}

static gboolean refuse_without(const struct finding *finding, const struct change *change,
			       guint32 node, gboolean is_any, GError **error)
{
	if (!is_any)
		return change_refuse(
			error, change,
			"the steps show no backward pass (operations of autograd::engine, "
			"torch::autograd::AccumulateGrad), so the end of a pass is not known");
	return change_refuse(
		error, change,
		"rank %d shows no backward pass in step %u, so the end of the pass is not known",
		graph_node_rank(finding->graph, node), graph_node_at(finding->graph, node)->step);
}

/* Also marks the threads' nodes. */
static gboolean find_firsts(struct finding *finding, const struct change *change, gsize n_cells,
			    GError **error)
{
	const TachoGraph *graph = finding->graph;
	struct pass_nodes *pass = finding->pass;
	gboolean is_any = FALSE;

	for (gsize cell = 0; cell < n_cells; cell++)
		is_any |= pass->last_ns[cell] != G_MININT64;
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		guint32 step = step_of(graph, node);
		gsize cell;

		if (step == TACHO_NONE || !pass_lane_is_thread(graph, node->lane))
			continue;
		cell = cell_of(finding, node, step);
		if (pass->last_ns[cell] == G_MININT64)
			return refuse_without(finding, change, i, is_any, error);
		if (node->begin_ns > pass->last_ns[cell])
			continue;
		pass->step_of[i] = step;
		pass->first_ns[cell] = MIN(pass->first_ns[cell], node->begin_ns);
	}
	return is_any || refuse_without(finding, change, 0, is_any, error);
}

/* --- devices and collectives ------------------------------------------------------------------ */

/* In the recording, when the call was made that launched the work; without one, when it began. */
static gint64 asked_ns(const TachoGraph *graph, const struct graph_node *node)
{
	const TachoSlices *slices = &graph->timeline->slices;
	guint32 call = node->slice == TACHO_NONE ? TACHO_NONE : slices->launch[node->slice];

	if (call == TACHO_NONE)
		return node->begin_ns;
	return MIN(slices->start_ns[call] - graph->origin_ns, node->begin_ns);
}

static gboolean is_asked_in_pass(const struct finding *finding, const struct graph_node *node,
				 guint32 step)
{
	return asked_ns(finding->graph, node) <=
	       finding->pass->last_ns[cell_of(finding, node, step)];
}

/* A part in a collective of a device that was launched as gradients came. */
static gboolean is_of_gradients(const struct finding *finding, guint32 slice)
{
	const TachoSlices *slices = &finding->graph->timeline->slices;

	return slice != TACHO_NONE && slices->kind[slice] == TACHO_SLICE_COLLECTIVE &&
	       slices->launch[slice] != TACHO_NONE &&
	       (finding->within[slices->launch[slice]] & WITHIN_ACCUMULATION);
}

static void find_queued(struct finding *finding)
{
	const TachoGraph *graph = finding->graph;

	finding->queued = g_new0(guint8, MAX(graph->nodes->len, 1u));
	FOR_EACH(const struct graph_edge, edge, graph->edges)
		if (edge->kind == TACHO_EDGE_QUEUE)
			finding->queued[edge->to] = finding->pass->step_of[edge->from] == TACHO_NONE
							    ? QUEUED_ELSEWHERE
							    : QUEUED_IN_PASS;
}

static gboolean comes_in_pass(const struct finding *finding, guint32 index, guint32 step)
{
	const struct graph_node *node = graph_node_at(finding->graph, index);

	if (finding->queued[index] != QUEUED_UNKNOWN)
		return finding->queued[index] == QUEUED_IN_PASS;
	return is_asked_in_pass(finding, node, step) && !is_of_gradients(finding, node->slice);
}

/* (2) */
static void find_transfers(struct finding *finding)
{
	const TachoGraph *graph = finding->graph;
	guint32 *transfer_step_of = finding->pass->transfer_step_of;
	g_autofree guint8 *is_out = g_new0(guint8, MAX(graph->transfers->len, 1u));

	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		guint32 step;

		if (node->kind != TACHO_NODE_QUEUE)
			continue;
		step = step_of(graph, node);
		if (step == TACHO_NONE || !comes_in_pass(finding, i, step) ||
		    graph_transfer_at(graph, node->transfer)->pass != TACHO_NONE ||
		    (transfer_step_of[node->transfer] != TACHO_NONE &&
		     transfer_step_of[node->transfer] != step))
			is_out[node->transfer] = 1;
		else
			transfer_step_of[node->transfer] = step;
	}
	for (guint32 i = 0; i < graph->transfers->len; i++)
		if (is_out[i])
			transfer_step_of[i] = TACHO_NONE;
	for (guint32 i = 0; i < graph->transfers->len; i++)
		if (graph_transfer_at(graph, i)->is_hop)
			transfer_step_of[i] = transfer_step_of[graph_transfer_at(graph, i)->whole];
}

static void mark_transfers(struct finding *finding)
{
	const TachoGraph *graph = finding->graph;

	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		if (node->kind == TACHO_NODE_REMOVED || node->transfer == TACHO_NONE)
			continue;
		finding->pass->step_of[i] = finding->pass->transfer_step_of[node->transfer];
		if (finding->pass->step_of[i] == TACHO_NONE && node->slice != TACHO_NONE)
			g_hash_table_add(finding->left_out, GUINT_TO_POINTER(node->slice));
	}
}

static void mark_work(struct finding *finding)
{
	const TachoGraph *graph = finding->graph;

	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		guint32 step;

		if (node->transfer != TACHO_NONE ||
		    (!pass_node_is_stream_work(graph, node) && node->kind != TACHO_NODE_CAST))
			continue;
		step = step_of(graph, node);
		if (step == TACHO_NONE || pass_lane_is_thread(graph, node->lane) ||
		    !is_asked_in_pass(finding, node, step) ||
		    is_of_gradients(finding, node->slice) ||
		    (node->slice != TACHO_NONE &&
		     g_hash_table_contains(finding->left_out, GUINT_TO_POINTER(node->slice))))
			continue;
		finding->pass->step_of[i] = step;
	}
}

/* (3); a gap may lead to a gap. */
static void mark_ways(struct finding *finding)
{
	const TachoGraph *graph = finding->graph;
	guint32 *step_of_node = finding->pass->step_of;
	gboolean is_changed = TRUE;

	while (is_changed) {
		is_changed = FALSE;
		FOR_EACH(const struct graph_edge, edge, graph->edges) {
			TachoNodeKind kind = graph_node_at(graph, edge->from)->kind;

			if ((kind != TACHO_NODE_LAUNCH && kind != TACHO_NODE_GAP) ||
			    step_of_node[edge->to] == TACHO_NONE ||
			    step_of_node[edge->from] != TACHO_NONE ||
			    step_of(graph, graph_node_at(graph, edge->from)) !=
				    step_of_node[edge->to])
				continue;
			step_of_node[edge->from] = step_of_node[edge->to];
			is_changed = TRUE;
		}
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

gboolean pass_nodes_find(struct pass_nodes *pass, const TachoGraph *graph,
			 const struct change *change, GError **error)
{
	gsize n_cells = (gsize)graph_n_own_ranks(graph) * graph->steps->len;
	struct finding finding = { .pass = pass, .graph = graph };
	gboolean is_found;

	*pass = (struct pass_nodes){ .n_nodes = graph->nodes->len, .n_steps = graph->steps->len };
	pass->step_of = none_rows_new(pass->n_nodes);
	pass->transfer_step_of = none_rows_new(graph->transfers->len);
	pass->first_ns = g_new(gint64, MAX(n_cells, 1u));
	pass->last_ns = g_new(gint64, MAX(n_cells, 1u));
	for (gsize cell = 0; cell < n_cells; cell++) {
		pass->first_ns[cell] = G_MAXINT64;
		pass->last_ns[cell] = G_MININT64;
	}
	find_within(&finding);
	end_with_buckets(&finding);
	end_within(&finding, WITHIN_ACCUMULATION, n_cells);
	end_within(&finding, WITHIN_AUTOGRAD, n_cells);
	is_found = find_firsts(&finding, change, n_cells, error);
	if (is_found) {
		finding.left_out = g_hash_table_new(NULL, NULL);
		find_queued(&finding);
		find_transfers(&finding);
		mark_transfers(&finding);
		mark_work(&finding);
		mark_ways(&finding);
		g_hash_table_unref(finding.left_out);
	}
	g_free(finding.within);
	g_free(finding.queued);
	return is_found;
}

void pass_nodes_release(struct pass_nodes *pass)
{
	g_free(pass->step_of);
	g_free(pass->transfer_step_of);
	g_free(pass->first_ns);
	g_free(pass->last_ns);
}
