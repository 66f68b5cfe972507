#include "precision/layers.h"

#include <string.h>

#include "analyze/op_flops.h"
#include "base/for_each.h"
#include "base/hash_mix.h"
#include "base/order.h"
#include "precision/align.h"
#include "precision/operation_kind.h"
#include "precision/recorded_pass.h"
#include "trace/none_rows.h"
#include "trace/region_kind.h"

/* How alike an operation and a recorded one are, the more the higher. Source: derived from their order: kind and size tell more than kind
 * and module do, these more than a kind alone. */
enum likeness {
	NOT_ALIKE,
	SAME_KIND,
	SAME_PLACE, /* module and size */
	SAME_MODULE_AND_KIND,
	SAME_KIND_AND_SIZE,
};

/* --- the operations that a recording shows ------------------------------------------------------ */

/* What an operation reads first, and nothing made, is an input of the model. */
static void add_outside(struct identity *identity, GHashTable *counts,
			const TachoTimeline *timeline, guint32 slice, GHashTable *makers)
{
	struct identity_operation *operation;
	TachoTensor tensor;
	guint32 own;

	if (!tacho_slice_input(timeline, slice, 0, &tensor) || !tensor.storage ||
	    number_format_of_dtype(tensor.dtype) == N_NUMBER_FORMATS ||
	    tensor_elements(&tensor) > IDENTITY_MAX_ELEMENTS ||
	    g_hash_table_contains(makers, GSIZE_TO_POINTER(tensor.storage)))
		return;
	own = identity_add(identity, counts, "", "input");
	operation = identity_at(identity, own);
	operation->rule = PRECISION_FIXED;
	operation->elements_out = tensor_elements(&tensor);
	g_hash_table_insert(makers, GSIZE_TO_POINTER(tensor.storage), GUINT_TO_POINTER(own + 1));
}

/* `makers`: who made what is in a storage last. */
static void add_tensors(struct identity *identity, const TachoTimeline *timeline, guint32 own,
			guint32 slice, GHashTable *makers)
{
	struct identity_operation *operation = identity_at(identity, own);
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++) {
		gpointer maker =
			tensor.storage
				? g_hash_table_lookup(makers, GSIZE_TO_POINTER(tensor.storage))
				: NULL;
		struct identity_input input = { maker ? GPOINTER_TO_UINT(maker) - 1
						      : IDENTITY_OUTSIDE,
						tensor_elements(&tensor) };

		if (!maker && i > 0 && operation->weight == 0 && tensor.storage) /* a parameter */
			operation->weight = MIN(input.elements, IDENTITY_MAX_ELEMENTS);
		if (!maker || input.elements > IDENTITY_MAX_ELEMENTS)
			continue;
		g_array_append_val(identity->inputs, input);
		operation->n_inputs++;
	}
	for (guint32 i = 0; tacho_slice_output(timeline, slice, i, &tensor); i++)
		if (tensor.storage)
			g_hash_table_insert(makers, GSIZE_TO_POINTER(tensor.storage),
					    GUINT_TO_POINTER(own + 1));
}

struct identity *layers_identity(const TachoGraph *graph, const KernelRegistry *registry)
{
	struct identity *identity = identity_new();
	g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GHashTable) makers = g_hash_table_new(NULL, NULL);
	g_autoptr(GArray) pass = NULL;

	if (graph->timeline->ranks->len == 0)
		return identity;
	pass = recorded_pass_of(graph, 0, identity->roots, registry);
	FOR_EACH(const struct recorded_operation, recorded, pass) {
		struct identity_operation *operation;
		guint32 own;

		if (recorded->step != 0 || identity->operations->len + 2 > PRECISION_MAX_OPERATIONS)
			break;
		add_outside(identity, counts, graph->timeline, recorded->slice, makers);
		own = identity_add(identity, counts, recorded->module, recorded->kind);
		operation = identity_at(identity, own);
		operation->elements_in = recorded->elements_in;
		operation->elements_out = recorded->elements_out;
		operation->rule = operation_kind_is_product(recorded->kind) ? PRECISION_CHOSEN
									    : PRECISION_PROMOTED;
		add_tensors(identity, graph->timeline, own, recorded->slice, makers);
	}
	return identity;
}

/* --- which is which ----------------------------------------------------------------------------- */

struct finder {
	struct layers *layers;
	const TachoGraph *graph;
	const struct identity *identity;
	const KernelRegistry *registry;
	const gchar **modules, **kinds; /* of the identity's operations, interned */
	gboolean by_module;		/* the recording has modules */
	guint64 *keys;			/* of the identity's operations */
	GHashTable *repeated;	/* keys of those that are called several times -> operation + 1 */
	guint32 *owner;		/* of each slice: operation, or TACHO_NONE */
	guint8 *pass, *is_cast; /* of each slice */
	guint32 *step_of;	/* of each slice that has an owner: its cell */
	/* The step that is looked at, and what was found of the last one that looked the same. */
	const struct recorded_operation *step;
	guint32 n_step;
	GArray *known_keys; /* guint64 */
	guint32 *known;
};

static guint64 key_of(const struct finder *finder, const gchar *module, const gchar *kind)
{
	guint64 hash = hash_mix(HASH_MIX_START, GPOINTER_TO_SIZE(kind));

	return finder->by_module ? hash_mix(hash, GPOINTER_TO_SIZE(module)) : hash;
}

static guint alike(guint32 a, guint32 b, gconstpointer data)
{
	const struct finder *finder = data;
	const struct identity_operation *operation = identity_at(finder->identity, a);
	const struct recorded_operation *recorded = &finder->step[b];
	gboolean has_kind = finder->kinds[a] == recorded->kind;
	gboolean has_module = finder->by_module && finder->modules[a] == recorded->module;
	gboolean has_size = operation->elements_out > 0 &&
			    operation->elements_out == recorded->elements_out * operation->n_calls;

	if (identity_is_border(operation) ||
	    recorded->is_cast != (operation_cast_kind(operation->kind) != CAST_NONE))
		return NOT_ALIKE;
	return has_kind && has_size	? SAME_KIND_AND_SIZE
	       : has_kind && has_module ? SAME_MODULE_AND_KIND
	       : has_module && has_size ? SAME_PLACE
	       : has_kind		? SAME_KIND
					: NOT_ALIKE;
}

/* The operation of each of the step's recorded ones, TACHO_NONE where it is none itself; the caller's. */
static guint32 *match_step(struct finder *finder)
{
	guint32 n = finder->identity->operations->len;
	g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autofree guint32 *match = NULL;
	guint32 *found = none_rows_new(finder->n_step);

	for (guint32 i = 0; i < finder->n_step; i++) {
		guint64 key = key_of(finder, finder->step[i].module, finder->step[i].kind);

		g_array_append_val(keys, key);
	}
	if (finder->known && finder->known_keys->len == keys->len &&
	    memcmp(finder->known_keys->data, keys->data, keys->len * sizeof(guint64)) == 0) {
		memcpy(found, finder->known, keys->len * sizeof(guint32));
		return found;
	}
	match = align_sequences(finder->keys, n, (const guint64 *)keys->data, keys->len, alike,
				finder);
	for (guint32 i = 0; i < n; i++)
		if (match[i] != TACHO_NONE)
			found[match[i]] = i;
	g_free(finder->known);
	finder->known = g_memdup2(found, MAX(keys->len, 1u) * sizeof(guint32));
	g_array_set_size(finder->known_keys, 0);
	g_array_append_vals(finder->known_keys, keys->data, keys->len);
	return found;
}

/* Its other calls. */
static guint32 repeated_operation(const struct finder *finder,
				  const struct recorded_operation *recorded)
{
	guint64 key = key_of(finder, recorded->module, recorded->kind);

	return GPOINTER_TO_UINT(g_hash_table_lookup(finder->repeated, &key)) - 1;
}

/* (1): what belongs to whom of what is left over. */
static void give_glue(const struct finder *finder, guint32 *found)
{
	guint32 before = TACHO_NONE, n = finder->n_step;
	g_autofree guint32 *next = none_rows_new(n + 1);

	for (guint32 i = 0; i < n; i++)
		if (found[i] == TACHO_NONE)
			found[i] = repeated_operation(finder, &finder->step[i]);
	for (guint32 i = n; i-- > 0;)
		next[i] = found[i] != TACHO_NONE ? i : next[i + 1];
	for (guint32 i = 0; i < n; i++) {
		const gchar *module = finder->step[i].module;
		guint32 behind = next[i];

		if (found[i] != TACHO_NONE) {
			before = i;
			continue;
		}
		if (behind != TACHO_NONE && finder->step[behind].module == module && *module)
			found[i] = found[behind];
		else if (before != TACHO_NONE && finder->step[before].module == module && *module)
			found[i] = found[before];
		else if (behind != TACHO_NONE && (before != TACHO_NONE || *module))
			found[i] = found[behind];
	}
}

static void find_step(struct finder *finder)
{
	g_autofree guint32 *found = match_step(finder);

	for (guint32 i = 0; i < finder->n_step; i++)
		if (found[i] != TACHO_NONE)
			finder->layers->n_found[found[i]]++;
	give_glue(finder, found);
	for (guint32 i = 0; i < finder->n_step; i++) {
		finder->owner[finder->step[i].slice] = found[i];
		finder->step_of[finder->step[i].slice] = finder->layers->n_cells;
	}
	finder->layers->n_cells++;
}

static void find_forward(struct finder *finder, guint32 rank_index)
{
	g_autoptr(GArray) pass = recorded_pass_of(finder->graph, rank_index,
						  finder->identity->roots, finder->registry);
	guint32 n;

	finder->by_module = FALSE;
	FOR_EACH(const struct recorded_operation, recorded, pass)
		finder->by_module |= *recorded->module != '\0';
	for (guint32 i = 0; i < finder->identity->operations->len; i++)
		finder->keys[i] = key_of(finder, finder->modules[i], finder->kinds[i]);
	g_hash_table_remove_all(finder->repeated);
	for (guint32 i = finder->identity->operations->len; i-- > 0;)
		if (identity_at(finder->identity, i)->n_calls > 1)
			g_hash_table_insert(finder->repeated, &finder->keys[i],
					    GUINT_TO_POINTER(i + 1));
	g_clear_pointer(&finder->known, g_free);
	for (guint32 i = 0; i < pass->len; i += n) {
		finder->step = &g_array_index(pass, struct recorded_operation, i);
		for (n = 0; i + n < pass->len && finder->step[n].step == finder->step[0].step; n++)
			;
		finder->n_step = n;
		find_step(finder);
	}
}

static void own_backward(struct finder *finder, guint32 slice, guint32 forward)
{
	if (finder->owner[slice] != TACHO_NONE)
		return;
	finder->owner[slice] = finder->owner[forward];
	finder->step_of[slice] = finder->step_of[forward];
	finder->pass[slice] = LAYER_BACKWARD;
}

/* Nodes, and what the engine does around each: it adds up gradients of what several read. */
static void find_backward(struct finder *finder)
{
	const TachoTimeline *timeline = finder->graph->timeline;

	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		guint32 around;

		if (flow->kind != TACHO_FLOW_FORWARD_BACKWARD ||
		    finder->owner[flow->from] == TACHO_NONE)
			continue;
		around = timeline->slices.parent[flow->to];
		if (around != TACHO_NONE && region_kind_evaluates(region_kind_of(timeline, around)))
			own_backward(finder, around, flow->from);
		own_backward(finder, flow->to, flow->from);
	}
}

/* --- casts -------------------------------------------------------------------------------------- */

/* A cast on the way to be judged. */
struct found_cast {
	guint32 slice, step;
	struct layer_cast cast;
	gboolean is_of_read,
		is_of_weight; /* it is as large as something that is read or made; as the weight */
};

static gboolean is_as_large(const struct finder *finder, const struct identity_operation *operation,
			    gdouble elements)
{
	gdouble all = elements * operation->n_calls;

	for (guint32 i = 0; i < operation->n_inputs; i++) {
		gdouble read =
			identity_input_at(finder->identity, operation->first_input + i)->elements;

		if (read == elements || read == all)
			return TRUE;
	}
	return operation->elements_out == all || operation->elements_in == all;
}

/* All that autograd does for a cast is the cast. */
static void widen_to_node(const struct finder *finder, struct found_cast *found)
{
	const TachoTimeline *timeline = finder->graph->timeline;
	guint32 parent = timeline->slices.parent[found->slice];

	if (parent == TACHO_NONE || finder->owner[parent] == TACHO_NONE ||
	    !operation_is_cast_node(tacho_slice_name(timeline, parent)))
		return;
	found->slice = parent;
	found->cast.duration_ns = timeline->slices.duration_ns[parent];
}

static gboolean find_cast(const struct finder *finder, guint32 slice, struct found_cast *found)
{
	const TachoTimeline *timeline = finder->graph->timeline;
	const struct identity_operation *operation =
		identity_at(finder->identity, finder->owner[slice]);
	guint from, to;

	if (timeline->slices.kind[slice] != TACHO_SLICE_OP ||
	    !recorded_cast(timeline, slice, &from, &to, &found->cast.elements))
		return FALSE;
	found->slice = slice;
	found->step = finder->step_of[slice];
	found->cast.operation = finder->owner[slice];
	found->cast.pass = finder->pass[slice];
	found->cast.from = from;
	found->cast.to = to;
	found->cast.duration_ns = timeline->slices.duration_ns[slice];
	found->is_of_weight = operation->weight == found->cast.elements;
	found->is_of_read = is_as_large(finder, operation, found->cast.elements);
	widen_to_node(finder, found);
	return TRUE;
}

static gint compare_casts(gconstpointer a, gconstpointer b)
{
	const struct found_cast *x = a, *y = b;

	return ORDER(x->cast.operation, y->cast.operation) ?: ORDER(x->cast.pass, y->cast.pass) ?:
	       ORDER(x->step, y->step) ?: ORDER(x->slice, y->slice);
}

static gboolean is_together(const struct found_cast *a, const struct found_cast *b)
{
	return a->cast.operation == b->cast.operation && a->cast.pass == b->cast.pass &&
	       a->step == b->step;
}

/* Of casts of an operation in a pass that may be of the weight or of what it reads, one is of the weight, in any case: the last before
 * the forward pass, the first in the backward pass, which goes the other way round. */
static void judge_casts(struct finder *finder, GArray *casts)
{
	g_array_sort(casts, compare_casts);
	for (guint i = 0, end; i < casts->len; i = end) {
		const struct found_cast *first = &g_array_index(casts, struct found_cast, i);
		guint weight = G_MAXUINT;

		for (end = i; end < casts->len; end++) {
			const struct found_cast *found =
				&g_array_index(casts, struct found_cast, end);

			if (!is_together(first, found))
				break;
			if (found->is_of_weight &&
			    (weight == G_MAXUINT || found->cast.pass == LAYER_FORWARD))
				weight = end;
		}
		for (guint k = i; k < end; k++) {
			const struct found_cast *found =
				&g_array_index(casts, struct found_cast, k);

			if (k == weight || !found->is_of_read)
				continue;
			finder->is_cast[found->slice] = TRUE;
			g_array_append_val(finder->layers->casts, found->cast);
		}
	}
}

/* What is in a slice is whose the slice is. Parents stand before their children; casts within casts are one. */
static void inherit(struct finder *finder)
{
	const TachoSlices *slices = &finder->graph->timeline->slices;
	g_autoptr(GArray) casts = g_array_new(FALSE, FALSE, sizeof(struct found_cast));
	gint64 cast_end_ns = G_MININT64;
	guint32 cast_track = TACHO_NONE;

	for (guint32 i = 0; i < slices->n; i++) {
		guint32 parent = slices->parent[i];
		struct found_cast found = { 0 };

		if (finder->owner[i] == TACHO_NONE && parent != TACHO_NONE) {
			finder->owner[i] = finder->owner[parent];
			finder->pass[i] = finder->pass[parent];
			finder->step_of[i] = finder->step_of[parent];
		}
		if (finder->owner[i] == TACHO_NONE ||
		    (slices->track[i] == cast_track && slices->start_ns[i] < cast_end_ns) ||
		    !find_cast(finder, i, &found))
			continue;
		cast_track = slices->track[i];
		cast_end_ns = tacho_slice_end_ns(finder->graph->timeline, i);
		g_array_append_val(casts, found);
	}
	judge_casts(finder, casts);
	for (guint32 i = 0; i < slices->n; i++)
		if (slices->parent[i] != TACHO_NONE && finder->is_cast[slices->parent[i]] &&
		    finder->owner[i] == finder->owner[slices->parent[i]])
			finder->is_cast[i] = TRUE;
}

/* --- nodes -------------------------------------------------------------------------------------- */

guint32 layers_cell(const TachoGraph *graph, const struct graph_node *node)
{
	guint32 rank_index = graph_lane_at(graph, node->lane)->rank_index;
	guint32 step = node->step == TACHO_NONE ? TACHO_NONE : graph_step_index(graph, node->step);

	if (step == TACHO_NONE || rank_index >= graph->timeline->ranks->len)
		return TACHO_NONE;
	return rank_index * graph->steps->len + step;
}

/* A lane on the way through the nodes: the last piece that was of an operation, and the host's time since. */
struct lane_state {
	GArray *waiting; /* guint32 nodes */
	guint32 step;
	gint pass; /* -1: none yet in this step */
};

static void lane_state_clear(gpointer data)
{
	g_array_unref(((struct lane_state *)data)->waiting);
}

static guint32 slice_of(const TachoTimeline *timeline, const struct graph_node *node)
{
	guint32 launch =
		node->slice == TACHO_NONE ? TACHO_NONE : timeline->slices.launch[node->slice];

	return launch != TACHO_NONE ? launch : node->slice;
}

/* The host's own time: between operations, or in what the engine has around its nodes. */
static gboolean is_between(const TachoGraph *graph, const struct graph_node *node)
{
	return node->kind == TACHO_NODE_HOST ||
	       (node->kind == TACHO_NODE_OP && node->slice != TACHO_NONE &&
		region_kind_evaluates(region_kind_of(graph->timeline, node->slice)));
}

static void give_node(struct finder *finder, struct lane_state *lane, guint32 index)
{
	struct layers *layers = finder->layers;
	const struct graph_node *node = graph_node_at(finder->graph, index);
	guint32 slice = slice_of(finder->graph->timeline, node);
	guint32 owner = slice == TACHO_NONE ? TACHO_NONE : finder->owner[slice];

	if (lane->step != node->step) {
		lane->step = node->step;
		lane->pass = -1;
		g_array_set_size(lane->waiting, 0);
	}
	if (owner == TACHO_NONE) {
		if (is_between(finder->graph, node) && lane->pass >= 0)
			g_array_append_val(lane->waiting, index);
		else if (node->kind != TACHO_NODE_QUEUE && node->kind != TACHO_NODE_COMPLETE)
			lane->pass = -1;
		return;
	}
	layers->operation_of[index] = owner;
	layers->pass_of[index] = finder->pass[slice];
	layers->is_cast[index] = finder->is_cast[slice];
	if (lane->pass == finder->pass[slice])
		FOR_EACH(const guint32, waiting, lane->waiting) {
			layers->operation_of[*waiting] = owner;
			layers->pass_of[*waiting] = finder->pass[slice];
		}
	g_array_set_size(lane->waiting, 0);
	lane->pass = finder->pass[slice];
}

static gboolean is_work(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL ||
	       node->kind == TACHO_NODE_HOST || node->kind == TACHO_NODE_DEVICE ||
	       node->kind == TACHO_NODE_COPY;
}

static void give_nodes(struct finder *finder)
{
	const TachoGraph *graph = finder->graph;
	g_autoptr(GArray) lanes = g_array_new(FALSE, TRUE, sizeof(struct lane_state));
	gdouble own_ns = 0, all_ns = 0;

	g_array_set_size(lanes, graph->lanes->len);
	FOR_EACH(struct lane_state, lane, lanes) {
		lane->waiting = g_array_new(FALSE, FALSE, sizeof(guint32));
		lane->step = TACHO_NONE;
		lane->pass = -1;
	}
	g_array_set_clear_func(lanes, lane_state_clear);
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		if (layers_cell(graph, node) == TACHO_NONE || graph_is_guest_node(graph, node))
			continue;
		give_node(finder, &g_array_index(lanes, struct lane_state, node->lane), i);
	}
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		if (layers_cell(graph, node) == TACHO_NONE || !is_work(node))
			continue;
		all_ns += (gdouble)node->duration_ns;
		if (finder->layers->operation_of[i] != TACHO_NONE)
			own_ns += (gdouble)node->duration_ns;
	}
	finder->layers->time_share = all_ns > 0 ? own_ns / all_ns : 0;
}

/* --- all ---------------------------------------------------------------------------------------- */

static void finder_init(struct finder *finder, struct layers *layers)
{
	guint32 n = layers->n_operations, n_slices = finder->graph->timeline->slices.n;

	finder->layers = layers;
	finder->modules = g_new0(const gchar *, MAX(n, 1u));
	finder->kinds = g_new0(const gchar *, MAX(n, 1u));
	finder->keys = g_new0(guint64, MAX(n, 1u));
	finder->owner = none_rows_new(n_slices);
	finder->step_of = none_rows_new(n_slices);
	finder->pass = g_new0(guint8, MAX(n_slices, 1u));
	finder->is_cast = g_new0(guint8, MAX(n_slices, 1u));
	finder->known_keys = g_array_new(FALSE, FALSE, sizeof(guint64));
	finder->repeated = g_hash_table_new(g_int64_hash, g_int64_equal);
	for (guint32 i = 0; i < n; i++) {
		finder->modules[i] = g_intern_string(identity_at(finder->identity, i)->module);
		finder->kinds[i] = g_intern_string(identity_at(finder->identity, i)->kind);
	}
}

static void finder_release(struct finder *finder)
{
	g_free(finder->modules);
	g_free(finder->kinds);
	g_free(finder->keys);
	g_free(finder->owner);
	g_free(finder->step_of);
	g_free(finder->pass);
	g_free(finder->is_cast);
	g_free(finder->known);
	g_array_unref(finder->known_keys);
	g_hash_table_unref(finder->repeated);
}

/* An operation counts as found that is there in every step of every rank. */
static void judge(struct layers *layers, const struct identity *identity)
{
	guint32 n_whole = 0, n = 0;

	for (guint32 i = 0; i < layers->n_operations; i++) {
		const struct identity_operation *operation = identity_at(identity, i);

		if (identity_is_border(operation))
			continue;
		n++;
		if (layers->n_cells > 0 && layers->n_found[i] == layers->n_cells)
			n_whole++;
		else if (!layers->first_missing)
			layers->first_missing = g_strdup_printf(
				"%s %s %u", operation->module, operation->kind, operation->ordinal);
	}
	layers->found_share = n > 0 ? (gdouble)n_whole / n : 0;
}

void layers_init(struct layers *layers, const TachoGraph *graph, const struct identity *identity,
		 const KernelRegistry *registry)
{
	struct finder finder = { .graph = graph, .identity = identity, .registry = registry };
	guint32 n_nodes = MAX(graph->nodes->len, 1u);

	*layers = (struct layers){ .graph = graph, .n_operations = identity->operations->len };
	layers->operation_of = none_rows_new(n_nodes);
	layers->pass_of = g_new0(guint8, n_nodes);
	layers->is_cast = g_new0(guint8, n_nodes);
	layers->n_found = g_new0(guint32, MAX(layers->n_operations, 1u));
	layers->casts = g_array_new(FALSE, FALSE, sizeof(struct layer_cast));
	finder_init(&finder, layers);
	for (guint32 i = 0; i < graph->timeline->ranks->len; i++)
		find_forward(&finder, i);
	find_backward(&finder);
	inherit(&finder);
	give_nodes(&finder);
	finder_release(&finder);
	judge(layers, identity);
}

void layers_release(struct layers *layers)
{
	g_clear_pointer(&layers->operation_of, g_free);
	g_clear_pointer(&layers->pass_of, g_free);
	g_clear_pointer(&layers->is_cast, g_free);
	g_clear_pointer(&layers->n_found, g_free);
	g_clear_pointer(&layers->casts, g_array_unref);
	g_clear_pointer(&layers->first_missing, g_free);
}
