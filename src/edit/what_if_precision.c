/* what_if_precision: operations with numbers of another width.
 *
 * What matches, and its backward pass, is done by the units for such numbers, where the device has them and such kernels reach more with
 * them than without, and moves tensors of that width. That acts on the share of a kernel's time that goes with its work (work_shares.h);
 * the rest stays. A gradient of an operation in 8 bits is in half
 * precision, for there is no training in less. Where tensors change their numbers they are cast
 * (precision_casts.c).
 *
 * Each change is made on what those before it left: what an operation takes follows from its recorded time, once, by
 * what its numbers need now, and casts go by the numbers that all operations have then.
 *
 * Without KIND~REGEX all operations are meant; of all ranks weights and gradients, too: nothing is cast, and
 * all-reduces carry so much less. If only some of the ranks change, weights and gradients stay, since all ranks
 * exchange these. Operations whose work or whose numbers are not known stay. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/time_units.h"
#include "edit/precision.h"
#include "edit/change_internal.h"
#include "edit/edit_state.h"
#include "trace/operation.h"

gdouble precision_width(enum device_rate rate)
{
	/* The bytes of a number of each type. Source: derived from the types: IEEE 754 single (and TF32 in memory), half, bfloat16, int8. */
	static const gdouble widths[DEVICE_N_RATES] = { 4, 4, 2, 2, 1 };

	return widths[rate];
}

/* --- which operations ------------------------------------------------------------------------- */

static gboolean is_of_all(const struct precision *precision)
{
	return precision->kind == NULL;
}

static void find_backward(struct precision *precision)
{
	const TachoGraph *graph = precision->graph;

	precision->backward = g_hash_table_new(NULL, NULL);
	for (guint i = 0; i < graph->timeline->flows->len && !is_of_all(precision); i++) {
		const TachoFlow *flow = &g_array_index(graph->timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_FORWARD_BACKWARD &&
		    change_slice_matches(graph, precision->kind, precision->regex, flow->from))
			g_hash_table_add(precision->backward, GUINT_TO_POINTER(flow->to));
	}
}

static gboolean is_in_backward(const struct precision *precision, guint32 slice)
{
	const TachoSlices *slices = &precision->graph->timeline->slices;

	for (; slice != TACHO_NONE; slice = slices->parent[slice])
		if (g_hash_table_contains(precision->backward, GUINT_TO_POINTER(slice)))
			return TRUE;
	return FALSE;
}

static gboolean is_matched(const struct precision *precision, guint32 slice)
{
	return is_of_all(precision) ||
	       change_slice_matches(precision->graph, precision->kind, precision->regex, slice) ||
	       is_in_backward(precision, slice);
}

/* In an autograd node. */
static gboolean is_backward(const TachoTimeline *timeline, guint32 slice)
{
	for (; slice != TACHO_NONE; slice = timeline->slices.parent[slice])
		if (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD)
			return TRUE;
	return FALSE;
}

static struct op_works *works_of(struct precision *precision)
{
	return &precision->kernels.shares.demands.works;
}

/* The slice of the operation, of known work and numbers, that the node is a kernel or a cast of, or TACHO_NONE. */
static guint32 slice_of_operation(struct precision *precision, const struct graph_node *node)
{
	guint32 op;

	if ((node->kind != TACHO_NODE_DEVICE && node->kind != TACHO_NODE_CAST) ||
	    node->slice == TACHO_NONE || graph_is_guest_node(precision->graph, node) ||
	    !rank_choice_has_node(precision->ranks, precision->graph, node))
		return TACHO_NONE;
	op = op_works_find(works_of(precision), node->slice);
	return op == TACHO_NONE || op_works_of(works_of(precision), op)->rate == DEVICE_N_RATES
		       ? TACHO_NONE
		       : op;
}

struct operation *precision_operation_of(struct precision *precision, guint32 index)
{
	const struct graph_node *node = graph_node_at(precision->graph, index);
	guint32 op;

	if (node->slice == TACHO_NONE ||
	    (node->kind != TACHO_NODE_DEVICE && node->kind != TACHO_NODE_CAST))
		return NULL;
	op = op_works_find(works_of(precision), node->slice);
	return op == TACHO_NONE
		       ? NULL
		       : g_hash_table_lookup(
				 precision->operations,
				 GSIZE_TO_POINTER(graph_op_key(precision->graph, node, op)));
}

/* As recorded. */
static void add_operation(struct precision *precision, guint32 index, guint32 slice)
{
	const TachoGraph *graph = precision->graph;
	const struct graph_node *node = graph_node_at(graph, index);
	const struct graph_lane *lane = graph_lane_at(graph, node->lane);
	gpointer key = GSIZE_TO_POINTER(graph_op_key(graph, node, slice));
	struct operation *operation;

	if (node->kind != TACHO_NODE_DEVICE || g_hash_table_contains(precision->operations, key))
		return;
	operation = g_new0(struct operation, 1);
	operation->set = lane->set;
	operation->rank_index = lane->rank_index;
	operation->slice = slice;
	operation->first = index;
	operation->memory =
		lane->track == TACHO_NONE
			? 0
			: (guint32)(tacho_timeline_track(graph->timeline, lane->track)->device + 1);
	operation->is_backward = is_backward(graph->timeline, slice);
	operation->is_matched = is_matched(precision, slice);
	operation->recorded = op_works_of(works_of(precision), slice)->rate;
	operation->before = operation->recorded;
	operation->stored = DEVICE_N_RATES;
	operation->factor_before = 1;
	operation->work = (struct work_factor){ 1, 1, 1 };
	operation->is_measured = TRUE;
	g_hash_table_insert(precision->operations, key, operation);
	g_ptr_array_add(precision->in_order, operation);
}

/* What changes before this one made of them. */
static void recall(struct precision *precision)
{
	const GArray *known = edit_state_read(precision->graph)->precisions;

	FOR_EACH(const struct changed_precision, row, known) {
		struct operation *operation =
			g_hash_table_lookup(precision->operations,
					    GSIZE_TO_POINTER((gsize)row->set << 32 | row->slice));

		if (!operation)
			continue;
		operation->before = row->rate;
		operation->stored = row->stored;
		operation->factor_before = row->factor;
		operation->work = (struct work_factor){ row->factor, MIN(row->factor, 1),
							MAX(row->factor, 1) };
		operation->cast_ns_before = row->cast_ns;
	}
}

static void remember(struct precision *precision)
{
	GArray *known = edit_state_of(precision->graph)->precisions;
	guint n_kept = 0;

	for (guint i = 0; i < known->len; i++) {
		struct changed_precision row = g_array_index(known, struct changed_precision, i);

		if (!g_hash_table_contains(precision->operations,
					   GSIZE_TO_POINTER((gsize)row.set << 32 | row.slice)))
			g_array_index(known, struct changed_precision, n_kept++) = row;
	}
	g_array_set_size(known, n_kept);
	FOR_EACH_POINTER(const struct operation, operation, precision->in_order) {
		struct changed_precision row = { operation->set,    operation->slice,
						 operation->now,    operation->stored,
						 operation->work.x, operation->cast_ns };

		if (operation->now != operation->recorded || operation->cast_ns > 0 ||
		    operation->stored != DEVICE_N_RATES)
			g_array_append_val(known, row);
	}
}

/* --- what they take --------------------------------------------------------------------------- */

/* The demand of the same operation with other numbers. */
static struct kernel_demand with_numbers(struct kernel_demand demand, enum device_rate from,
					 enum device_rate to)
{
	demand.rate = to;
	demand.bytes *= precision_width(to) / precision_width(from);
	demand.weight_bytes *= precision_width(to) / precision_width(from);
	return demand;
}

/* What the numbers that it has now make of the work that was recorded. */
static void find_work(struct precision *precision, struct operation *operation)
{
	struct work_shares *shares = &precision->kernels.shares;
	const struct device_reach *reach =
		work_shares_reach(shares, precision->devices[operation->rank_index]);
	enum device_rate from = operation->recorded, to = operation->now;
	struct kernel_demand before = work_shares_demand(
				     shares, graph_node_at(precision->graph, operation->first)),
			     after = with_numbers(before, from, to);
	gdouble work_ns = kernel_split_work_ns(reach, &before), peak;
	struct work_factor *work = &operation->work;

	*work = (struct work_factor){ 1, 1, 1 };
	if (from == to)
		return;
	operation->is_measured = work_ns > 0 && kernel_split_is_measured(reach, &after);
	work->x = peak = precision_width(to) / precision_width(from);
	if (work_ns > 0) {
		work->x = kernel_split_work_ns(reach, &after) / work_ns;
		peak = kernel_split_peak_ns(reach, &after) / kernel_split_peak_ns(reach, &before);
	}
	work->least = MIN(MIN(work->x, peak), 1);
	work->most = MAX(MAX(work->x, peak), 1);
}

/* The numbers that matching operations are then done with. */
static enum device_rate rate_for(const struct precision *precision, gboolean is_backward)
{
	return is_backward && precision->rate == DEVICE_INT8 ? DEVICE_FP16 : precision->rate;
}

static guint32 find_operations(struct precision *precision)
{
	guint32 n_matched = 0;

	for (guint32 i = 0; i < precision->graph->nodes->len; i++) {
		guint32 slice = slice_of_operation(precision, graph_node_at(precision->graph, i));

		if (slice != TACHO_NONE)
			add_operation(precision, i, slice);
	}
	recall(precision);
	FOR_EACH_POINTER(struct operation, operation, precision->in_order) {
		operation->now = operation->is_matched ? rate_for(precision, operation->is_backward)
						       : operation->before;
		if (precision->is_whole)
			operation->stored = operation->now;
		if (operation->is_matched)
			find_work(precision, operation);
		n_matched += operation->is_matched;
	}
	return n_matched;
}

static void scale_kernels(struct precision *precision)
{
	TachoGraph *graph = precision->graph;

	FOR_EACH_AT(struct graph_node, node, i, graph->nodes) {
		const struct operation *operation;

		if (node->kind != TACHO_NODE_DEVICE || graph_is_guest_node(graph, node) ||
		    !rank_choice_has_node(precision->ranks, graph, node))
			continue;
		precision->all_ns += (gdouble)node->duration_ns;
		operation = precision_operation_of(precision, i);
		if (!operation)
			continue;
		if (operation->is_matched)
			precision->changed_ns += (gdouble)node->duration_ns;
		if (!operation->is_measured)
			precision->unmeasured_ns += (gdouble)node->duration_ns;
		kernel_changes_precision(&precision->kernels, node, operation->factor_before,
					 &operation->work,
					 operation->is_measured ? ORIGIN_MODELLED : ORIGIN_GUESSED);
	}
	edit_state_of(graph)->precision_doubt = kernel_changes_doubt(&precision->kernels);
}

/* --- gradients, memory ------------------------------------------------------------------------ */

static gboolean is_of_gradients(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	return !transfer->is_removed && graph_group_at(graph, transfer->group)->job == 0 &&
	       operation_is_all_reduce(operation_of_name(graph->timeline, transfer->name));
}

/* All-reduces carry numbers of the new width in the place of 32 bits. */
static void scale_gradients(struct precision *precision)
{
	TachoGraph *graph = precision->graph;
	enum device_rate rate = rate_for(precision, TRUE);
	struct edit_state *state = edit_state_of(graph);
	gdouble share = precision_width(rate) / precision_width(state->gradient_rate);

	state->gradient_rate = (guint8)rate;
	FOR_EACH_AT(struct graph_transfer, transfer, i, graph->transfers) {
		if (!is_of_gradients(graph, transfer))
			continue;
		transfer->bytes = (guint64)((gdouble)transfer->bytes * share);
		graph_change_transfer(graph, i, transfer->fixed_ns, transfer->work_ns * share,
				      ORIGIN_SCALED);
	}
	FOR_EACH(struct graph_gradient, gradient, graph->gradients)
		gradient->bytes = (guint64)((gdouble)gradient->bytes * share);
}

/* What matching operations handed out is of that width. */
static void scale_memory(struct precision *precision)
{
	TachoGraph *graph = precision->graph;
	guint32 n_recorded = MAX(graph->timeline->ranks->len, 1u);

	FOR_EACH(struct graph_block, block, graph->blocks) {
		gsize set = block->rank_index / n_recorded;
		guint32 op = block->slice == TACHO_NONE
				     ? TACHO_NONE
				     : op_works_find(works_of(precision), block->slice);
		const struct operation *operation =
			op == TACHO_NONE ? NULL
					 : g_hash_table_lookup(precision->operations,
							       GSIZE_TO_POINTER(set << 32 | op));

		if (operation && operation->is_matched && !block->is_cast &&
		    block->begin.node != TACHO_NONE)
			block->bytes =
				(gint64)((gdouble)block->bytes * precision_width(operation->now) /
					 precision_width(operation->before));
	}
}

/* --- the change ------------------------------------------------------------------------------- */

static void tell_doubt(const struct precision *precision)
{
	TachoGraph *graph = precision->graph;
	const struct kernel_doubt *doubt = &edit_state_read(graph)->precision_doubt;

	graph_note(graph,
		   "with such numbers on such a device, %.0f %% of that time was not measured: "
		   "there, the median of other devices "
		   "counts, and the units of wider numbers where they are faster. The kernels of a "
		   "step may take %.4g ms less, or "
		   "%.4g ms more",
		   100 * precision->unmeasured_ns / MAX(precision->changed_ns, 1.0),
		   doubt->less_ns / 1e6, doubt->more_ns / 1e6);
}

static void make_change(struct precision *precision)
{
	TachoGraph *graph = precision->graph;
	g_autofree gchar *names = change_device_names(graph, precision->devices);

	scale_kernels(precision);
	scale_memory(precision);
	if (precision->is_whole)
		scale_gradients(precision);
	precision_find_casts(precision);
	precision_place_casts(precision);
	precision_hold_casts(precision);
	remember(precision);
	edit_state_of(graph)->has_precision = TRUE;
	graph_note(graph,
		   "kernels with %.0f %% of the time of devices compute with numbers of another "
		   "width on %s, which acts on the part of their time that goes with their work; "
		   "casts follow from the order of operations",
		   100 * precision->changed_ns / MAX(precision->all_ns, 1.0), names);
	tell_doubt(precision);
}

static gboolean change_numbers(struct precision *precision, const struct change *change,
			       GError **error)
{
	gboolean is_found;

	kernel_changes_init(&precision->kernels, precision->graph,
			    change->recorded ? device_find(change->recorded) : NULL);
	precision->operations = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	precision->in_order = g_ptr_array_new();
	find_backward(precision);
	is_found = find_operations(precision) > 0;
	if (is_found)
		make_change(precision);
	g_hash_table_unref(precision->backward);
	g_hash_table_unref(precision->operations);
	g_ptr_array_unref(precision->in_order);
	kernel_changes_release(&precision->kernels);
	return is_found || change_refuse(error, change,
					 "no kernel belongs to such an operation with known "
					 "shapes, formula and number type");
}

/* fp32, fp16, bf16 or int8, and a device behind a colon. */
static gboolean parse_value(struct change *change, const gchar *text, GError **error)
{
	static const struct {
		const gchar *name;
		enum device_rate rate;
	} rates[] = { { "fp32", DEVICE_FP32 },
		      { "fp16", DEVICE_FP16 },
		      { "bf16", DEVICE_BF16 },
		      { "int8", DEVICE_INT8 } };
	g_auto(GStrv) words = g_strsplit(text, ":", 2);

	change->value.rate = DEVICE_N_RATES;
	for (guint i = 0; i < G_N_ELEMENTS(rates) && words[0]; i++)
		if (strcmp(words[0], rates[i].name) == 0)
			change->value.rate = rates[i].rate;
	if (change->value.rate == DEVICE_N_RATES)
		return change_refuse(
			error, change,
			"write precision=P, precision:RANKS=P, precision:KIND~REGEX=P or "
			"precision:RANKS:KIND~REGEX=P, with P fp32, fp16, bf16 or int8");
	change->recorded = g_strdup(words[1]);
	return !change->recorded || change_check_device(change, change->recorded, error);
}

gboolean parse_whole_precision(struct change *change, const gchar *text, GError **error)
{
	return parse_value(change, text, error);
}

/* [RANKS:]KIND~REGEX=P, or RANKS=P. */
gboolean parse_precision(struct change *change, const gchar *text, GError **error)
{
	const gchar *equals;
	g_autofree gchar *target = NULL;

	if (!change_parse_ranks(change, &text, ":=", error))
		return FALSE;
	if (change->ranks && text[-1] == '=')
		return parse_value(change, text, error);
	equals = strrchr(text, '=');
	target = g_strndup(text, equals ? (gsize)(equals - text) : 0);
	if (equals && !change_parse_target(change, target, error))
		return FALSE;
	return parse_value(change, equals ? equals + 1 : "", error);
}

/* The ranks have been chosen, and are the caller's to release. */
static gboolean change_ranks(struct precision *precision, const struct change *change,
			     struct rank_choice *ranks, GError **error)
{
	g_autofree const struct device_peak **devices = NULL;

	if (edit_state_read(precision->graph)->has_recomputed)
		return change_refuse(error, change,
				     "give precision before recompute, not after it");
	if (!graph_has_devices(precision->graph))
		return change_refuse(error, change, "no kernels of a device were recorded");
	if (!rank_choice_split(ranks, precision->graph, change, error))
		return FALSE;
	devices = change_recorded_devices(precision->graph, change, ranks, error);
	precision->ranks = ranks;
	precision->devices = devices;
	return devices && change_numbers(precision, change, error);
}

gboolean apply_precision(TachoGraph *graph, const struct change *change, GError **error)
{
	struct precision precision = { .graph = graph,
				       .rate = change->value.rate,
				       .is_whole = !change->ranks && !change->kind,
				       .kind = change->kind,
				       .regex = change->regex };
	struct rank_choice ranks;
	gboolean is_done = rank_choice_init(&ranks, graph, change, error) &&
			   change_ranks(&precision, change, &ranks, error);

	rank_choice_release(&ranks);
	return is_done;
}
