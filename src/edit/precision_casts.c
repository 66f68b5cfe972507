/* precision_casts: where tensors are in other numbers than what reads them needs.
 *
 * What made a tensor is seldom recorded, so this goes by the order of a thread's operations: the activation that an
 * operation reads is what the one before it left. (1) What an operation leaves is in its numbers; what comes out of
 * 8 bits has been scaled back to 32. One that no change is of leaves what was recorded. (2) What one needs is in its
 * numbers, or as recorded. Where the two differ there is a cast; where the numbers of both were changed to the same,
 * or back to what was recorded, there is none. (3) Other inputs are weights, which are kept as recorded, and are
 * cast each time that they are needed in other numbers. (4) Where everything was changed at once, weights are kept
 * so, and between operations that are as that left them nothing is cast.
 *
 * A cast reads and writes each element once at the memory's bandwidth, in a node before the operation's first kernel,
 * on its stream. What it writes is held for as long as the operation lasts on its thread. */
#include <math.h>

#include "analyze/op_flops.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "edit/precision.h"
#include "edit/graph_memory.h"
#include "edit/change_internal.h"

/* --- what is cast ----------------------------------------------------------------------------- */

static gboolean is_changed(const struct operation *operation)
{
	return operation->now != operation->recorded || operation->stored != DEVICE_N_RATES;
}

/* As everything was changed at once. */
static gboolean is_as_stored(const struct operation *operation)
{
	return operation->stored != DEVICE_N_RATES && operation->now == operation->stored;
}

/* The numbers that a tensor is in that nothing of the kind has made; `recorded` is what was. */
static enum device_rate kept(const struct operation *reader, enum device_rate recorded)
{
	return reader->stored != DEVICE_N_RATES ? reader->stored : recorded;
}

static enum device_rate left_by(const struct operation *before, const struct operation *reader,
				enum device_rate recorded)
{
	if (!before)
		return kept(reader, recorded);
	if (!is_changed(before))
		return recorded;
	return before->now == DEVICE_INT8 ? DEVICE_FP32 : before->now;
}

/* What a cast reads, and what it writes. */
struct cast_bytes {
	gdouble read, written;
};

static void add_cast(struct cast_bytes *bytes, const TachoTensor *tensor, enum device_rate from,
		     enum device_rate to)
{
	if (from == to)
		return;
	bytes->read += tensor_elements(tensor) * precision_width(from);
	bytes->written += tensor_elements(tensor) * precision_width(to);
}

/* `before` is the operation before it on its thread, or NULL. */
static struct cast_bytes casts_of(const struct precision *precision,
				  const struct operation *operation, const struct operation *before)
{
	const TachoTimeline *timeline = precision->graph->timeline;
	guint32 activation = op_activation_input(timeline, operation->slice);
	struct cast_bytes bytes = { 0, 0 };
	TachoTensor tensor;

	if (!is_changed(operation) && !(before && is_changed(before)))
		return bytes;
	for (guint32 i = 0; tacho_slice_input(timeline, operation->slice, i, &tensor); i++) {
		enum device_rate recorded = device_rate_of(tensor.dtype);
		enum device_rate needed = is_changed(operation) ? operation->now : recorded;

		if (recorded == DEVICE_N_RATES)
			continue;
		if (i != activation)
			add_cast(&bytes, &tensor, kept(operation, recorded), needed);
		else if (!is_as_stored(operation) || (before && !is_as_stored(before)))
			add_cast(&bytes, &tensor, left_by(before, operation, recorded), needed);
	}
	return bytes;
}

void precision_find_casts(struct precision *precision)
{
	const TachoSlices *slices = &precision->graph->timeline->slices;
	g_autoptr(GHashTable) last_on = g_hash_table_new(NULL, NULL);

	FOR_EACH_POINTER(struct operation, operation, precision->in_order) {
		gpointer thread = GSIZE_TO_POINTER((gsize)operation->set << 32 |
						   slices->track[operation->slice]);

		struct cast_bytes bytes =
			casts_of(precision, operation, g_hash_table_lookup(last_on, thread));

		operation->cast_ns = (bytes.read + bytes.written) /
				     precision->devices[operation->rank_index]->gb_per_s;
		operation->cast_bytes = bytes.written;
		g_hash_table_insert(last_on, thread, operation);
	}
}

/* --- their nodes ------------------------------------------------------------------------------ */

/* Edges to a node that is taken away are to the one behind it. */
static void bypass(TachoGraph *graph, const guint8 *is_removed)
{
	g_autofree guint32 *behind = g_new(guint32, MAX(graph->nodes->len, 1u));

	FOR_EACH(const struct graph_edge, edge, graph->edges)
		if (is_removed[edge->from])
			behind[edge->from] = edge->to;
	FOR_EACH(struct graph_edge, edge, graph->edges)
		if (is_removed[edge->to])
			edge->to = behind[edge->to];
	graph_remove_nodes(graph, is_removed);
}

/* Those that are there, as later changes left them, in proportion. */
static void update_casts(struct precision *precision)
{
	TachoGraph *graph = precision->graph;
	g_autofree guint8 *is_removed = g_new0(guint8, MAX(graph->nodes->len, 1u));
	guint32 n_removed = 0;

	FOR_EACH_AT(struct graph_node, node, i, graph->nodes) {
		const struct operation *operation =
			node->kind == TACHO_NODE_CAST ? precision_operation_of(precision, i) : NULL;

		if (!operation)
			continue;
		if (operation->cast_ns > 0)
			graph_change_duration(
				node,
				rounded_ns((gdouble)node->duration_ns * operation->cast_ns /
					   operation->cast_ns_before),
				ORIGIN_MODELLED);
		else
			n_removed += is_removed[i] = 1;
	}
	if (n_removed > 0)
		bypass(graph, is_removed);
}

void precision_place_casts(struct precision *precision)
{
	TachoGraph *graph = precision->graph;
	g_autoptr(GArray) insertions = g_array_new(FALSE, FALSE, sizeof(struct insertion));
	guint32 name = tacho_timeline_intern(graph->timeline, "cast", -1);

	update_casts(precision);
	FOR_EACH_POINTER(const struct operation, operation, precision->in_order) {
		struct insertion insertion = { operation->first,
					       rounded_ns(operation->cast_ns),
					       ORIGIN_MODELLED,
					       TACHO_NODE_CAST,
					       name,
					       TRUE };

		if (operation->cast_ns > 0 && operation->cast_ns_before <= 0)
			g_array_append_val(insertions, insertion);
	}
	if (insertions->len > 0)
		change_insert(graph, insertions);
}

/* --- their memory ----------------------------------------------------------------------------- */

static void forget_casts(struct precision *precision)
{
	GArray *blocks = precision->graph->blocks;
	gsize n_recorded = MAX(precision->graph->timeline->ranks->len, 1u);
	guint n_kept = 0;

	for (guint i = 0; i < blocks->len; i++) {
		struct graph_block block = g_array_index(blocks, struct graph_block, i);
		gsize set = block.rank_index / n_recorded;

		if (!block.is_cast ||
		    !g_hash_table_contains(precision->operations,
					   GSIZE_TO_POINTER(set << 32 | block.slice)))
			g_array_index(blocks, struct graph_block, n_kept++) = block;
	}
	g_array_set_size(blocks, n_kept);
}

/* Which memories of which ranks hold anything as recorded. */
struct known_memories {
	GHashTable *known; /* rank << 32 | memory */
	guint32 *first;	   /* one of each rank */
};

static gpointer memory_key(guint32 rank_index, guint32 memory)
{
	return GSIZE_TO_POINTER((gsize)rank_index << 32 | memory);
}

static void known_memories_init(struct known_memories *memories, const TachoGraph *graph)
{
	memories->known = g_hash_table_new(NULL, NULL);
	memories->first = g_new0(guint32, MAX(graph_n_own_ranks(graph), 1u));
	for (guint32 i = graph->blocks->len; i-- > 0;) {
		const struct graph_block *block =
			&g_array_index(graph->blocks, struct graph_block, i);

		g_hash_table_add(memories->known, memory_key(block->rank_index, block->device));
		memories->first[block->rank_index] = block->device;
	}
}

static void known_memories_release(struct known_memories *memories)
{
	g_hash_table_unref(memories->known);
	g_free(memories->first);
}

/* Where the device's memory was not recorded, casts are in what was. */
static guint32 memory_of(const struct known_memories *memories, const struct operation *operation)
{
	return g_hash_table_contains(memories->known,
				     memory_key(operation->rank_index, operation->memory))
		       ? operation->memory
		       : memories->first[operation->rank_index];
}

static void hold_cast(TachoGraph *graph, const struct memory_places *places,
		      const struct operation *operation, guint32 memory)
{
	const TachoSlices *slices = &graph->timeline->slices;
	guint32 track = slices->track[operation->slice];
	struct graph_block block = {
		.rank_index = operation->rank_index,
		.slice = operation->slice,
		.bytes = (gint64)operation->cast_bytes,
		.device = memory,
		.begin = memory_places_find(places, operation->rank_index, track,
					    slices->start_ns[operation->slice]),
		.end = memory_places_find(places, operation->rank_index, track,
					  tacho_slice_end_ns(graph->timeline, operation->slice)),
		.is_cast = TRUE,
	};

	g_array_append_val(graph->blocks, block);
}

void precision_hold_casts(struct precision *precision)
{
	TachoGraph *graph = precision->graph;
	struct memory_places *places;
	struct known_memories memories;

	if (graph->blocks->len == 0)
		return;
	forget_casts(precision);
	known_memories_init(&memories, graph);
	places = memory_places_new(graph);
	FOR_EACH_POINTER(const struct operation, operation, precision->in_order)
		if (operation->cast_bytes >= 1 && operation->cast_bytes < (gdouble)G_MAXINT64 / 2)
			hold_cast(graph, places, operation, memory_of(&memories, operation));
	memory_places_free(places);
	known_memories_release(&memories);
}
