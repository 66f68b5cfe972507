#include "correlate/step_window.h"

#include "base/for_each.h"
#include "correlate/correlate_internal.h"
#include "correlate/graph_capture.h"
#include "correlate/point_to_point.h"
#include "correlate/step_update.h"

#define FIRST_LEAST  8 /* updates of a rank: StepWindow's n_least, unless that was too few */
#define MAX_RESTARTS 8 /* then what was found stays */

static void clear_history(gpointer history)
{
	g_array_unref(((struct rank_history *)history)->updates);
}

static void clear_found(gpointer found)
{
	g_clear_pointer(&((struct window_steps *)found)->updates, g_array_unref);
}

static void clear_cut(gpointer cut)
{
	g_free(((struct window_cut *)cut)->path);
}

StepWindow *step_window_new(void)
{
	StepWindow *steps = g_new0(StepWindow, 1);

	steps->ranks = g_array_new(FALSE, TRUE, sizeof(struct rank_history));
	g_array_set_clear_func(steps->ranks, clear_history);
	steps->transfers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	steps->ends = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	steps->from_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	steps->to_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	steps->found = g_array_new(FALSE, TRUE, sizeof(struct window_steps));
	g_array_set_clear_func(steps->found, clear_found);
	steps->cuts = g_array_new(FALSE, FALSE, sizeof(struct window_cut));
	g_array_set_clear_func(steps->cuts, clear_cut);
	steps->traces = rank_traces_new();
	steps->least = G_MAXINT64;
	steps->n_least = FIRST_LEAST;
	return steps;
}

void step_window_free(StepWindow *steps)
{
	if (!steps)
		return;
	g_array_unref(steps->ranks);
	g_hash_table_unref(steps->transfers);
	g_hash_table_unref(steps->ends);
	g_array_unref(steps->from_ns);
	g_array_unref(steps->to_ns);
	g_array_unref(steps->found);
	g_array_unref(steps->cuts);
	g_array_unref(steps->traces);
	g_free(steps);
}

struct rank_history *step_window_history(StepWindow *steps, gint32 rank)
{
	struct rank_history history = { .rank = rank };

	FOR_EACH(struct rank_history, known, steps->ranks)
		if (known->rank == rank)
			return known;
	history.updates = g_array_new(FALSE, FALSE, sizeof(struct update));
	g_array_append_val(steps->ranks, history);
	return &g_array_index(steps->ranks, struct rank_history, steps->ranks->len - 1);
}

void step_window_tell(StepWindow *steps, gint32 rank, TachoStepSource source)
{
	struct rank_history *history = step_window_history(steps, rank);

	if (source == TACHO_STEPS_NONE)
		return;
	history->told = (guint8)(history->told ? MIN(history->told, source) : source);
	steps->source = (guint8)(steps->source ? MIN(steps->source, source) : source);
}

gboolean step_window_is_changed(const StepWindow *steps)
{
	return steps->is_changed && steps->n_restarts < MAX_RESTARTS;
}

void step_window_restart(StepWindow *steps)
{
	guint64 n_updates = 0;

	FOR_EACH(struct rank_history, history, steps->ranks) {
		n_updates = MAX(n_updates, history->n_updates);
		g_array_set_size(history->updates, 0);
		*history = (struct rank_history){ .rank = history->rank,
						  .told = history->told,
						  .updates = history->updates };
	}
	steps->n_restarts++;
	steps->n_least = (guint)MIN(MAX(n_updates + 1, steps->n_least * 2), STEP_WINDOW_UPDATES);
	g_hash_table_remove_all(steps->transfers);
	g_hash_table_remove_all(steps->ends);
	steps->least = G_MAXINT64;
	steps->is_changed = FALSE;
}

gboolean step_window_takes(const StepWindow *steps, const TachoTimeline *timeline,
			   guint32 rank_index, guint32 slice)
{
	gint64 start_ns = timeline->slices.start_ns[slice];

	return !steps || (rank_index < steps->from_ns->len &&
			  start_ns >= g_array_index(steps->from_ns, gint64, rank_index) &&
			  start_ns < g_array_index(steps->to_ns, gint64, rank_index));
}

/* --- collectives that outlast a cut ---------------------------------------------------------- */

/* Of what began before the window it is known from when on it was transfer: (3). */
static void add_remembered(const StepWindow *steps, const RunWindow *window,
			   TachoTimeline *timeline)
{
	for (guint32 slice = 0; slice < timeline->slices.n && g_hash_table_size(steps->transfers);
	     slice++) {
		TachoCollective row = { .first_member = timeline->members->len,
					.n_members = 1,
					.n_expected = 1 };
		gint64 record;
		const gint64 *begin_unix_ns;

		if (timeline->slices.kind[slice] != TACHO_SLICE_COLLECTIVE)
			continue;
		record = (gint64)run_window_record(window, timeline->slices.source[slice]);
		begin_unix_ns = g_hash_table_lookup(steps->transfers, &record);
		if (!begin_unix_ns)
			continue;
		row.name = timeline->slices.name[slice];
		row.last_begin_ns = *begin_unix_ns - timeline->origin_unix_ns;
		g_array_append_val(timeline->members, slice);
		g_array_append_val(timeline->collectives, row);
	}
}

/* When the last step of the rank ended that has been found. */
static gint64 cut_of_rank(const StepWindow *steps, guint32 rank_index)
{
	return rank_index < steps->found->len
		       ? g_array_index(steps->found, struct window_steps, rank_index).last_end_ns
		       : G_MININT64;
}

static void remember_transfers(StepWindow *steps, const RunWindow *window,
			       const TachoTimeline *timeline)
{
	g_hash_table_remove_all(steps->transfers);
	FOR_EACH(const TachoCollective, row, timeline->collectives) {
		for (guint32 i = 0; i < row->n_members; i++) {
			guint32 slice =
				g_array_index(timeline->members, guint32, row->first_member + i);
			guint32 rank = tacho_slice_process(timeline, slice)->rank_index;
			gint64 record;

			if (tacho_slice_end_ns(timeline, slice) <= cut_of_rank(steps, rank) ||
			    timeline->slices.start_ns[slice] >= cut_of_rank(steps, rank))
				continue;
			record = (gint64)run_window_record(window, timeline->slices.source[slice]);
			if (record)
				g_hash_table_insert(steps->transfers,
						    g_memdup2(&record, sizeof(record)),
						    g_memdup2(&(gint64){ row->last_begin_ns +
									 timeline->origin_unix_ns },
							      sizeof(gint64)));
		}
	}
}

/* --- windows --------------------------------------------------------------------------------- */

/* Whether messages have to tell who sends to whom. */
static gboolean has_sends(const TachoTimeline *timeline)
{
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE &&
		    point_to_point_way(timeline, i) != TACHO_WAY_BY_NAME)
			return TRUE;
	return FALSE;
}

/* Remember when the slice was over. */
static void remember_end(StepWindow *steps, const RunWindow *window, const TachoTimeline *timeline,
			 guint32 slice)
{
	gint64 record = (gint64)run_window_record(window, timeline->slices.source[slice]);
	gint64 end_unix_ns = tacho_slice_end_ns(timeline, slice) + timeline->origin_unix_ns;

	if (record)
		g_hash_table_insert(steps->ends, g_memdup2(&record, sizeof(record)),
				    g_memdup2(&end_unix_ns, sizeof(end_unix_ns)));
}

/* The slice ends as was found in the window before. Returns whether that has. */
static gboolean end_as_remembered(GHashTable *ends, const RunWindow *window,
				  TachoTimeline *timeline, guint32 slice)
{
	gint64 record = (gint64)run_window_record(window, timeline->slices.source[slice]);
	const gint64 *end_unix_ns = g_hash_table_lookup(ends, &record);
	gint64 duration_ns;

	if (!end_unix_ns)
		return FALSE;
	duration_ns = *end_unix_ns - timeline->origin_unix_ns - timeline->slices.start_ns[slice];
	timeline->slices.duration_ns[slice] =
		CLAMP(duration_ns, 0, MAX(timeline->slices.duration_ns[slice], 0));
	return TRUE;
}

/* (3) */
static void end_collectives(StepWindow *steps, const RunWindow *window, TachoTimeline *timeline,
			    const struct thread_index *threads)
{
	g_autoptr(GHashTable) before = steps->ends;
	g_autoptr(GArray) changed = NULL;

	steps->ends = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	for (guint32 i = 0; i < timeline->slices.n && g_hash_table_size(before) > 0; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE &&
		    end_as_remembered(before, window, timeline, i))
			remember_end(steps, window, timeline, i);
	changed = end_chained_collectives(timeline, threads);
	FOR_EACH(const guint32, slice, changed)
		remember_end(steps, window, timeline, *slice);
}

/* Of what tacho_correlate() does within each process, what steps and collectives are found by. */
static void link_calls(StepWindow *steps, const RunWindow *window, TachoTimeline *timeline)
{
	g_autoptr(thread_index) threads = thread_index_new(timeline);

	if (timeline->clocks->len > 1 || has_sends(timeline))
		pair_messages(timeline);
	link_graph_work(timeline, threads);
	link_kernels(timeline, threads);
	end_collectives(steps, window, timeline, threads);
	link_queued_collectives(timeline, threads);
}

void step_window_correlate(StepWindow *steps, RunWindow *window, TachoTimeline *timeline,
			   gboolean is_forced)
{
	gint64 complete_ns = run_window_complete_ns(window);

	if (complete_ns != G_MAXINT64)
		complete_ns -= timeline->origin_unix_ns;
	g_array_set_size(steps->found, 0);
	g_array_set_size(steps->from_ns, 0);
	g_array_set_size(steps->to_ns, 0);
	link_calls(steps, window, timeline);
	settle_hosts(timeline);
	align_clocks(timeline);
	find_window_steps(timeline, steps, complete_ns, is_forced);
	match_collectives(timeline, steps);
	pair_sends(timeline, steps);
	add_remembered(steps, window, timeline);
}

/* The first updates, whole steps of them, and how many there were. The first tell most: all of their tensors are known. */
static void note_updates(struct rank_history *history, const struct window_steps *found)
{
	guint n = MIN(found->n_steps * found->cycle, found->updates ? found->updates->len : 0);
	guint n_kept = n;

	if (!n)
		return;
	if (history->updates->len + n > STEP_WINDOW_UPDATES)
		n_kept = STEP_WINDOW_UPDATES - MIN(history->updates->len, STEP_WINDOW_UPDATES);
	n_kept -= n_kept % found->cycle;
	g_array_append_vals(history->updates, found->updates->data, n_kept);
	history->n_updates += n;
}

/* A rank's processes are cut where its last step ended. */
static void note_cuts(StepWindow *steps, const TachoTimeline *timeline)
{
	FOR_EACH(const TachoProcess, process, timeline->processes) {
		gint64 cut_ns = cut_of_rank(steps, process->rank_index);
		struct window_cut cut = { .at_unix_ns = cut_ns + timeline->origin_unix_ns };

		if (cut_ns == G_MININT64 || !process->path)
			continue;
		cut.path = g_strdup(process->path);
		g_array_append_val(steps->cuts, cut);
	}
}

void step_window_remember(StepWindow *steps, const RunWindow *window, const TachoTimeline *timeline)
{
	remember_transfers(steps, window, timeline);
	step_window_learn(steps, window, timeline);
	FOR_EACH(const struct window_steps, found, steps->found) {
		struct rank_history *history = step_window_history(steps, found->rank);

		if (!found->n_steps)
			continue;
		if (!history->n_steps) {
			history->first_end_unix_ns = found->first_end_ns + timeline->origin_unix_ns;
			history->shift = found->shift;
		}
		history->source = found->source;
		history->is_marked = found->is_marked;
		history->cycle = found->cycle;
		history->last_end_unix_ns = found->last_end_ns + timeline->origin_unix_ns;
		note_updates(history, found);
		history->n_steps += found->n_steps;
	}
	note_cuts(steps, timeline);
}

void step_window_advance(StepWindow *steps, RunWindow *window)
{
	FOR_EACH(const struct window_cut, cut, steps->cuts)
		run_window_cut(window, cut->path, cut->at_unix_ns);
	g_array_set_size(steps->cuts, 0);
}
