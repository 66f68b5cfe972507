/* selection: the ranks and steps a view is about.
 *
 * The first steps of a job are not like the others: caches are cold, buckets are rebuilt, workers
 * start. Unless asked for by number, they are left out: always the first one, and those after it
 * for as long as some rank took more than 1.5 times its median for them. All ranks leave out the
 * same steps, and at least one step is kept.
 *
 * A run without steps, or one asked for whole, is taken as it is: nothing of it is left out, and nothing is per
 * step.
 *
 * A slice belongs to the step in which it begins. */
#include "analyze/selection.h"

#include "analyze/absence.h"
#include "base/for_each.h"
#include "base/quantile.h"
#include "trace/partial_ranks.h"

#define WARM_UP_FACTOR 1.5

static const TachoStep *step_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->steps, TachoStep, index);
}

/* A rank's steps stand together in the timeline: where those end that begin at `first`. */
static guint end_of_rank(const TachoTimeline *timeline, guint first)
{
	guint last = first;

	while (last < timeline->steps->len &&
	       step_at(timeline, last)->rank_index == step_at(timeline, first)->rank_index)
		last++;
	return last;
}

static gdouble median_step_ns(const TachoTimeline *timeline, guint first, guint last)
{
	g_autoptr(GArray) durations = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint i = first; i < last; i++) {
		const TachoStep *step = step_at(timeline, i);
		gint64 duration_ns = step->end_ns - step->start_ns;

		if (step->is_complete)
			g_array_append_val(durations, duration_ns);
	}
	return quantile(durations, 0.5);
}

/* How many of a rank's first steps are warm-up. */
static gint64 count_warm_up(const TachoTimeline *timeline, guint first, guint last)
{
	gdouble limit_ns = WARM_UP_FACTOR * median_step_ns(timeline, first, last);
	gint64 n_warm_up = 1;

	for (guint i = first; i < last; i++) {
		const TachoStep *step = step_at(timeline, i);

		if (step->number < n_warm_up)
			continue;
		if (step->number > n_warm_up || !step->is_complete ||
		    (gdouble)(step->end_ns - step->start_ns) <= limit_ns)
			break;
		n_warm_up = step->number + 1;
	}
	return n_warm_up;
}

static gint64 find_warm_up(const TachoTimeline *timeline)
{
	gint64 n_warm_up = 0, last_complete = 0;
	guint last;

	for (guint first = 0; first < timeline->steps->len; first = last) {
		gint64 of_rank;

		last = end_of_rank(timeline, first);
		of_rank = count_warm_up(timeline, first, last);
		n_warm_up = MAX(n_warm_up, of_rank);
	}
	for (guint i = 0; i < timeline->steps->len; i++)
		if (step_at(timeline, i)->is_complete)
			last_complete = MAX(last_complete, step_at(timeline, i)->number);
	return MIN(n_warm_up, last_complete);
}

gboolean selection_is_by_number(const struct selection *selection)
{
	return selection->filter->first_step >= 0 || selection->filter->last_step >= 0;
}

StepState selection_step_state(const struct selection *selection, const TachoStep *step)
{
	if (!step->is_complete)
		return STEP_INCOMPLETE;
	return step->number < selection->n_warm_up ? STEP_WARM_UP : STEP_STEADY;
}

gboolean selection_takes_rank(const struct selection *selection, guint rank_index)
{
	const TachoTimeline *timeline = selection->timeline;

	if (rank_index >= timeline->ranks->len)
		return FALSE;
	return selection->filter->rank < 0 ||
	       tacho_timeline_rank(timeline, rank_index)->rank == selection->filter->rank;
}

static gboolean takes_step(const struct selection *selection, const TachoStep *step)
{
	const TachoFilter *filter = selection->filter;
	StepState state = selection_step_state(selection, step);

	if (state == STEP_INCOMPLETE || !selection_takes_rank(selection, step->rank_index))
		return FALSE;
	if (!selection_is_by_number(selection))
		return state == STEP_STEADY;
	return step->number >= filter->first_step &&
	       (filter->last_step < 0 || step->number <= filter->last_step);
}

/* Steps stand by rank and number in the timeline, so the ranks' parts are found in one pass. */
static void choose_steps(struct selection *selection)
{
	const TachoTimeline *timeline = selection->timeline;
	guint rank = 0;

	selection->chosen = g_array_new(FALSE, FALSE, sizeof(TachoStep));
	selection->first_of_rank = g_new0(guint, timeline->ranks->len + 1);
	FOR_EACH(const TachoStep, step, timeline->steps) {
		if (selection->is_whole || !takes_step(selection, step))
			continue;
		while (rank < step->rank_index)
			selection->first_of_rank[++rank] = selection->chosen->len;
		g_array_append_val(selection->chosen, *step);
		selection->total_ns += (gdouble)(step->end_ns - step->start_ns);
	}
	while (rank < timeline->ranks->len)
		selection->first_of_rank[++rank] = selection->chosen->len;
}

static const TachoProcess *main_process(const TachoTimeline *timeline, guint rank_index)
{
	guint index = tacho_timeline_rank(timeline, rank_index)->main_process;

	return &g_array_index(timeline->processes, TachoProcess, index);
}

void selection_init(struct selection *selection, const TachoTimeline *timeline,
		    const TachoFilter *filter)
{
	static const TachoFilter everything = TACHO_FILTER_INIT;

	*selection =
		(struct selection){ .timeline = timeline, .filter = filter ? filter : &everything };
	selection->n_warm_up = find_warm_up(timeline);
	selection->is_whole = timeline->steps->len == 0 || selection->filter->is_whole;
	choose_steps(selection);
	for (guint rank = 0; rank < timeline->ranks->len; rank++) {
		const TachoProcess *process = main_process(timeline, rank);

		if (!selection_takes_rank(selection, rank))
			continue;
		selection->n_ranks++;
		if (selection->is_whole)
			selection->total_ns += (gdouble)(process->end_ns - process->start_ns);
	}
}

void selection_release(struct selection *selection)
{
	g_clear_pointer(&selection->chosen, g_array_unref);
	g_clear_pointer(&selection->first_of_rank, g_free);
}

gboolean selection_takes_name(const struct selection *selection, const gchar *name)
{
	GRegex *regex = selection->filter->name;

	/* GRegex refuses what is not UTF-8; such a name matches nothing. */
	return !regex || (g_utf8_validate(name, -1, NULL) && g_regex_match(regex, name, 0, NULL));
}

gboolean selection_takes_track(const struct selection *selection, const TachoTrack *track)
{
	const TachoProcess *process = tacho_track_process(selection->timeline, track);

	return track->kind != TACHO_TRACK_COUNTER && process->is_main &&
	       selection_takes_rank(selection, process->rank_index);
}

gboolean selection_takes_time(const struct selection *selection, guint rank_index, gint64 time_ns,
			      guint *cursor)
{
	guint last = selection->first_of_rank[rank_index + 1];
	guint at = MAX(*cursor, selection->first_of_rank[rank_index]);

	if (selection->is_whole)
		return TRUE;
	while (at < last && g_array_index(selection->chosen, TachoStep, at).end_ns <= time_ns)
		at++;
	*cursor = at;
	return at < last && g_array_index(selection->chosen, TachoStep, at).start_ns <= time_ns;
}

GArray *selection_stretches(const struct selection *selection, guint rank_index)
{
	GArray *stretches = g_array_new(FALSE, FALSE, sizeof(struct interval));
	const TachoProcess *process = main_process(selection->timeline, rank_index);
	struct interval whole = { process->start_ns, process->end_ns };

	if (selection->is_whole && selection_takes_rank(selection, rank_index))
		g_array_append_val(stretches, whole);
	for (guint i = selection->first_of_rank[rank_index];
	     i < selection->first_of_rank[rank_index + 1]; i++) {
		const TachoStep *step = &g_array_index(selection->chosen, TachoStep, i);
		struct interval stretch = { step->start_ns, step->end_ns };

		g_array_append_val(stretches, stretch);
	}
	return stretches;
}

void selection_moments(const struct selection *selection, guint rank_index,
		       struct interval_set *ret_moments)
{
	g_autoptr(GArray) stretches = selection_stretches(selection, rank_index);

	interval_set_init(ret_moments);
	FOR_EACH(const struct interval, stretch, stretches)
		interval_set_add(ret_moments, stretch->begin_ns, stretch->end_ns);
	interval_set_normalize(ret_moments);
}

guint selection_n_steps(const struct selection *selection)
{
	return selection->chosen->len;
}

static void note_range(const struct selection *selection, TachoTable *table)
{
	g_autoptr(GString) note = g_string_new(NULL);
	gint64 first = G_MAXINT64, last = -1;

	FOR_EACH(const TachoStep, step, selection->chosen) {
		first = MIN(first, step->number);
		last = MAX(last, step->number);
	}
	if (first == last)
		g_string_append_printf(note, "Step %" G_GINT64_FORMAT, first);
	else
		g_string_append_printf(note, "Steps %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
				       first, last);
	if (!selection_is_by_number(selection) && selection->n_warm_up > 0)
		g_string_append_printf(note,
				       "; %" G_GINT64_FORMAT " before %s %s left out as warm-up",
				       selection->n_warm_up, first == last ? "it" : "them",
				       selection->n_warm_up == 1 ? "is" : "are");
	tacho_table_note(table, "%s.", note->str);
}

void selection_note_partial(const struct selection *selection, TachoTable *table)
{
	g_autofree gchar *sentence = partial_ranks_sentence(selection->timeline);

	if (sentence)
		tacho_table_note(table, "%s", sentence);
}

void selection_note(const struct selection *selection, TachoTable *table)
{
	if (selection->timeline->steps->len == 0) {
		g_autofree gchar *why = absence_of_steps(selection->timeline);

		tacho_table_note(table, "%s", why);
	} else if (selection->is_whole) {
		tacho_table_note(
			table, "The table shows the whole run, including the time outside steps.");
	} else if (selection->chosen->len == 0) {
		tacho_table_note(table, "No step among those asked for is complete.");
	} else {
		note_range(selection, table);
	}
	selection_note_partial(selection, table);
}

void selection_note_empty(const struct selection *selection, TachoTable *table, const gchar *things)
{
	if (tacho_table_n_rows(table))
		return;
	if (selection->filter->name)
		tacho_table_note(table, "No %s in the chosen ranks and steps match '%s'.", things,
				 g_regex_get_pattern(selection->filter->name));
	else if (selection->filter->rank >= 0 || selection_is_by_number(selection))
		tacho_table_note(table, "No %s were recorded in the ranks and steps asked for.",
				 things);
	else
		tacho_table_note(table, "No %s were recorded.", things);
}
