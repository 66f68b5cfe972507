/* step_times: when the steps of a replay begin and end. A step of a rank is the time of its main
 * thread's nodes of that step; it begins when the node before the first of them has ended. Which nodes
 * these are depends on the graph alone, so who plays one many times finds them once. */
#include "base/quantile.h"
#include "graph/rank_copies.h"
#include "replay/replay_internal.h"

gsize step_marks_cell(const struct step_marks *marks, guint32 rank, guint32 step)
{
	return (gsize)rank * marks->n_steps + step;
}

/* Of the ranks from `first_rank` on. A guest's steps count from 0. */
static void find_marks(struct step_marks *marks, const TachoGraph *graph, guint32 first_rank,
		       gboolean is_guest)
{
	g_autofree guint32 *previous = g_new(guint32, MAX(graph->lanes->len, 1u));

	for (guint32 i = 0; i < graph->lanes->len; i++)
		previous[i] = TACHO_NONE;
	for (guint32 i = 0; i < graph->n_frozen; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		const struct graph_lane *lane = graph_lane_at(graph, node->lane);
		guint32 rank = lane->rank_index - first_rank;

		if (!lane->is_main || rank >= marks->n_ranks || node->kind == TACHO_NODE_REMOVED)
			continue;
		if (node->step != TACHO_NONE) {
			gsize cell = step_marks_cell(
				marks, rank,
				is_guest ? node->step : graph_step_index(graph, node->step));

			if (marks->last[cell] == TACHO_NONE) {
				marks->before[cell] = previous[node->lane];
				marks->first[cell] = i;
			}
			marks->last[cell] = i;
		}
		previous[node->lane] = i;
	}
}

/* Empty ones. */
static void make_marks(struct step_marks *marks, guint32 n_ranks, guint32 n_steps)
{
	gsize n = MAX((gsize)n_ranks * n_steps, 1u);

	marks->n_ranks = n_ranks;
	marks->n_steps = n_steps;
	marks->before = g_new(guint32, n);
	marks->first = g_new(guint32, n);
	marks->last = g_new(guint32, n);
	for (gsize i = 0; i < n; i++)
		marks->before[i] = marks->first[i] = marks->last[i] = TACHO_NONE;
}

void step_marks_init(struct step_marks *marks, const TachoGraph *graph)
{
	make_marks(marks, graph_n_own_ranks(graph), graph->steps->len);
	marks->weights = rank_copies_weights(graph);
	find_marks(marks, graph, 0, FALSE);
}

void step_marks_init_guest(struct step_marks *marks, const TachoGraph *graph,
			   const struct graph_guest *guest)
{
	make_marks(marks, guest->n_ranks, guest->n_steps);
	marks->weights = g_new(guint32, MAX(guest->n_ranks, 1u));
	for (guint32 i = 0; i < guest->n_ranks; i++)
		marks->weights[i] = 1;
	find_marks(marks, graph, guest->first_rank, TRUE);
}

void step_marks_release(struct step_marks *marks)
{
	g_clear_pointer(&marks->before, g_free);
	g_clear_pointer(&marks->first, g_free);
	g_clear_pointer(&marks->last, g_free);
	g_clear_pointer(&marks->weights, g_free);
}

static gint64 end_of(const gint64 *end_ns, guint32 node)
{
	return node == TACHO_NONE ? 0 : end_ns[node];
}

gint64 step_marks_mean_ns(const struct step_marks *marks, const gint64 *end_ns, guint32 step)
{
	gint64 sum_ns = 0;
	guint32 n_ranks = 0;

	for (guint32 rank = 0; rank < marks->n_ranks; rank++) {
		gsize cell = step_marks_cell(marks, rank, step);

		if (marks->last[cell] == TACHO_NONE)
			continue; /* an edit took the rank away */
		sum_ns += (end_ns[marks->last[cell]] - end_of(end_ns, marks->before[cell])) *
			  marks->weights[rank];
		n_ranks += marks->weights[rank];
	}
	return sum_ns / MAX(n_ranks, 1u);
}

GArray *replay_step_times(const TachoReplay *replay)
{
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(gint64));
	struct step_marks marks;

	step_marks_init(&marks, replay->graph);
	for (guint32 step = 0; step < marks.n_steps; step++) {
		gint64 mean_ns = step_marks_mean_ns(&marks, replay->end_ns, step);

		g_array_append_val(steps, mean_ns);
	}
	step_marks_release(&marks);
	return steps;
}

gdouble replay_median_step_ns(const TachoReplay *replay)
{
	g_autoptr(GArray) steps = replay_step_times(replay);

	return quantile(steps, 0.5);
}

guint32 replay_step_end(const TachoReplay *replay, guint32 rank_index, guint32 step,
			gint64 *ret_begin_ns)
{
	struct step_marks marks;
	gsize cell;
	guint32 last;

	step_marks_init(&marks, replay->graph);
	cell = step_marks_cell(&marks, rank_index, graph_step_index(replay->graph, step));
	last = marks.last[cell];
	if (last != TACHO_NONE)
		*ret_begin_ns = end_of(replay->end_ns, marks.before[cell]);
	step_marks_release(&marks);
	return last;
}
