/* replay_memory: the memory that ranks hold, moved along with the replayed work.
 *
 * A block is handed out so far into a piece of work of a thread, and given back so far into another; in a
 * replay these moments are where the pieces are. What was there before the first step counts from the begin, and
 * what is not given back in the steps until their end.
 *
 * (1) What happens at one moment of a replay (in work that takes no time any more) happens in the order of the
 *     recording. */
#include "replay/replay_memory.h"

#include <string.h>

#include "analyze/memory_blocks.h"

/* --- moments ---------------------------------------------------------------------------------- */

struct memory_places {
	const TachoGraph *graph;
	guint32 n_tracks;
	guint32 *lane_of;   /* set * n_tracks + track -> lane, or TACHO_NONE */
	guint32 *main_lane; /* rank -> lane, or TACHO_NONE */
	GPtrArray *nodes;   /* by lane: GArray of guint32, by when they began */
};

struct memory_places *memory_places_new(const TachoGraph *graph)
{
	struct memory_places *places = g_new0(struct memory_places, 1);
	guint32 n_ranks = graph_n_own_ranks(graph);
	gsize n_places = (gsize)(n_ranks / MAX(graph->timeline->ranks->len, 1u) + 1) *
			 graph->timeline->tracks->len;

	places->graph = graph;
	places->n_tracks = graph->timeline->tracks->len;
	places->lane_of = g_new(guint32, MAX(n_places, 1u));
	places->main_lane = g_new(guint32, MAX(n_ranks, 1u));
	memset(places->lane_of, 0xff, n_places * sizeof(guint32));
	memset(places->main_lane, 0xff, n_ranks * sizeof(guint32));
	places->nodes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	for (guint32 i = 0; i < graph->lanes->len; i++) {
		const struct graph_lane *lane = graph_lane_at(graph, i);

		g_ptr_array_add(places->nodes, g_array_new(FALSE, FALSE, sizeof(guint32)));
		if (lane->track != TACHO_NONE)
			places->lane_of[(gsize)lane->set * places->n_tracks + lane->track] = i;
		if (lane->is_main && lane->rank_index < n_ranks)
			places->main_lane[lane->rank_index] = i;
	}
	for (guint32 i = 0; i < graph->nodes->len; i++) {
		const struct graph_node *node = graph_node_at(graph, i);

		if (node->kind != TACHO_NODE_REMOVED && node->kind != TACHO_NODE_START)
			g_array_append_val((GArray *)g_ptr_array_index(places->nodes, node->lane),
					   i);
	}
	return places;
}

void memory_places_free(struct memory_places *places)
{
	g_ptr_array_unref(places->nodes);
	g_free(places->lane_of);
	g_free(places->main_lane);
	g_free(places);
}

/* How many of the lane's nodes had begun by `time_ns` of the graph. */
static guint n_begun(const struct memory_places *places, const GArray *nodes, gint64 time_ns)
{
	guint low = 0, high = nodes->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (graph_node_at(places->graph, g_array_index(nodes, guint32, middle))->begin_ns <=
		    time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct graph_moment memory_places_find(const struct memory_places *places, guint32 rank_index,
				       guint32 track, gint64 time_ns)
{
	struct graph_moment moment = { time_ns, TACHO_NONE, 0 };
	gsize set = rank_index / places->graph->timeline->ranks->len;
	guint32 lane =
		track == TACHO_NONE ? TACHO_NONE : places->lane_of[set * places->n_tracks + track];
	gint64 at_ns = time_ns - places->graph->origin_ns, into_ns;
	const struct graph_node *node;
	const GArray *nodes;
	guint n;

	if (lane == TACHO_NONE)
		lane = places->main_lane[rank_index];
	if (lane == TACHO_NONE)
		return moment;
	nodes = g_ptr_array_index(places->nodes, lane);
	n = n_begun(places, nodes, at_ns);
	if (nodes->len == 0)
		return moment;
	moment.node = g_array_index(nodes, guint32, n > 0 ? n - 1 : 0);
	node = graph_node_at(places->graph, moment.node);
	into_ns = at_ns - node->begin_ns;
	moment.share = into_ns <= 0 ? 0
		       : into_ns >= node->duration_ns
			       ? 1
			       : (gdouble)into_ns / (gdouble)node->duration_ns;
	return moment;
}

/* --- what was held ---------------------------------------------------------------------------- */

/* The rank's first step in the graph begins, its last ends. */
static void find_window(const TachoGraph *graph, guint32 rank_index, gint64 *ret_from_ns,
			gint64 *ret_to_ns)
{
	*ret_from_ns = G_MAXINT64;
	*ret_to_ns = G_MININT64;
	for (guint32 i = 0; i < graph->nodes->len; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		const struct graph_lane *lane = graph_lane_at(graph, node->lane);

		if (!lane->is_main || lane->rank_index != rank_index || node->step == TACHO_NONE)
			continue;
		*ret_from_ns = MIN(*ret_from_ns, node->begin_ns);
		*ret_to_ns = MAX(*ret_to_ns, node->begin_ns + node->duration_ns);
	}
	if (*ret_from_ns <= *ret_to_ns) {
		*ret_from_ns += graph->origin_ns;
		*ret_to_ns += graph->origin_ns;
	}
}

static void find_memory_of_rank(TachoGraph *graph, const struct memory_places *places,
				guint32 rank_index)
{
	guint32 process = g_array_index(graph->timeline->ranks, TachoRank, rank_index).main_process;
	g_autoptr(GArray) blocks = memory_blocks_of_process(graph->timeline, process);
	gint64 from_ns, to_ns;

	find_window(graph, rank_index, &from_ns, &to_ns);
	for (guint i = 0; i < blocks->len; i++) {
		const struct memory_block *from = &g_array_index(blocks, struct memory_block, i);
		struct graph_block block = {
			.rank_index = rank_index,
			.slice = from->slice,
			.address = from->address,
			.bytes = from->bytes,
			.begin = { G_MININT64, TACHO_NONE, 0 },
			.end = { G_MAXINT64, TACHO_NONE, 0 },
		};

		if (from->end_ns < from_ns || from->begin_ns > to_ns)
			continue;
		if (from->begin_ns >= from_ns)
			block.begin = memory_places_find(places, rank_index, from->begin_track,
							 from->begin_ns);
		if (from->end_ns <= to_ns)
			block.end = memory_places_find(places, rank_index, from->end_track,
						       from->end_ns);
		g_array_append_val(graph->blocks, block);
	}
}

void replay_find_memory(TachoGraph *graph)
{
	struct memory_places *places;

	if (graph->timeline->memory->len == 0)
		return;
	places = memory_places_new(graph);
	for (guint32 i = 0; i < graph->timeline->ranks->len; i++)
		find_memory_of_rank(graph, places, i);
	memory_places_free(places);
}

/* --- the peak --------------------------------------------------------------------------------- */

struct change {
	gint64 time_ns, recorded_ns;
	gint64 bytes;
	guint32 block;
};

static gint compare_changes(gconstpointer a, gconstpointer b)
{
	const struct change *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->recorded_ns != y->recorded_ns)
		return x->recorded_ns < y->recorded_ns ? -1 : 1;
	if ((x->bytes < 0) != (y->bytes < 0))
		return x->bytes < 0 ? -1 : 1; /* given back first */
	return (x->block > y->block) - (x->block < y->block);
}

static gint64 replayed_ns(const TachoReplay *replay, const struct graph_moment *moment)
{
	gint64 begin_ns, length_ns;

	if (moment->node == TACHO_NONE)
		return moment->time_ns; /* before all, or after all */
	begin_ns = replay->begin_ns[moment->node];
	length_ns = replay->end_ns[moment->node] - begin_ns;
	return begin_ns + (gint64)(moment->share * (gdouble)length_ns);
}

static gboolean is_removed(const TachoGraph *graph, const struct graph_moment *moment)
{
	return moment->node != TACHO_NONE &&
	       graph_node_at(graph, moment->node)->kind == TACHO_NODE_REMOVED;
}

static GArray *changes_of_rank(const TachoReplay *replay, guint32 rank_index)
{
	const TachoGraph *graph = replay->graph;
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct change));

	for (guint32 i = 0; i < graph->blocks->len; i++) {
		const struct graph_block *block =
			&g_array_index(graph->blocks, struct graph_block, i);
		struct change begin = { replayed_ns(replay, &block->begin), block->begin.time_ns,
					block->bytes, i };
		struct change end = { replayed_ns(replay, &block->end), block->end.time_ns,
				      -block->bytes, i };

		if (block->rank_index != rank_index || block->bytes == 0 ||
		    is_removed(graph, &block->begin) || is_removed(graph, &block->end))
			continue;
		end.time_ns = MAX(end.time_ns, begin.time_ns);
		g_array_append_val(changes, begin);
		g_array_append_val(changes, end);
	}
	g_array_sort(changes, compare_changes);
	return changes;
}

/* Index behind the change with which most is held; what a broken trace holds does not overflow. */
static guint find_peak(const GArray *changes, gint64 *ret_bytes)
{
	gdouble held = 0, most = 0;
	guint peak = 0;

	for (guint i = 0; i < changes->len; i++) {
		held += (gdouble)g_array_index(changes, struct change, i).bytes;
		if (held > most) {
			most = held;
			peak = i + 1;
		}
	}
	*ret_bytes = most < (gdouble)(G_MAXINT64 / 2) ? (gint64)most : G_MAXINT64 / 2;
	return peak;
}

/* The innermost operation around the slice, or it. */
static const gchar *owner_name(const TachoGraph *graph, guint32 slice)
{
	const TachoSlices *slices = &graph->timeline->slices;

	if (slice == TACHO_NONE)
		return "outside of all";
	for (guint32 op = slice; op != TACHO_NONE; op = slices->parent[op])
		if (slices->kind[op] == TACHO_SLICE_OP)
			return tacho_slice_name(graph->timeline, op);
	return tacho_slice_name(graph->timeline, slice);
}

struct owner {
	const gchar *name;
	gint64 n_blocks, bytes;
};

static gint compare_owners(gconstpointer a, gconstpointer b)
{
	const struct owner *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Who holds what after the first `n` changes. */
static GArray *find_owners(const TachoGraph *graph, const GArray *changes, guint n)
{
	g_autoptr(GHashTable) index_of = g_hash_table_new(g_str_hash, g_str_equal);
	GArray *owners = g_array_new(FALSE, FALSE, sizeof(struct owner));

	for (guint i = 0; i < n; i++) {
		const struct change *change = &g_array_index(changes, struct change, i);
		struct owner new_owner = { owner_name(graph, g_array_index(graph->blocks,
									   struct graph_block,
									   change->block)
								     .slice),
					   0, 0 };
		guint index = GPOINTER_TO_UINT(g_hash_table_lookup(index_of, new_owner.name));

		if (index == 0) {
			g_array_append_val(owners, new_owner);
			index = owners->len;
			g_hash_table_insert(index_of, (gpointer)new_owner.name,
					    GUINT_TO_POINTER(index));
		}
		g_array_index(owners, struct owner, index - 1).bytes += change->bytes;
		g_array_index(owners, struct owner, index - 1).n_blocks +=
			change->bytes > 0 ? 1 : -1;
	}
	g_array_sort(owners, compare_owners);
	return owners;
}

static TachoTable *owner_table(const TachoGraph *graph, const GArray *changes, guint n)
{
	static const TachoColumn columns[] = {
		{ "name", "handed out in", TACHO_COLUMN_TEXT, 0, .is_flexible = TRUE },
		{ "blocks", "blocks", TACHO_COLUMN_INTEGER, 0, .is_flexible = FALSE },
		{ "bytes", "bytes", TACHO_COLUMN_INTEGER, 0, .is_flexible = FALSE },
	};
	TachoTable *table = tacho_table_new("peak_owners", columns, G_N_ELEMENTS(columns));
	g_autoptr(GArray) owners = find_owners(graph, changes, n);

	for (guint i = 0; i < owners->len; i++) {
		const struct owner *owner = &g_array_index(owners, struct owner, i);

		if (owner->n_blocks <= 0)
			continue;
		tacho_table_row(table);
		tacho_table_text(table, owner->name);
		tacho_table_integer(table, owner->n_blocks);
		tacho_table_integer(table, owner->bytes);
	}
	return table;
}

struct memory_peak replay_memory_peak(const TachoReplay *replay, gboolean with_owners)
{
	const TachoGraph *graph = replay->graph;
	struct memory_peak peak = { -1, 0, NULL };

	for (guint32 i = 0; i < graph_n_own_ranks(graph) && graph->blocks->len > 0; i++) {
		g_autoptr(GArray) changes = changes_of_rank(replay, i);
		gint64 bytes;
		guint n = find_peak(changes, &bytes);

		if (bytes <= peak.bytes)
			continue;
		peak.bytes = bytes;
		peak.rank_index = i;
		g_clear_pointer(&peak.owners, tacho_table_free);
		if (with_owners)
			peak.owners = owner_table(graph, changes, n);
	}
	return peak;
}
