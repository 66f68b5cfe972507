/* what_if_precision: operations with numbers of another width.
 *
 * What matches, and its backward pass, is done by the units for such numbers, and moves tensors of that width:
 * by the roofline of the device, as what_if_named_device.c says. A gradient of an operation in 8 bits is in half
 * precision, for there is no training in less.
 *
 * Tensors come as another operation left them. By the order of the operations of a thread, one that matches and
 * follows one that does not has its activation cast, and so has one that does not and follows one that does; and
 * each that matches has its other inputs cast, which are the weights, that are kept in 32 bits. A cast reads and
 * writes its elements once at the memory's bandwidth, and stands before the first kernel of the operation.
 *
 * Without KIND~REGEX all operations are meant, weights and gradients, too: nothing is cast, and all-reduces carry
 * so much less. Operations whose work or whose numbers are not known stay. */
#include <math.h>
#include <string.h>

#include "analyze/op_flops.h"
#include "replay/op_work.h"
#include "replay/recorded_device.h"
#include "replay/what_if_internal.h"

struct precision {
	TachoGraph *graph;
	const struct device_peak *device;
	enum device_rate rate;
	gboolean is_whole;
	const gchar *kind; /* of slices; NULL: all */
	GRegex *regex;
	struct op_works works;
	GHashTable *backward;	/* slices that backward passes of what matches begin with */
	GHashTable *operations; /* slice of a known operation -> struct operation */
	gdouble changed_ns, all_ns;
};

/* What is known of an operation whose kernels were recorded. */
struct operation {
	guint32 slice;
	gboolean is_matched, is_backward;
	gdouble factor;	 /* of its kernels' times */
	gdouble cast_ns; /* before the first of them ... */
	guint32 first;	 /* ... node */
};

static gdouble width_of(enum device_rate rate)
{
	static const gdouble widths[DEVICE_N_RATES] = { 4, 4, 2, 2, 1 };

	return widths[rate];
}

/* The numbers that it is then done with. */
static enum device_rate rate_for(const struct precision *precision,
				 const struct operation *operation)
{
	return operation->is_backward && precision->rate == DEVICE_INT8 ? DEVICE_FP16
									: precision->rate;
}

static gdouble least_ns(const struct device_peak *device, gdouble flops, gdouble bytes,
			enum device_rate rate)
{
	return MAX(flops / device_ops_per_ns(device, rate), bytes / device->gb_per_s);
}

/* --- which operations ------------------------------------------------------------------------- */

static void find_backward(struct precision *precision)
{
	const TachoGraph *graph = precision->graph;

	precision->backward = g_hash_table_new(NULL, NULL);
	for (guint i = 0; i < graph->timeline->flows->len && !precision->is_whole; i++) {
		const TachoFlow *flow = &g_array_index(graph->timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_FORWARD_BACKWARD &&
		    what_if_slice_matches(graph, precision->kind, precision->regex, flow->from))
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

/* In an autograd node. */
static gboolean is_backward(const TachoTimeline *timeline, guint32 slice)
{
	for (; slice != TACHO_NONE; slice = timeline->slices.parent[slice])
		if (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD)
			return TRUE;
	return FALSE;
}

static struct operation *take_operation(struct precision *precision, guint32 slice, guint32 node)
{
	struct operation *operation =
		g_hash_table_lookup(precision->operations, GUINT_TO_POINTER(slice));

	if (operation)
		return operation;
	operation = g_new0(struct operation, 1);
	*operation = (struct operation){ .slice = slice, .factor = 1, .first = node };
	operation->is_backward = is_backward(precision->graph->timeline, slice);
	operation->is_matched =
		precision->is_whole ||
		what_if_slice_matches(precision->graph, precision->kind, precision->regex, slice) ||
		is_in_backward(precision, slice);
	g_hash_table_insert(precision->operations, GUINT_TO_POINTER(slice), operation);
	return operation;
}

/* Of kernels whose operation's work and numbers are known; NULL: it is not, or the node is no kernel. */
static struct operation *operation_of(struct precision *precision, guint32 index)
{
	const struct graph_node *node = graph_node_at(precision->graph, index);
	guint32 op;

	if (node->kind != TACHO_NODE_DEVICE || node->slice == TACHO_NONE ||
	    graph_is_guest_node(precision->graph, node))
		return NULL;
	op = op_works_find(&precision->works, node->slice);
	if (op == TACHO_NONE || op_works_of(&precision->works, op)->rate == DEVICE_N_RATES)
		return NULL;
	return take_operation(precision, op, index);
}

/* --- what they take --------------------------------------------------------------------------- */

static void scale_operation(struct precision *precision, struct operation *operation,
			    const gchar *kernel)
{
	const struct op_work *work = op_works_of(&precision->works, operation->slice);
	enum device_rate to = rate_for(precision, operation), from = work->rate;
	gdouble bytes = work->bytes * width_of(to) / width_of(from);

	if (from == DEVICE_FP32 && strstr(kernel, "tf32"))
		from = DEVICE_TF32;
	operation->factor = least_ns(precision->device, work->flops, bytes, to) /
			    least_ns(precision->device, work->flops, work->bytes, from);
}

/* The input that another operation made; the others of a product or convolution are weights. */
static guint32 activation_of(const TachoTimeline *timeline, guint32 slice)
{
	const gchar *name = tacho_slice_name(timeline, slice);

	return strcmp(name, "aten::addmm") == 0 || strcmp(name, "aten::baddbmm") == 0 ? 1 : 0;
}

/* What casting the operation's inputs takes, those made by others only where `with_activation`. */
static gdouble cast_ns(const struct precision *precision, const struct operation *operation,
		       gboolean with_activation)
{
	const TachoTimeline *timeline = precision->graph->timeline;
	gdouble width = width_of(rate_for(precision, operation)), bytes = 0;
	guint32 activation = activation_of(timeline, operation->slice);
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(timeline, operation->slice, i, &tensor); i++) {
		enum device_rate rate = device_rate_of(tensor.dtype);

		if (rate == DEVICE_N_RATES || width_of(rate) == width ||
		    (i == activation ? !with_activation : !operation->is_matched))
			continue;
		bytes += tensor_elements(&tensor) * (width_of(rate) + width);
	}
	return bytes / precision->device->gb_per_s;
}

/* Where the tensors change their width; `before` is the operation before it on its thread, or NULL. */
static gboolean is_border(const struct precision *precision, const struct operation *before,
			  const struct operation *operation)
{
	/* what comes out of 8 bits has been scaled back to 32 */
	if (rate_for(precision, operation) == DEVICE_INT8)
		return operation->is_matched;
	return operation->is_matched != (before && before->is_matched);
}

static void find_operations(struct precision *precision)
{
	const TachoGraph *graph = precision->graph;
	g_autoptr(GHashTable) last_on = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		struct operation *operation = operation_of(precision, i);
		const struct operation *before;
		gpointer track;

		if (!operation || operation->first != i)
			continue;
		track = GUINT_TO_POINTER(graph->timeline->slices.track[operation->slice]);
		before = g_hash_table_lookup(last_on, track);
		g_hash_table_insert(last_on, track, operation);
		if (operation->is_matched)
			scale_operation(precision, operation,
					tacho_timeline_string(graph->timeline,
							      graph_node_at(graph, i)->name));
		if (!precision->is_whole)
			operation->cast_ns = cast_ns(precision, operation,
						     is_border(precision, before, operation));
	}
}

/* Returns how many kernels are of operations that match. */
static guint32 scale_kernels(struct precision *precision)
{
	guint32 n_matched = 0;

	for (guint32 i = 0; i < precision->graph->nodes->len; i++) {
		struct graph_node *node = graph_node_at(precision->graph, i);
		const struct operation *operation = operation_of(precision, i);

		if (node->kind == TACHO_NODE_DEVICE && !graph_is_guest_node(precision->graph, node))
			precision->all_ns += (gdouble)node->duration_ns;
		if (!operation)
			continue;
		if (operation->is_matched) {
			precision->changed_ns += (gdouble)node->duration_ns;
			n_matched++;
		}
		node->duration_ns = llround((gdouble)node->duration_ns * operation->factor +
					    (operation->first == i ? operation->cast_ns : 0));
	}
	return n_matched;
}

/* --- gradients, memory ------------------------------------------------------------------------ */

static gboolean is_of_gradients(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	return !transfer->is_removed && !graph_group_at(graph, transfer->group)->is_guest &&
	       transfer_is_all_reduce(tacho_timeline_string(graph->timeline, transfer->name));
}

/* All-reduces carry numbers of the new width in the place of 32 bits. */
static void scale_gradients(struct precision *precision)
{
	TachoGraph *graph = precision->graph;
	enum device_rate rate = precision->rate == DEVICE_INT8 ? DEVICE_FP16 : precision->rate;
	gdouble share = width_of(rate) / width_of(DEVICE_FP32);

	for (guint32 i = 0; i < graph->transfers->len; i++) {
		struct graph_transfer *transfer = graph_transfer_at(graph, i);

		if (!is_of_gradients(graph, transfer))
			continue;
		transfer->bytes = (guint64)((gdouble)transfer->bytes * share);
		graph_set_transfer(graph, i, transfer->fixed_ns, transfer->work_ns * share);
	}
	for (guint32 i = 0; i < graph->gradients->len; i++) {
		struct graph_gradient *gradient =
			&g_array_index(graph->gradients, struct graph_gradient, i);

		gradient->bytes = (guint64)((gdouble)gradient->bytes * share);
	}
}

/* What matching operations handed out is of that width. */
static void scale_memory(struct precision *precision)
{
	TachoGraph *graph = precision->graph;

	for (guint32 i = 0; i < graph->blocks->len; i++) {
		struct graph_block *block = &g_array_index(graph->blocks, struct graph_block, i);
		guint32 op = block->slice == TACHO_NONE
				     ? TACHO_NONE
				     : op_works_find(&precision->works, block->slice);
		const struct operation *operation =
			op == TACHO_NONE
				? NULL
				: g_hash_table_lookup(precision->operations, GUINT_TO_POINTER(op));

		if (operation && operation->is_matched && block->begin.node != TACHO_NONE)
			block->bytes = (gint64)((gdouble)block->bytes *
						width_of(rate_for(precision, operation)) /
						width_of(op_works_of(&precision->works, op)->rate));
	}
}

/* --- the change ------------------------------------------------------------------------------- */

static gboolean change(struct precision *precision, const gchar *what_if, GError **error)
{
	gboolean is_found;

	op_works_init(&precision->works, precision->graph->timeline);
	precision->operations = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	find_backward(precision);
	find_operations(precision);
	is_found = scale_kernels(precision) > 0;
	if (is_found)
		scale_memory(precision);
	if (is_found && precision->is_whole)
		scale_gradients(precision);
	g_hash_table_unref(precision->backward);
	g_hash_table_unref(precision->operations);
	op_works_release(&precision->works);
	if (!is_found)
		return what_if_refuse(
			error, what_if,
			"no kernel is of such an operation with shapes, a formula and "
			"numbers that are known");
	precision->graph->has_precision = TRUE;
	graph_note(
		precision->graph,
		"kernels of %.0f %% of the time of devices have numbers of another width, by the "
		"roofline of %s; casts go by the order of operations, and weights are kept in 32 "
		"bits, too, which peak memory leaves out",
		100 * precision->changed_ns / MAX(precision->all_ns, 1.0), precision->device->name);
	return TRUE;
}

/* fp32, fp16, bf16 or int8, and a device behind a colon. */
static gboolean parse_value(struct precision *precision, const gchar *what_if, const gchar *text,
			    GError **error)
{
	static const struct {
		const gchar *name;
		enum device_rate rate;
	} rates[] = { { "fp32", DEVICE_FP32 },
		      { "fp16", DEVICE_FP16 },
		      { "bf16", DEVICE_BF16 },
		      { "int8", DEVICE_INT8 } };
	g_auto(GStrv) words = g_strsplit(text, ":", 2);

	precision->rate = DEVICE_N_RATES;
	for (guint i = 0; i < G_N_ELEMENTS(rates) && words[0]; i++)
		if (strcmp(words[0], rates[i].name) == 0)
			precision->rate = rates[i].rate;
	if (precision->rate == DEVICE_N_RATES)
		return what_if_refuse(error, what_if,
				      "it is precision=P or precision:KIND~REGEX=P, P being fp32, "
				      "fp16, bf16 or int8");
	if (precision->graph->has_precision)
		return what_if_refuse(error, what_if,
				      "one change of precision has been made: a regular expression "
				      "can name several, as in precision:op~mm|conv=fp16");
	if (!replay_has_devices(precision->graph))
		return what_if_refuse(error, what_if, "no kernels of a device were recorded");
	return what_if_recorded_device(precision->graph, what_if, words[1], &precision->device,
				       error);
}

gboolean what_if_whole_precision(TachoGraph *graph, const gchar *what_if, const gchar *text,
				 GError **error)
{
	struct precision precision = { .graph = graph, .is_whole = TRUE };

	return parse_value(&precision, what_if, text, error) && change(&precision, what_if, error);
}

gboolean what_if_precision(TachoGraph *graph, const gchar *what_if, const gchar *text,
			   GError **error)
{
	struct precision precision = { .graph = graph };
	const gchar *equals = strrchr(text, '=');
	g_autofree gchar *target = g_strndup(text, equals ? (gsize)(equals - text) : strlen(text));
	g_autofree gchar *kind = NULL;
	g_autoptr(GRegex) regex = NULL;

	if (!parse_value(&precision, what_if, equals ? equals + 1 : "", error) ||
	    !what_if_parse_target(what_if, target, &kind, &regex, error))
		return FALSE;
	precision.kind = kind;
	precision.regex = regex;
	return change(&precision, what_if, error);
}
