/* graph_replay: what the launch of a graph does again of what was captured.
 *
 * The device time of a graph's work is not that of the call that launched it: it belongs to the operations
 * that were captured, once a launch. It counts for the step in which the graph was launched, so a graph that
 * was captured in the warm-up is seen in all steps. Work of one operation that follows in the order of nodes
 * is one replay of it. */
#include "analyze/graph_replay.h"

#include "analyze/device_work.h"
#include "analyze/op_flops.h"
#include "base/order.h"

static gint compare_rows(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoTimeline *timeline = data;
	const TachoGraphWork *x = *(const TachoGraphWork *const *)a;
	const TachoGraphWork *y = *(const TachoGraphWork *const *)b;
	guint32 left = timeline->slices.launch[x->slice], right = timeline->slices.launch[y->slice];

	return ORDER(left, right) ?: ORDER(x->number, y->number) ?: ORDER(x->slice, y->slice);
}

/* By launch and node. Borrowed rows. */
static GPtrArray *ordered_rows(const TachoTimeline *timeline)
{
	GPtrArray *rows = g_ptr_array_sized_new(timeline->graph_work->len);

	for (guint i = 0; i < timeline->graph_work->len; i++)
		g_ptr_array_add(rows, &g_array_index(timeline->graph_work, TachoGraphWork, i));
	g_ptr_array_sort_with_data(rows, compare_rows, (gpointer)timeline);
	return rows;
}

static struct graph_replay begin_replay(const TachoTimeline *timeline, const TachoGraphWork *row)
{
	return (struct graph_replay){ .op = innermost_op(timeline, row->capture),
				      .capture = row->capture,
				      .work = row->slice,
				      .launch = timeline->slices.launch[row->slice] };
}

static gboolean continues(const TachoTimeline *timeline, const struct graph_replay *replay,
			  const TachoGraphWork *row)
{
	return replay->op != TACHO_NONE && timeline->slices.launch[row->slice] == replay->launch &&
	       innermost_op(timeline, row->capture) == replay->op;
}

/* Where the walk is: launches of a track come in the order of time. */
struct walk {
	const struct selection *selection;
	guint32 track;
	guint cursor;
};

/* Whether its launch is in a chosen step. */
static gboolean is_chosen(struct walk *walk, struct graph_replay *replay)
{
	const TachoTimeline *timeline = walk->selection->timeline;
	guint32 at = replay->launch != TACHO_NONE ? replay->launch : replay->work;
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[at]);
	guint rank_index;

	if (!selection_takes_track(walk->selection, track))
		return FALSE;
	rank_index = tacho_track_process(timeline, track)->rank_index;
	if (walk->track != timeline->slices.track[at] || replay->launch == TACHO_NONE)
		walk->cursor = 0;
	walk->track = timeline->slices.track[at];
	if (!selection_takes_time(walk->selection, rank_index, timeline->slices.start_ns[at],
				  &walk->cursor))
		return FALSE;
	replay->step = selection_n_steps(walk->selection) ? walk->cursor : rank_index;
	return TRUE;
}

void visit_replays(const struct selection *selection, ReplayVisit visit, gpointer data)
{
	const TachoTimeline *timeline = selection->timeline;
	struct walk walk = { .selection = selection, .track = TACHO_NONE };
	g_autoptr(GPtrArray) rows = NULL;

	if (timeline->graph_work->len == 0)
		return;
	rows = ordered_rows(timeline);
	for (guint i = 0; i < rows->len;) {
		struct graph_replay replay = begin_replay(timeline, g_ptr_array_index(rows, i));

		do {
			const TachoGraphWork *row = g_ptr_array_index(rows, i++);

			replay.n_work++;
			replay.device_ns += (gdouble)timeline->slices.duration_ns[row->slice];
		} while (i < rows->len && continues(timeline, &replay, g_ptr_array_index(rows, i)));
		if (is_chosen(&walk, &replay))
			visit(&replay, data);
	}
}

guint32 graph_replay_name(const TachoTimeline *timeline, const struct graph_replay *replay)
{
	return replay->op != TACHO_NONE ? tacho_slice_type(timeline, replay->op)
					: timeline->slices.name[replay->work];
}

gdouble graph_replay_flops(const TachoTimeline *timeline, const struct graph_replay *replay)
{
	return replay->op != TACHO_NONE ? op_flops(timeline, replay->op) : -1;
}

guint64 count_graph_work(const TachoTimeline *timeline, guint64 *ret_uncaptured)
{
	*ret_uncaptured = 0;
	for (guint i = 0; i < timeline->graph_work->len; i++)
		*ret_uncaptured += g_array_index(timeline->graph_work, TachoGraphWork, i).capture ==
				   TACHO_NONE;
	return timeline->graph_work->len;
}
