/* replay_memory: the memory that ranks hold, moved along with the replayed work.
 *
 * A block is handed out so far into a piece of work of a thread, and given back so far into another; in a
 * replay these moments are where the pieces are. What was there before the first step counts from the begin, and
 * what is not given back in the steps until their end. */
#include "edit/graph_memory.h"

#include <string.h>

#include "analyze/memory_blocks.h"
#include "base/for_each.h"
#include "base/partition_point.h"
#include "trace/none_rows.h"

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
	places->lane_of = none_rows_new(n_places);
	places->main_lane = none_rows_new(n_ranks);
	places->nodes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	FOR_EACH_AT(const struct graph_lane, lane, i, graph->lanes) {
		g_ptr_array_add(places->nodes, g_array_new(FALSE, FALSE, sizeof(guint32)));
		if (lane->track != TACHO_NONE)
			places->lane_of[(gsize)lane->set * places->n_tracks + lane->track] = i;
		if (lane->is_main && lane->rank_index < n_ranks)
			places->main_lane[lane->rank_index] = i;
	}
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes)
		if (node->kind != TACHO_NODE_REMOVED && node->kind != TACHO_NODE_START)
			g_array_append_val((GArray *)g_ptr_array_index(places->nodes, node->lane),
					   i);
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
	return ROWS_BEFORE(nodes, guint32, row,
			   graph_node_at(places->graph, *row)->begin_ns <= time_ns);
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
	FOR_EACH(const struct graph_node, node, graph->nodes) {
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

/* When the rank is in the steps, of the timeline. */
struct memory_window {
	guint32 rank_index;
	gint64 from_ns, to_ns;
};

/* If it is held in the window. */
static void add_block(TachoGraph *graph, const struct memory_places *places,
		      const struct memory_window *window, const struct memory_block *from,
		      guint32 owner)
{
	guint32 rank_index = window->rank_index;
	struct graph_block block = {
		.rank_index = rank_index,
		.slice = from->slice,
		.address = from->address,
		.bytes = from->bytes,
		.recorded_bytes = from->bytes,
		.device = from->device,
		.owner = owner,
		.begin = { G_MININT64, TACHO_NONE, 0 },
		.end = { G_MAXINT64, TACHO_NONE, 0 },
	};

	if (from->end_ns < window->from_ns || from->begin_ns > window->to_ns)
		return;
	if (from->begin_ns >= window->from_ns)
		block.begin =
			memory_places_find(places, rank_index, from->begin_track, from->begin_ns);
	if (from->end_ns <= window->to_ns)
		block.end = memory_places_find(places, rank_index, from->end_track, from->end_ns);
	g_array_append_val(graph->blocks, block);
}

static struct memory_window window_of(const TachoGraph *graph, guint32 rank_index)
{
	struct memory_window window = { .rank_index = rank_index };

	find_window(graph, rank_index, &window.from_ns, &window.to_ns);
	return window;
}

static void find_memory_of_rank(TachoGraph *graph, const struct memory_places *places,
				guint32 rank_index)
{
	guint32 process = tacho_timeline_rank(graph->timeline, rank_index)->main_process;
	g_autoptr(GArray) blocks = memory_blocks_of_process(graph->timeline, process);
	struct memory_window window;

	if (blocks->len == 0)
		return;
	window = window_of(graph, rank_index);
	FOR_EACH(const struct memory_block, from, blocks)
		add_block(graph, places, &window, from, 0);
}

/* What other processes told of their ranks, which stand behind this one's. */
static void add_told_memory(TachoGraph *graph, const struct memory_places *places)
{
	struct memory_window window = { .rank_index = TACHO_NONE };

	FOR_EACH(const struct told_block, told, graph->told->blocks) {
		struct memory_block from = { .begin_ns = told->begin_ns,
					     .end_ns = told->end_ns,
					     .bytes = told->bytes,
					     .device = told->device,
					     .slice = TACHO_NONE,
					     .address = told->address,
					     .begin_track = told->begin_track,
					     .end_track = told->end_track };

		if (told->rank_index != window.rank_index)
			window = window_of(graph, told->rank_index);
		add_block(graph, places, &window, &from, told->owner);
	}
}

void graph_find_memory(TachoGraph *graph)
{
	struct memory_places *places;

	if (graph->timeline->memory->len == 0 && !graph->told)
		return;
	places = memory_places_new(graph);
	for (guint32 i = 0; i < graph->timeline->ranks->len; i++)
		find_memory_of_rank(graph, places, i);
	if (graph->told)
		add_told_memory(graph, places);
	memory_places_free(places);
}
