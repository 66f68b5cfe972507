/* memory_edits: what-ifs that change which memory is held when.
 *
 * A tensor is in the block that has the address of its storage; so which is in which is known where storages were
 * recorded. */
#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "edit/graph_memory.h"
#include "trace/region_kind.h"

static struct graph_block *block_at(const TachoGraph *graph, guint index)
{
	return &g_array_index(graph->blocks, struct graph_block, index);
}

static guint32 rank_of(const TachoTimeline *timeline, guint32 slice)
{
	const TachoProcess *process = tacho_slice_process(timeline, slice);

	return process->is_main ? process->rank_index : TACHO_NONE;
}

/* Sets of copies that are played: what a rank does, its copy in each of them does, too. */
static guint32 n_sets(const TachoGraph *graph)
{
	return graph_n_own_ranks(graph) / MAX(graph->timeline->ranks->len, 1u);
}

/* The blocks of each address, as lists of their numbers: address -> GArray of guint32. */
static GHashTable *index_blocks(const TachoGraph *graph)
{
	GHashTable *index = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
						  (GDestroyNotify)g_array_unref);

	for (guint32 i = 0; i < graph->blocks->len; i++) {
		guint64 *address = &block_at(graph, i)->address;
		GArray *list = g_hash_table_lookup(index, address);

		if (block_at(graph, i)->is_cast)
			continue;
		if (!list) {
			list = g_array_new(FALSE, FALSE, sizeof(guint32));
			g_hash_table_insert(index, address, list);
		}
		g_array_append_val(list, i);
	}
	return index;
}

/* The rank's block that was at the address at that moment, or TACHO_NONE. */
static guint32 find_block(const TachoGraph *graph, GHashTable *index, guint32 rank_index,
			  guint64 address, gint64 time_ns)
{
	const GArray *list = g_hash_table_lookup(index, &address);

	for (guint i = 0; list && i < list->len; i++) {
		guint32 number = g_array_index(list, guint32, i);
		const struct graph_block *block = block_at(graph, number);

		if (block->rank_index == rank_index && block->begin.time_ns <= time_ns &&
		    time_ns < block->end.time_ns)
			return number;
	}
	return TACHO_NONE;
}

/* --- accumulation ----------------------------------------------------------------------------- */

struct gradient_block {
	guint32 block, rank_index, track;
	gint64 begin_ns, accumulated_ns; /* handed out; AccumulateGrad has it */
};

static gint compare_gradients(gconstpointer a, gconstpointer b)
{
	const struct gradient_block *x = a, *y = b;

	return ORDER(x->rank_index, y->rank_index) ?: ORDER(x->begin_ns, y->begin_ns) ?:
	       ORDER(x->block, y->block);
}

/* What AccumulateGrad `slice` has, on that rank or copy of it. */
static void add_gradient(const TachoGraph *graph, GHashTable *index, guint32 slice,
			 guint32 rank_index, GArray *gradients)
{
	const TachoTimeline *timeline = graph->timeline;
	struct gradient_block gradient = { .rank_index = rank_index,
					   .track = timeline->slices.track[slice],
					   .accumulated_ns = tacho_slice_end_ns(timeline, slice) };
	TachoTensor tensor;

	if (!tacho_slice_input(timeline, slice, 0, &tensor) || tensor.storage == 0)
		return;
	gradient.block =
		find_block(graph, index, rank_index, tensor.storage, gradient.accumulated_ns);
	if (gradient.block == TACHO_NONE)
		return;
	gradient.begin_ns = block_at(graph, gradient.block)->begin.time_ns;
	g_array_append_val(gradients, gradient);
}

/* Those that stay as a parameter's gradient: they outlast AccumulateGrad. Some were there before the steps. */
static GArray *find_gradients(const TachoGraph *graph)
{
	const TachoTimeline *timeline = graph->timeline;
	GArray *gradients = g_array_new(FALSE, FALSE, sizeof(struct gradient_block));
	GHashTable *index = index_blocks(graph);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 rank_index = rank_of(timeline, i);

		if (rank_index == TACHO_NONE || region_kind_of(timeline, i) != REGION_ACCUMULATE)
			continue;
		for (guint32 set = 0; set < n_sets(graph); set++)
			add_gradient(graph, index, i, set * timeline->ranks->len + rank_index,
				     gradients);
	}
	g_hash_table_unref(index);
	g_array_sort(gradients, compare_gradients);
	return gradients;
}

struct rank_moment {
	guint32 rank_index;
	struct graph_moment moment;
};

static gint compare_moments(gconstpointer a, gconstpointer b)
{
	const struct rank_moment *x = a, *y = b;

	return ORDER(x->rank_index, y->rank_index) ?: ORDER(x->moment.time_ns, y->moment.time_ns);
}

/* When gradients were given back, by rank and time. */
static GArray *find_zeroings(const TachoGraph *graph, const GArray *gradients)
{
	GArray *zeroings = g_array_new(FALSE, FALSE, sizeof(struct rank_moment));

	FOR_EACH(const struct gradient_block, gradient, gradients) {
		struct rank_moment zeroing = { gradient->rank_index,
					       block_at(graph, gradient->block)->end };

		g_array_append_val(zeroings, zeroing);
	}
	g_array_sort(zeroings, compare_moments);
	return zeroings;
}

/* When the rank last gave gradients back before this one came; the begin of all, where it did not. */
static struct graph_moment when_zeroed(const GArray *zeroings,
				       const struct gradient_block *gradient)
{
	struct rank_moment begin = { gradient->rank_index, { gradient->begin_ns, 0, 0 } };
	const struct rank_moment *last =
		LAST_BEFORE(zeroings, struct rank_moment, row, compare_moments(row, &begin) <= 0);

	if (!last || last->rank_index != gradient->rank_index)
		return (struct graph_moment){ G_MININT64, TACHO_NONE, 0 };
	return last->moment;
}

void memory_accumulate(TachoGraph *graph)
{
	g_autoptr(GArray) gradients = find_gradients(graph);
	g_autoptr(GArray) zeroings = find_zeroings(graph, gradients);
	struct memory_places *places;

	if (gradients->len == 0) {
		if (graph->blocks->len > 0)
			graph_note(graph,
				   "the memory that holds the gradients is not known, so peak "
				   "memory leaves out those that wait for the next pass");
		return;
	}
	places = memory_places_new(graph);
	FOR_EACH(const struct gradient_block, gradient, gradients) {
		struct graph_block addend = *block_at(graph, gradient->block);

		if (addend.begin.node == TACHO_NONE)
			continue;
		block_at(graph, gradient->block)->begin = when_zeroed(zeroings, gradient);
		addend.end = memory_places_find(places, gradient->rank_index, gradient->track,
						gradient->accumulated_ns);
		g_array_append_val(graph->blocks, addend);
	}
	memory_places_free(places);
}

/* --- recomputation ---------------------------------------------------------------------------- */

static gint compare_parts(gconstpointer a, gconstpointer b)
{
	const struct memory_recomputation *x = a, *y = b;

	return ORDER(x->rank_index, y->rank_index) ?: ORDER(x->begin_ns, y->begin_ns);
}

/* The part that the block was handed out in and is not needed after, or NULL; parts of a rank follow each
 * other. */
static const struct memory_recomputation *find_part(const GArray *parts,
						    const struct graph_block *block)
{
	struct memory_recomputation wanted = { .rank_index = block->rank_index,
					       .begin_ns = block->begin.time_ns };
	const struct memory_recomputation *part = LAST_BEFORE(
		parts, struct memory_recomputation, row, compare_parts(row, &wanted) <= 0);

	if (!part || block->begin.node == TACHO_NONE || block->bytes == 0)
		return NULL;
	return part->rank_index == block->rank_index && block->begin.time_ns < part->end_ns &&
			       block->end.time_ns > part->again_ns
		       ? part
		       : NULL;
}

/* What operation `slice` reads, on that rank or copy of it. */
static void add_read(const TachoGraph *graph, GHashTable *index, const GArray *parts, guint32 slice,
		     guint32 rank_index, GHashTable *read)
{
	gint64 time_ns = graph->timeline->slices.start_ns[slice];
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(graph->timeline, slice, i, &tensor); i++) {
		guint32 number = find_block(graph, index, rank_index, tensor.storage, time_ns);
		const struct memory_recomputation *part =
			number == TACHO_NONE ? NULL : find_part(parts, block_at(graph, number));

		if (part && time_ns >= part->end_ns && time_ns < part->again_ns)
			g_hash_table_add(read, GUINT_TO_POINTER(number));
	}
}

/* Blocks of parts that operations read after their part and before it is computed again. */
static GHashTable *find_read(const TachoGraph *graph, const GArray *parts)
{
	const TachoTimeline *timeline = graph->timeline;
	GHashTable *read = g_hash_table_new(NULL, NULL);
	GHashTable *index = index_blocks(graph);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 rank_index = rank_of(timeline, i);

		if (timeline->slices.kind[i] != TACHO_SLICE_OP || rank_index == TACHO_NONE)
			continue;
		for (guint32 set = 0; set < n_sets(graph); set++)
			add_read(graph, index, parts, i, set * timeline->ranks->len + rank_index,
				 read);
	}
	g_hash_table_unref(index);
	return read;
}

static void free_between(TachoGraph *graph, guint32 number, const struct memory_recomputation *part)
{
	struct graph_block again = *block_at(graph, number);

	again.begin = (struct graph_moment){ part->again_ns, part->again_node, 0 };
	block_at(graph, number)->end = (struct graph_moment){ part->end_ns, part->last_node, 1 };
	g_array_append_val(graph->blocks, again);
}

void memory_recompute(TachoGraph *graph, GArray *parts)
{
	GHashTable *read;
	guint32 n_blocks = graph->blocks->len;

	g_array_sort(parts, compare_parts);
	read = find_read(graph, parts);
	for (guint32 i = 0; i < n_blocks; i++) {
		const struct memory_recomputation *part = find_part(parts, block_at(graph, i));

		if (part && !g_hash_table_contains(read, GUINT_TO_POINTER(i)))
			free_between(graph, i, part);
	}
	g_hash_table_unref(read);
}
