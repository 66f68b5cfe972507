/* outside_steps: what ranks do before, between and after their steps.
 *
 * Views take slices by the step in which they begin, so that is how they are told apart here, too. Steps that are
 * left out for another reason (warm-up, incomplete) count as steps: --steps reaches the former, and the step view
 * lists both. */
#include "analyze/outside_steps.h"

#include "analyze/device_work.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "trace/run_share.h"

#define NOTED_SHARE 0.01

/* Steps of a rank, which stand together and in order. */
struct step_walk {
	const TachoTimeline *timeline;
	guint at, end;
};

/* The first step of each rank, and one more; the caller's. */
static guint *find_first_steps(const TachoTimeline *timeline)
{
	guint *first = g_new0(guint, timeline->ranks->len + 1);
	guint rank = 0;

	for (guint i = 0; i < timeline->steps->len; i++)
		while (rank < g_array_index(timeline->steps, TachoStep, i).rank_index)
			first[++rank] = i;
	while (rank < timeline->ranks->len)
		first[++rank] = timeline->steps->len;
	return first;
}

/* Times must not go back from call to call. */
static gboolean is_outside(struct step_walk *walk, gint64 time_ns)
{
	const GArray *steps = walk->timeline->steps;

	while (walk->at < walk->end && g_array_index(steps, TachoStep, walk->at).end_ns <= time_ns)
		walk->at++;
	return walk->at == walk->end ||
	       g_array_index(steps, TachoStep, walk->at).start_ns > time_ns;
}

static void add_slice(struct outside_steps *sums, const TachoTimeline *timeline, guint32 slice,
		      struct step_walk *walk)
{
	gdouble duration_ns = (gdouble)timeline->slices.duration_ns[slice];

	sums->total_ns += duration_ns;
	if (is_outside(walk, timeline->slices.start_ns[slice]))
		sums->outside_ns += duration_ns;
}

static void add_stream(struct outside_steps *sums, const TachoTimeline *timeline,
		       const TachoTrack *track, struct step_walk *walk)
{
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
		if (is_device_work(timeline, i))
			add_slice(sums, timeline, i, walk);
}

static void add_thread(struct outside_steps *sums, const TachoTimeline *timeline,
		       const TachoTrack *track, struct step_walk *walk)
{
	gint64 end_ns = G_MININT64; /* of the outermost operation */

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		if (timeline->slices.kind[i] != TACHO_SLICE_OP ||
		    timeline->slices.start_ns[i] < end_ns)
			continue;
		add_slice(sums, timeline, i, walk);
		end_ns = tacho_slice_end_ns(timeline, i);
	}
}

static void add_tracks(struct outside_steps *sums, const struct selection *selection,
		       gboolean of_devices)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autofree guint *first_steps = find_first_steps(timeline);

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint rank = tacho_track_process(timeline, track)->rank_index;
		struct step_walk walk = { .timeline = timeline };

		if (!selection_takes_track(selection, track) ||
		    !run_share_owns(timeline, track->process))
			continue;
		walk.at = first_steps[rank];
		walk.end = first_steps[rank + 1];
		if (of_devices && track->kind == TACHO_TRACK_STREAM)
			add_stream(&sums[rank], timeline, track, &walk);
		else if (!of_devices && track->kind == TACHO_TRACK_THREAD && !sums[rank].is_device)
			add_thread(&sums[rank], timeline, track, &walk);
	}
}

/* Of each rank, what its owner has found. */
static void share_sums(struct outside_steps *sums, const TachoTimeline *timeline, guint n_ranks)
{
	g_autofree gdouble *numbers = NULL;

	if (!timeline->share)
		return;
	numbers = g_new0(gdouble, 3 * (gsize)n_ranks + 1);
	for (guint i = 0; i < n_ranks; i++) {
		numbers[3 * i] = sums[i].total_ns;
		numbers[3 * i + 1] = sums[i].outside_ns;
		numbers[3 * i + 2] = sums[i].is_device;
	}
	run_share_sum_reals(timeline, "times outside steps", numbers, 3 * n_ranks);
	for (guint i = 0; i < n_ranks; i++) {
		sums[i].total_ns = numbers[3 * i];
		sums[i].outside_ns = numbers[3 * i + 1];
		sums[i].is_device = numbers[3 * i + 2] > 0;
	}
}

struct outside_steps *outside_steps_measure(const struct selection *selection)
{
	guint n_ranks = selection->timeline->ranks->len;
	struct outside_steps *sums = g_new0(struct outside_steps, MAX(n_ranks, 1u));

	add_tracks(sums, selection, TRUE);
	for (guint i = 0; i < n_ranks; i++)
		sums[i].is_device = sums[i].total_ns > 0;
	add_tracks(sums, selection, FALSE);
	share_sums(sums, selection->timeline, n_ranks);
	return sums;
}

void outside_steps_moments(const TachoTimeline *timeline, guint rank_index,
			   struct interval_set *ret_moments)
{
	guint main_process = tacho_timeline_rank(timeline, rank_index)->main_process;
	const TachoProcess *process = tacho_timeline_process(timeline, main_process);
	struct interval_set steps;

	interval_set_init(&steps);
	FOR_EACH(const TachoStep, step, timeline->steps)
		if (step->rank_index == rank_index)
			interval_set_add(&steps, step->start_ns, step->end_ns);
	interval_set_normalize(&steps);
	interval_set_init(ret_moments);
	interval_set_add(ret_moments, process->start_ns, process->end_ns);
	interval_set_normalize(ret_moments);
	interval_set_subtract(ret_moments, &steps);
	interval_set_release(&steps);
}

static gdouble share_of(const struct outside_steps *sums)
{
	return sums->total_ns > 0 ? sums->outside_ns / sums->total_ns : 0;
}

/* All ranks together; of ranks with devices only those, where there are such. */
static struct outside_steps sum_up(const struct outside_steps *sums, guint n, guint *ret_largest)
{
	struct outside_steps all = { 0 };

	*ret_largest = 0;
	for (guint i = 0; i < n; i++)
		all.is_device |= sums[i].is_device;
	for (guint i = 0; i < n; i++) {
		if (sums[i].is_device != all.is_device)
			continue;
		all.outside_ns += sums[i].outside_ns;
		all.total_ns += sums[i].total_ns;
		if (share_of(&sums[i]) > share_of(&sums[*ret_largest]))
			*ret_largest = i;
	}
	return all;
}

void outside_steps_note(const struct selection *selection, TachoTable *table)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autofree struct outside_steps *sums = NULL;
	g_autoptr(GString) note = NULL;
	struct outside_steps all;
	guint largest;

	if (selection->is_whole || selection_is_by_number(selection))
		return;
	sums = outside_steps_measure(selection);
	all = sum_up(sums, timeline->ranks->len, &largest);
	if (share_of(&sums[largest]) <= NOTED_SHARE)
		return;
	note = g_string_new(NULL);
	g_string_append_printf(
		note, "%.1f %% of the %s (%.3f ms) begins outside the steps", 100 * share_of(&all),
		all.is_device ? "devices' work" : "operations' time", MS(all.outside_ns));
	if (selection->n_ranks > 1)
		g_string_append_printf(note, " (%.1f %% on rank %d)",
				       100 * share_of(&sums[largest]),
				       tacho_timeline_rank(timeline, largest)->rank);
	tacho_table_note(table, "%s; '--steps all' includes it.", note->str);
}
