/* A thread's own records tell exactly when it was in an operation or in a data loader, samples tell roughly in which line
 * that was. So the moments of both are laid over each other:
 *
 *     samples          | line 12 ......... | line 13 ... | line 12
 *     operations       |    ====  === =====|==           |
 *     data loader      |                   |      ===    |
 *
 * Three sets of moments are measured for each stretch: the chosen steps, these without operations, and these without
 * operations and data loading; the differences are the uses. */
#include "analyze/sampled_time.h"

#include "base/for_each.h"
#include "trace/data_loading.h"
#include "trace/run_share.h"
#include "trace/slice_columns.h"

struct sampled_walk {
	const struct selection *selection;
	guint32 rank_index;
	gboolean counts_waiting;
	struct interval_set chosen, outside_ops, left;
	guint step; /* index among the chosen: no stretch to come lies in one before */
	SampledVisit visit;
	gpointer data;
};

guint32 sampled_track_of(const TachoTimeline *timeline, const TachoTrack *track)
{
	FOR_EACH_AT(const TachoTrack, other, i, timeline->tracks)
		if (other->kind == TACHO_TRACK_SAMPLED && other->process == track->process &&
		    other->tid == track->tid)
			return i;
	return TACHO_NONE;
}

static guint32 function_of(const TachoTimeline *timeline, guint32 slice)
{
	while (slice != TACHO_NONE && timeline->slices.kind[slice] != TACHO_SLICE_FUNCTION)
		slice = timeline->slices.parent[slice];
	return slice;
}

guint32 sampled_function_at(const TachoTimeline *timeline, guint32 track, gint64 time_ns)
{
	const TachoTrack *row = tacho_timeline_track(timeline, track);

	return function_of(timeline, slice_columns_find_open(&timeline->slices, row->first_slice,
							     row->n_slices, time_ns));
}

static void add_moments(const TachoTimeline *timeline, const TachoTrack *track,
			struct interval_set *ops, struct interval_set *loading)
{
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gint64 start_ns = timeline->slices.start_ns[i];
		gint64 end_ns = tacho_slice_end_ns(timeline, i);

		if (timeline->slices.kind[i] == TACHO_SLICE_OP)
			interval_set_add(ops, start_ns, end_ns);
		else if (data_loading_of(timeline, i) != DATA_LOADING_NONE)
			interval_set_add(loading, start_ns, end_ns);
	}
}

static void init_moments(struct sampled_walk *walk, const TachoTrack *sampled)
{
	const TachoTimeline *timeline = walk->selection->timeline;
	struct interval_set ops, loading;

	interval_set_init(&ops);
	interval_set_init(&loading);
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (track->kind == TACHO_TRACK_THREAD && track->process == sampled->process &&
		    track->tid == sampled->tid)
			add_moments(timeline, track, &ops, &loading);
	interval_set_normalize(&ops);
	interval_set_normalize(&loading);
	selection_moments(walk->selection, walk->rank_index, &walk->chosen);
	selection_moments(walk->selection, walk->rank_index, &walk->outside_ops);
	selection_moments(walk->selection, walk->rank_index, &walk->left);
	interval_set_subtract(&walk->outside_ops, &ops);
	interval_set_subtract(&walk->left, &ops);
	interval_set_subtract(&walk->left, &loading);
	interval_set_release(&ops);
	interval_set_release(&loading);
}

static guint find_step(struct sampled_walk *walk, gint64 begin_ns)
{
	const struct selection *selection = walk->selection;
	guint end = selection->first_of_rank[walk->rank_index + 1];

	if (!selection_n_steps(selection))
		return walk->rank_index;
	while (walk->step + 1 < end &&
	       g_array_index(selection->chosen, TachoStep, walk->step).end_ns <= begin_ns)
		walk->step++;
	return walk->step;
}

static void add_stretch(struct sampled_walk *walk, guint32 slice, gint64 begin_ns, gint64 end_ns)
{
	const TachoTimeline *timeline = walk->selection->timeline;
	gboolean is_waiting = timeline->slices.kind[slice] == TACHO_SLICE_WAIT;
	gint64 chosen_ns = interval_set_measure(&walk->chosen, begin_ns, end_ns);
	gint64 outside_ns = interval_set_measure(&walk->outside_ops, begin_ns, end_ns);
	gint64 left_ns = interval_set_measure(&walk->left, begin_ns, end_ns);
	struct sampled_stretch stretch = { .slice = function_of(timeline, slice) };

	if (chosen_ns <= 0 || stretch.slice == TACHO_NONE)
		return;
	stretch.step = find_step(walk, begin_ns);
	stretch.ns[SAMPLED_OPERATION] = chosen_ns - outside_ns;
	stretch.ns[SAMPLED_LOADING] = outside_ns - left_ns;
	if (!is_waiting)
		stretch.ns[SAMPLED_PYTHON] = left_ns;
	else if (walk->counts_waiting)
		stretch.ns[SAMPLED_WAITING] = left_ns;
	walk->visit(&stretch, walk->data);
}

/* Each moment is the innermost slice's. */
static void walk_track(struct sampled_walk *walk, const TachoTrack *track)
{
	const TachoTimeline *timeline = walk->selection->timeline;
	const TachoSlices *slices = &timeline->slices;
	guint32 open = TACHO_NONE, end = track->first_slice + track->n_slices;
	gint64 at_ns = 0;

	for (guint32 i = track->first_slice; i <= end; i++) {
		gint64 start_ns = i < end ? slices->start_ns[i] : TACHO_MAX_TIME_NS;

		while (open != TACHO_NONE && tacho_slice_end_ns(timeline, open) <= start_ns) {
			add_stretch(walk, open, at_ns, tacho_slice_end_ns(timeline, open));
			at_ns = tacho_slice_end_ns(timeline, open);
			open = slices->parent[open];
		}
		if (i == end)
			break;
		if (open != TACHO_NONE)
			add_stretch(walk, open, at_ns, start_ns);
		at_ns = start_ns;
		open = i;
	}
}

void visit_sampled(const struct selection *selection, SampledVisit visit, gpointer data)
{
	const TachoTimeline *timeline = selection->timeline;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		const TachoProcess *process = tacho_track_process(timeline, track);
		struct sampled_walk walk = { .selection = selection,
					     .rank_index = process->rank_index,
					     .counts_waiting = track->tid == process->pid,
					     .visit = visit,
					     .data = data };

		if (track->kind != TACHO_TRACK_SAMPLED ||
		    !selection_takes_track(selection, track) ||
		    !run_share_owns(timeline, track->process))
			continue;
		walk.step = selection->first_of_rank[process->rank_index];
		init_moments(&walk, track);
		walk_track(&walk, track);
		interval_set_release(&walk.chosen);
		interval_set_release(&walk.outside_ops);
		interval_set_release(&walk.left);
	}
}
