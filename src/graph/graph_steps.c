/* graph_steps: which steps are replayed, and when each rank was in them.
 *
 * A step can be replayed where every rank completed it. Taken is the longest run of such steps without a hole; control
 * steps (of which nothing is recorded) are no hole. A trace of devices that has no steps at all is taken as one. */
#include "base/for_each.h"
#include "base/partition_point.h"
#include "correlate/numbered_steps.h"
#include "graph/graph_builder.h"

/* --- which ---------------------------------------------------------------------------------- */

/* The steps from the `i`th on that all ranks completed, up to a hole that is not of control steps, or a
 * step that began before the one numbered before it: a run goes on in time. Returns where to look on. */
static guint take_run(GArray *run, const struct graph_builder *builder, const GArray *steps,
		      guint i, gint64 last)
{
	guint first = i;

	g_array_set_size(run, 0);
	for (; i < steps->len; i++) {
		const struct numbered_step *step = numbered_step_at(steps, i);

		if ((last >= 0 && step->number > last) ||
		    (i > first &&
		     (step->number != step[-1].number + 1 || step->start_ns < step[-1].start_ns)))
			return i;
		if (step->n_recorded == builder->n_ranks)
			g_array_append_val(run, step->number);
		else if (step->n_control != builder->n_ranks)
			return i + 1;
	}
	return i;
}

static gboolean has_step(const TachoTimeline *timeline, gint64 number)
{
	for (guint i = 0; i < timeline->steps->len; i++)
		if (g_array_index(timeline->steps, TachoStep, i).number == number)
			return TRUE;
	return FALSE;
}

/* `steps` are those that some rank completed. */
static void refuse_steps(const struct graph_builder *builder, const GArray *steps, gint64 first,
			 gint64 last, GError **error)
{
	g_autofree gchar *seen = NULL;

	if (steps->len == 0)
		seen = g_strdup("no step was found");
	else if (steps->len == 1)
		seen = g_strdup_printf("the recording has step %u",
				       numbered_step_at(steps, 0)->number);
	else
		seen = g_strdup_printf("the recording has steps %u to %u",
				       numbered_step_at(steps, 0)->number,
				       numbered_step_at(steps, steps->len - 1)->number);
	if (first >= 0 && first == last && !has_step(builder->timeline, first))
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "there is no step %" G_GINT64_FORMAT ": %s", first, seen);
	else if (first >= 0 && first == last)
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "not every rank completed step %" G_GINT64_FORMAT
			    "; choose another one with --step",
			    first);
	else
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "there is no step that all %u ranks completed: %s", builder->n_ranks,
			    seen);
}

/* The longest run of steps in the range that all ranks completed. */
static gboolean choose_steps(struct graph_builder *builder, gint64 first, gint64 last,
			     GError **error)
{
	g_autoptr(GArray) steps = numbered_steps(builder->timeline);
	g_autoptr(GArray) run = g_array_new(FALSE, FALSE, sizeof(guint32));
	GArray *best = builder->graph->steps;
	guint i = 0;

	while (i < steps->len && numbered_step_at(steps, i)->number < first)
		i++;
	while (i < steps->len && (last < 0 || numbered_step_at(steps, i)->number <= last)) {
		i = take_run(run, builder, steps, i, last);
		if (run->len <= best->len)
			continue;
		g_array_set_size(best, 0);
		g_array_append_vals(best, run->data, run->len);
	}
	if (best->len == 0)
		refuse_steps(builder, steps, first, last, error);
	return best->len > 0;
}

/* The first rank that did not complete the step. */
static gint32 find_lacking(const struct graph_builder *builder, guint32 number)
{
	const TachoTimeline *timeline = builder->timeline;
	g_autofree guint8 *has_it = g_new0(guint8, builder->n_ranks);
	guint32 rank = 0;

	FOR_EACH(const TachoStep, step, timeline->steps)
		if (step->number == number && step->is_complete)
			has_it[step->rank_index] = 1;
	while (rank + 1 < builder->n_ranks && has_it[rank])
		rank++;
	return tacho_timeline_rank(timeline, rank)->rank;
}

/* Why a step that was seen is not among those replayed: a rank had died by then, or its file was cut off. */
static void note_left_out(const struct graph_builder *builder, gint64 first, gint64 last)
{
	g_autoptr(GArray) steps = numbered_steps(builder->timeline);
	guint32 n_left_out = 0, number = 0;

	FOR_EACH(const struct numbered_step, step, steps) {
		if (step->number < first || (last >= 0 && step->number > last) ||
		    step->n_recorded == 0 || step->n_control > 0 ||
		    step->n_recorded >= builder->n_ranks)
			continue;
		if (n_left_out++ == 0)
			number = step->number;
	}
	if (n_left_out > 0)
		graph_note(builder->graph,
			   "%u steps are left out because only some ranks completed them; rank %d "
			   "did not complete step %u",
			   n_left_out, find_lacking(builder, number), number);
}

/* --- when ----------------------------------------------------------------------------------- */

static void set_windows(struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;

	FOR_EACH(const TachoStep, step, timeline->steps) {
		struct build_window *window = &builder->windows[step->rank_index];

		if (!step->is_complete ||
		    graph_step_index(builder->graph, step->number) == TACHO_NONE)
			continue;
		if (window->steps->len == 0)
			window->from_ns = step->start_ns;
		window->to_ns = step->end_ns;
		g_array_append_val(window->steps, *step);
	}
}

/* A trace of devices without steps, say of a server: all of it is taken as one. */
static gboolean is_one_step(const struct graph_builder *builder, gint64 first, gint64 last)
{
	const TachoTimeline *timeline = builder->timeline;

	if (first >= 0 || last >= 0 || timeline->steps->len > 0)
		return FALSE;
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (builder->launches[i])
			return TRUE;
	return FALSE;
}

static void widen_window(struct build_window *window, const TachoTimeline *timeline,
			 const TachoTrack *track, gboolean is_main)
{
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		window->from_ns = MIN(window->from_ns, timeline->slices.start_ns[i]);
		if (is_main)
			window->to_ns = MAX(window->to_ns, tacho_slice_end_ns(timeline, i));
	}
}

/* From the first event of a rank's threads to the last of its main one: what comes after that on other
 * threads nobody waits for. */
static void set_whole_window(struct graph_builder *builder, guint32 rank_index)
{
	const TachoTimeline *timeline = builder->timeline;
	struct build_window *window = &builder->windows[rank_index];
	guint32 process = tacho_timeline_rank(timeline, rank_index)->main_process;
	guint32 main_track = builder_main_track(timeline, process);
	TachoStep step = { .rank_index = rank_index, .is_complete = TRUE };

	window->from_ns = G_MAXINT64;
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks)
		if (track->process == process && track->kind == TACHO_TRACK_THREAD)
			widen_window(window, timeline, track, i == main_track);
	window->from_ns = MIN(window->from_ns, window->to_ns);
	step.start_ns = window->from_ns;
	step.end_ns = window->to_ns;
	g_array_append_val(window->steps, step);
	builder->graph->whole_ns += (window->to_ns - window->from_ns) / builder->n_ranks;
}

gboolean builder_choose_steps(struct graph_builder *builder, gint64 first, gint64 last,
			      GError **error)
{
	builder->graph->origin_ns = G_MAXINT64;
	if (is_one_step(builder, first, last)) {
		g_array_set_size(builder->graph->steps, 1); /* number 0 */
		for (guint32 i = 0; i < builder->n_ranks; i++)
			set_whole_window(builder, i);
		graph_note(builder->graph, "the recording has no training steps, so everything "
					   "recorded is played as one step");
	} else if (choose_steps(builder, first, last, error)) {
		set_windows(builder);
		note_left_out(builder, first, last);
	} else {
		return FALSE;
	}
	for (guint32 i = 0; i < builder->n_ranks; i++)
		builder->graph->origin_ns =
			MIN(builder->graph->origin_ns, builder->windows[i].from_ns);
	return TRUE;
}

guint32 builder_step_at(const struct graph_builder *builder, guint32 rank_index, gint64 time_ns)
{
	const GArray *steps = builder->windows[rank_index].steps;
	guint n = ROWS_BEFORE(steps, TachoStep, row, row->end_ns <= time_ns);

	if (n == steps->len || g_array_index(steps, TachoStep, n).start_ns > time_ns)
		return TACHO_NONE;
	return g_array_index(steps, TachoStep, n).number;
}
