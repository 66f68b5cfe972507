/* what_if_batch: more, or fewer, samples a step.
 *
 * What each sample needs is done F times as often; what is done once a step stays. In the forward and backward pass
 * (pass_nodes.c):
 *
 *     a device's kernels            the share of their recorded time that goes with their work (work_shares.h)
 *     copies, casts                 all their time
 *     a host's operations, kernels  the longest of the shortest quarter of the pieces is what a piece takes in any case; the rest goes
 *                                   with the batch. Where a device does the work they only ask for it, and stay
 *     collectives                   bytes of what is no gradient go with the batch
 *     data loading                  goes with the batch, as scale:loader=F
 *     memory                        what is given back within the pass, and what the forward pass hands out
 *
 * and what adds up gradients, the optimizer, and the collectives of gradients stay: they are as large as the model.
 *
 * (1) Kernels' times follow from what was recorded and from all that changes of the batch and of precisions made of it, so these may
 *     be made in any order, and taken back. (2) What is asked of weights alone (casts of them, say) is taken to go with the batch. */
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"
#include "edit/pass_nodes.h"
#include "edit/change_internal.h"
#include "edit/edit_state.h"
#include "edit/kernel_changes.h"
#include "trace/data_loading.h"
#include "trace/region_kind.h"

/* The factor of the number of samples.
 * Source: a rule: batches a thousand times as large or small are no longer the same job. If wrong, the words are refused. */
#define MIN_FACTOR 0.001
#define MAX_FACTOR 1000.0
/* The share of a host's pieces that are short; the longest of these takes what a piece takes in any case.
 * Source: a rule: most operations of a step are so small that their time is the call's; docs/what-if.md has what came out on two
 * jobs. If wrong, batches are predicted too long or too short, by that time of each piece: this matters more than other rules. */
#define SHORTEST 0.25

enum { WITHIN_ACCUMULATION = 1 << 0, WITHIN_LOADING = 1 << 1, WITHIN_AUTOGRAD = 1 << 2 };

struct batch {
	TachoGraph *graph;
	struct pass_nodes pass;
	gdouble factor;
	guint8 *within;	    /* of each slice */
	guint8 *has_device; /* of each rank that is played */
	gdouble *host_ns;   /* what a piece takes in any case, by rank */
	struct kernel_changes kernels;
};

static void find_within(struct batch *batch)
{
	const TachoTimeline *timeline = batch->graph->timeline;
	const guint32 *parents = timeline->slices.parent;

	batch->within = g_new0(guint8, MAX(timeline->slices.n, 1u));
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 parent = parents[i];
		guint8 *within = &batch->within[i];

		if (parent != TACHO_NONE && parent < i) /* parents begin first */
			*within = batch->within[parent];
		if (data_loading_of(timeline, i) != DATA_LOADING_NONE)
			*within |= WITHIN_LOADING;
		if (!graph_slice_is_autograd(timeline, i))
			continue;
		*within |= WITHIN_AUTOGRAD;
		if (region_kind_accumulates(region_kind_of(timeline, i)))
			*within |= WITHIN_ACCUMULATION;
	}
}

/* What the slice, or the call that launched it, is within. */
static guint8 within_of(const struct batch *batch, guint32 slice)
{
	guint32 launch = batch->graph->timeline->slices.launch[slice];

	return batch->within[slice] | (launch == TACHO_NONE ? 0 : batch->within[launch]);
}

static gboolean is_device_work(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_DEVICE || node->kind == TACHO_NODE_COPY ||
	       node->kind == TACHO_NODE_CAST;
}

/* The node is of the pass, and what it does is work. */
static gboolean is_work(const struct batch *batch, guint32 index)
{
	const struct graph_node *node = graph_node_at(batch->graph, index);
	const TachoTimeline *timeline = batch->graph->timeline;
	guint32 rank = graph_lane_at(batch->graph, node->lane)->rank_index;

	if (batch->pass.step_of[index] == TACHO_NONE || rank == TACHO_NONE)
		return FALSE;
	if (node->slice != TACHO_NONE &&
	    ((within_of(batch, node->slice) & (WITHIN_ACCUMULATION | WITHIN_LOADING)) ||
	     slice_communicates(timeline, node->slice)))
		return FALSE;
	if (is_device_work(node))
		return TRUE;
	return (node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL) &&
	       !batch->has_device[rank];
}

/* --- what a piece takes in any case ----------------------------------------------------------- */

/* What the longest of the shortest quarter takes: that of a piece, so that after a change it is still the same. */
static gint64 shortest_of(GArray *pieces)
{
	g_array_sort(pieces, order_int64);
	return g_array_index(pieces, gint64, (guint)(SHORTEST * (pieces->len - 1)));
}

static void find_fixed(struct batch *batch)
{
	const TachoGraph *graph = batch->graph;
	guint32 n_ranks = graph_n_own_ranks(graph);
	g_autoptr(GPtrArray) host = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

	for (guint32 i = 0; i < n_ranks; i++)
		g_ptr_array_add(host, g_array_new(FALSE, FALSE, sizeof(gint64)));
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		guint32 rank = graph_lane_at(graph, node->lane)->rank_index;

		if (node->kind == TACHO_NODE_OP && is_work(batch, i) && rank < n_ranks)
			g_array_append_val(g_ptr_array_index(host, rank), node->duration_ns);
	}
	for (guint32 i = 0; i < n_ranks; i++) {
		GArray *pieces = g_ptr_array_index(host, i);

		batch->host_ns[i] = pieces->len ? (gdouble)shortest_of(pieces) : 0;
	}
}

static void find_devices(struct batch *batch)
{
	const TachoGraph *graph = batch->graph;

	FOR_EACH(const struct graph_node, node, graph->nodes) {
		guint32 rank = graph_lane_at(graph, node->lane)->rank_index;

		if (node->kind == TACHO_NODE_DEVICE && rank < graph_n_own_ranks(graph))
			batch->has_device[rank] = 1;
	}
}

/* --- what changes ----------------------------------------------------------------------------- */

/* What all pieces but kernels take. */
static void scale_piece(const struct batch *batch, struct graph_node *node)
{
	guint32 rank = graph_lane_at(batch->graph, node->lane)->rank_index;
	gdouble ns = (gdouble)node->duration_ns;
	gdouble fixed_ns = node->kind == TACHO_NODE_OP ? MIN(batch->host_ns[rank], ns) : 0;

	graph_change_duration(node, rounded_ns(fixed_ns + (ns - fixed_ns) * batch->factor),
			      fixed_ns > 0 ? ORIGIN_MODELLED : ORIGIN_SCALED);
}

static guint32 scale_work(struct batch *batch)
{
	guint32 n = 0;

	for (guint32 i = 0; i < batch->pass.n_nodes; i++) {
		struct graph_node *node = graph_node_at(batch->graph, i);

		if (!is_work(batch, i))
			continue;
		if (node->kind == TACHO_NODE_DEVICE)
			kernel_changes_batch(&batch->kernels, node, batch->factor);
		else
			scale_piece(batch, node);
		n++;
	}
	return n;
}

static void scale_transfers(struct batch *batch)
{
	TachoGraph *graph = batch->graph;

	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers)
		if (batch->pass.transfer_step_of[i] != TACHO_NONE && !transfer->is_removed)
			graph_change_transfer(graph, i, transfer->fixed_ns,
					      transfer->work_ns * batch->factor, ORIGIN_SCALED);
}

static guint32 step_of_moment(const struct batch *batch, const struct graph_moment *moment)
{
	return moment->node == TACHO_NONE ? TACHO_NONE : batch->pass.step_of[moment->node];
}

/* Memory that outlasts its pass: gradients come from autograd; samples and results do not. */
static void scale_memory(struct batch *batch)
{
	FOR_EACH(struct graph_block, block, batch->graph->blocks) {
		guint32 begin = step_of_moment(batch, &block->begin);

		if (begin == TACHO_NONE || block->slice == TACHO_NONE ||
		    (within_of(batch, block->slice) & WITHIN_ACCUMULATION))
			continue;
		if (step_of_moment(batch, &block->end) != begin &&
		    ((within_of(batch, block->slice) & WITHIN_AUTOGRAD) ||
		     block->end.node == TACHO_NONE))
			continue;
		block->bytes = (gint64)((gdouble)block->bytes * batch->factor);
	}
}

static void tell_kernels(const struct batch *batch)
{
	TachoGraph *graph = batch->graph;
	const struct kernel_doubt *doubt = &edit_state_read(graph)->batch_doubt;

	graph_note(graph,
		   "of the time of kernels, %.0f %% is of operations whose work is known on a "
		   "device that is; their work goes with the "
		   "batch, and the rest of their time stays. Of kernels whose work is not known as "
		   "much goes with it as of the others, or all but the least time of a kernel "
		   "where there are few others. The kernels of a step may take %.4g ms less, or "
		   "%.4g ms more",
		   100 * work_shares_known(&batch->kernels.shares), doubt->less_ns / 1e6,
		   doubt->more_ns / 1e6);
}

static gboolean change_batch(struct batch *batch, const struct change *change, GError **error)
{
	TachoGraph *graph = batch->graph;
	guint32 n_ranks = MAX(graph_n_own_ranks(graph), 1u);

	batch->has_device = g_new0(guint8, n_ranks);
	batch->host_ns = g_new0(gdouble, n_ranks);
	find_within(batch);
	find_devices(batch);
	find_fixed(batch);
	kernel_changes_init(&batch->kernels, graph, NULL);
	if (scale_work(batch) == 0)
		return change_refuse(error, change, "the passes show no computation");
	scale_transfers(batch);
	scale_memory(batch);
	change_load_batches(graph, batch->factor);
	graph_note(graph,
		   "a step takes in %g times as many samples; the time to compute and load them "
		   "grows with their number, but the fixed time of kernels, the optimizer and the "
		   "communication of gradients stay",
		   batch->factor);
	kernel_changes_keep_batch(&batch->kernels, graph, batch->factor);
	if (memchr(batch->has_device, 1, n_ranks))
		tell_kernels(batch);
	return TRUE;
}

gboolean parse_batch(struct change *change, const gchar *text, GError **error)
{
	gdouble *factor = &change->value.factor;

	/* 64 would be a number of samples, and 64x is 64 times as many */
	if (!quantity_parse_factor(text, factor) || *factor < MIN_FACTOR || *factor > MAX_FACTOR ||
	    (*factor >= 1 && !g_str_has_suffix(text, "x")))
		return change_refuse(error, change,
				     "write batch=F, where F multiplies the recorded number of "
				     "samples: 2x or 0.5, from %g to %gx",
				     MIN_FACTOR, MAX_FACTOR);
	return TRUE;
}

gboolean apply_batch(TachoGraph *graph, const struct change *change, GError **error)
{
	struct batch batch = { .graph = graph, .factor = change->value.factor };
	gboolean is_done = pass_nodes_find(&batch.pass, graph, change, error) &&
			   change_batch(&batch, change, error);

	pass_nodes_release(&batch.pass);
	g_free(batch.within);
	g_free(batch.has_device);
	g_free(batch.host_ns);
	kernel_changes_release(&batch.kernels);
	return is_done;
}
