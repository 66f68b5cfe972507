/* passed_steps: steps that are counted and not read.
 *
 * (1) Steps are counted by the regions that say that the model was updated, so many a step, the last of which ends it. That this
 *     is so is not assumed: in each window that is read it is held against the steps that were found there, and is gone by
 *     only as long as it agrees.
 * (2) All ranks pass over the same steps: what they do together in those that are read is there on all of them. */
#include "base/for_each.h"
#include "correlate/step_window.h"

#define LEAST_AGREED 2 /* windows in a row */

static void clear_trace(gpointer trace)
{
	g_free(((struct rank_trace *)trace)->path);
}

GArray *rank_traces_new(void)
{
	GArray *traces = g_array_new(FALSE, FALSE, sizeof(struct rank_trace));

	g_array_set_clear_func(traces, clear_trace);
	return traces;
}

static void note_traces(StepWindow *steps, const TachoTimeline *timeline)
{
	g_array_set_size(steps->traces, 0);
	FOR_EACH_AT(const TachoProcess, process, i, timeline->processes) {
		const TachoRank *rank = process->rank_index < timeline->ranks->len
						? tacho_timeline_rank(timeline, process->rank_index)
						: NULL;
		struct rank_trace trace;

		if (!process->path || !rank)
			continue;
		trace = (struct rank_trace){ .path = g_strdup(process->path),
					     .rank = rank->rank,
					     .is_main = rank->main_process == i };
		g_array_append_val(steps->traces, trace);
	}
}

/* When updates of the rank ended, later than `after_unix_ns` and no later than `until_unix_ns`; NULL: it is not known. */
static GArray *list_updates(const StepWindow *steps, const RunWindow *window, gint32 rank,
			    gint64 after_unix_ns, gint64 until_unix_ns)
{
	GArray *ends = NULL;
	guint n = 0;

	FOR_EACH(const struct rank_trace, trace, steps->traces)
		if (trace->rank == rank && trace->is_main && !ends)
			ends = run_window_list_updates(window, trace->path);
	if (!ends)
		return NULL;
	FOR_EACH(const gint64, end_unix_ns, ends)
		if (*end_unix_ns > after_unix_ns && *end_unix_ns <= until_unix_ns)
			g_array_index(ends, gint64, n++) = *end_unix_ns;
	g_array_set_size(ends, n);
	return ends;
}

/* Whether each of the rank's steps in the timeline ends with the last of its `n_each` updates, and has so many. */
static gboolean agrees(const TachoTimeline *timeline, guint32 rank_index, const GArray *ends,
		       guint n_each)
{
	guint n = 0;

	FOR_EACH(const TachoStep, step, timeline->steps) {
		if (step->rank_index != rank_index)
			continue;
		n += n_each;
		if (n > ends->len || !step->is_complete ||
		    g_array_index(ends, gint64, n - 1) != step->end_ns + timeline->origin_unix_ns)
			return FALSE;
	}
	return n == ends->len;
}

static void learn_of_rank(StepWindow *steps, const RunWindow *window, const TachoTimeline *timeline,
			  guint32 rank_index)
{
	const struct window_steps *found =
		&g_array_index(steps->found, struct window_steps, rank_index);
	struct rank_history *history = step_window_history(steps, found->rank);
	g_autoptr(GArray) ends = NULL;
	guint n_each;

	if (!found->n_steps)
		return;
	ends = list_updates(steps, window, found->rank,
			    history->n_steps ? history->last_end_unix_ns : G_MININT64,
			    found->last_end_ns + timeline->origin_unix_ns);
	n_each = ends ? ends->len / found->n_steps : 0;
	if (!n_each || found->source != TACHO_STEPS_OPTIMIZER ||
	    !agrees(timeline, rank_index, ends, n_each)) {
		history->n_agreed = 0;
		return;
	}
	history->n_agreed = n_each == history->n_regions ? history->n_agreed + 1 : 1;
	history->n_regions = n_each;
}

void step_window_learn(StepWindow *steps, const RunWindow *window, const TachoTimeline *timeline)
{
	note_traces(steps, timeline);
	for (guint32 i = 0; i < steps->found->len; i++)
		learn_of_rank(steps, window, timeline, i);
}

/* How many steps of each rank are over on all, and all of them is known; `ends`: of each, its updates. */
static guint count_common(StepWindow *steps, const RunWindow *window, GPtrArray *ends)
{
	const struct rank_history *first = (gconstpointer)steps->ranks->data;
	guint n_common = G_MAXUINT;

	FOR_EACH(const struct rank_history, history, steps->ranks) {
		GArray *updates;

		if (history->n_agreed < LEAST_AGREED ||
		    history->n_steps + history->shift != first->n_steps + first->shift)
			return 0;
		updates = list_updates(steps, window, history->rank, history->last_end_unix_ns,
				       run_window_complete_ns(window));
		if (!updates)
			return 0;
		g_ptr_array_add(ends, updates);
		n_common = MIN(n_common, updates->len / history->n_regions);
	}
	return steps->ranks->len ? n_common : 0;
}

static void pass_of_rank(StepWindow *steps, RunWindow *window, struct rank_history *history,
			 gint64 end_unix_ns, guint n)
{
	history->n_steps += n;
	history->n_updates += (guint64)n * history->cycle;
	history->last_end_unix_ns = end_unix_ns;
	FOR_EACH(const struct rank_trace, trace, steps->traces)
		if (trace->rank == history->rank)
			run_window_cut(window, trace->path, end_unix_ns);
}

guint step_window_pass(StepWindow *steps, RunWindow *window, guint64 max_bytes, guint n_least)
{
	g_autoptr(GPtrArray) ends = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	guint64 bytes = run_window_bytes(window);
	guint n_common = bytes > max_bytes ? count_common(steps, window, ends) : 0;
	guint n_kept;

	if (!n_common)
		return 0;
	/* the last of them may be told later, when more is known of what its devices did */
	n_kept = (guint)MAX((gdouble)n_common * (gdouble)max_bytes / (gdouble)bytes, n_least) + 1;
	if (n_kept >= n_common)
		return 0;
	g_hash_table_remove_all(steps->transfers);
	for (guint i = 0; i < steps->ranks->len; i++) {
		struct rank_history *history = &g_array_index(steps->ranks, struct rank_history, i);
		const GArray *updates = g_ptr_array_index(ends, i);
		guint n = (n_common - n_kept) * history->n_regions;

		pass_of_rank(steps, window, history, g_array_index(updates, gint64, n - 1),
			     n_common - n_kept);
	}
	return n_common - n_kept;
}
