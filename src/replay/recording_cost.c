/* recording_cost: the job without what recording it took.
 *
 * A run states what its events cost the job, measured in the job itself; as `tacho info` does, that is
 * shared out evenly to the slices. The event of a slice is begun when the slice begins, and finished
 * when it ends; a piece of work lies between two such moments, and half of what happens at each is
 * before it, half after. So a piece holds half of an event's cost; what a short one cannot hold is in
 * the next of its thread. */
#include <math.h>

#include "replay/replay_internal.h"

/* Of a slice of the rank's main process. */
static gdouble slice_cost_ns(const TachoTimeline *timeline, guint32 rank_index)
{
	guint32 main = g_array_index(timeline->ranks, TachoRank, rank_index).main_process;
	guint64 n_slices = 0;

	for (guint32 i = 0; i < timeline->tracks->len; i++)
		if (tacho_timeline_track(timeline, i)->process == main)
			n_slices += tacho_timeline_track(timeline, i)->n_slices;
	return (gdouble)g_array_index(timeline->processes, TachoProcess, main).cost_ns /
	       (gdouble)MAX(n_slices, 1u);
}

static gboolean is_work(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL ||
	       node->kind == TACHO_NODE_HOST;
}

/* Take it out of a piece, with what the pieces before it on its lane could not hold. */
static gint64 take_out(struct graph_node *node, gdouble cost_ns, gdouble *rest_ns)
{
	gint64 taken_ns = MIN(llround(cost_ns + *rest_ns), node->duration_ns);

	*rest_ns += cost_ns - (gdouble)taken_ns;
	node->duration_ns -= taken_ns;
	return taken_ns;
}

gboolean replay_take_out_recording(TachoGraph *graph, gdouble *ret_share, GError **error)
{
	guint32 n_ranks = graph->timeline->ranks->len;
	g_autofree gdouble *piece_ns = g_new(gdouble, MAX(n_ranks, 1u));
	g_autofree gdouble *rest_ns = g_new0(gdouble, MAX(graph->lanes->len, 1u));
	gdouble taken_ns = 0, all_ns = 0;

	for (guint32 rank = 0; rank < n_ranks; rank++)
		piece_ns[rank] = slice_cost_ns(graph->timeline, rank) / 2;
	for (guint32 i = 0; i < graph->nodes->len; i++) {
		struct graph_node *node = graph_node_at(graph, i);

		if (!is_work(node))
			continue;
		all_ns += (gdouble)node->duration_ns;
		taken_ns += (gdouble)take_out(
			node, piece_ns[graph_lane_at(graph, node->lane)->rank_index],
			&rest_ns[node->lane]);
	}
	*ret_share = all_ns > 0 ? taken_ns / all_ns : 0;
	return taken_ns == 0 || graph_freeze(graph, error);
}
