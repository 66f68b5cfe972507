/* step_times: when the steps of a replay begin and end. A step of a rank is the time of its main
 * thread's nodes of that step; it begins when the node before the first of them has ended. */
#include "replay/replay_internal.h"

struct step_times {
	const TachoReplay *replay;
	guint32 n_steps, n_ranks;
	gint64 *begin_ns, *end_ns; /* [rank * n_steps + step] */
	guint32 *last;		   /* node */
};

static void step_times_init(struct step_times *times, const TachoReplay *replay)
{
	const TachoGraph *graph = replay->graph;
	gsize n;

	times->replay = replay;
	times->n_ranks = graph->timeline->ranks->len;
	times->n_steps = graph->last_step - graph->first_step + 1;
	n = MAX((gsize)times->n_ranks * times->n_steps, 1u);
	times->begin_ns = g_new0(gint64, n);
	times->end_ns = g_new0(gint64, n);
	times->last = g_new(guint32, n);
	for (gsize i = 0; i < n; i++)
		times->last[i] = TACHO_NONE;
}

static void step_times_release(struct step_times *times)
{
	g_free(times->begin_ns);
	g_free(times->end_ns);
	g_free(times->last);
}

static void find_times(struct step_times *times)
{
	const TachoGraph *graph = times->replay->graph;
	g_autofree gint64 *before_ns = g_new0(gint64, MAX(graph->lanes->len, 1u));

	for (guint32 i = 0; i < times->replay->n_nodes; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		const struct graph_lane *lane = graph_lane_at(graph, node->lane);
		gsize cell;

		if (!lane->is_main || node->kind == TACHO_NODE_REMOVED)
			continue;
		if (node->step != TACHO_NONE) {
			cell = (gsize)lane->rank_index * times->n_steps + node->step -
			       graph->first_step;
			if (times->last[cell] == TACHO_NONE)
				times->begin_ns[cell] = before_ns[node->lane];
			times->last[cell] = i;
			times->end_ns[cell] = times->replay->end_ns[i];
		}
		before_ns[node->lane] = times->replay->end_ns[i];
	}
}

GArray *replay_step_times(const TachoReplay *replay)
{
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(gint64));
	struct step_times times;

	step_times_init(&times, replay);
	find_times(&times);
	for (guint32 step = 0; step < times.n_steps; step++) {
		gint64 sum_ns = 0, mean_ns;

		for (guint32 rank = 0; rank < times.n_ranks; rank++)
			sum_ns += times.end_ns[(gsize)rank * times.n_steps + step] -
				  times.begin_ns[(gsize)rank * times.n_steps + step];
		mean_ns = sum_ns / MAX(times.n_ranks, 1u);
		g_array_append_val(steps, mean_ns);
	}
	step_times_release(&times);
	return steps;
}

guint32 replay_step_end(const TachoReplay *replay, guint32 rank_index, guint32 step,
			gint64 *ret_begin_ns)
{
	struct step_times times;
	gsize cell;
	guint32 last;

	step_times_init(&times, replay);
	find_times(&times);
	cell = (gsize)rank_index * times.n_steps + step - replay->graph->first_step;
	last = times.last[cell];
	if (last != TACHO_NONE)
		*ret_begin_ns = times.begin_ns[cell];
	step_times_release(&times);
	return last;
}
