#include "import/exported/restored_run.h"

#include <string.h>

#include "base/for_each.h"
#include "import/device_properties.h"
#include "import/exported/image_args.h"
#include "trace/image_reader.h"
#include "trace/told_meaning.h"

struct _RestoredRun {
	TachoTimeline *timeline;
	ImageReader *reader;
	ImageArgs *args;
	struct image_run facts;
	gboolean has_facts;
	gchar *path;
	GArray *problems; /* struct image_problem */
};

/* --- rows ----------------------------------------------------------------------------------- */

static const gchar *add_slices(TachoTimeline *timeline, const struct image_slice *rows, guint n)
{
	if (n >= TACHO_NONE - timeline->slices.n)
		return "it has too many slices";
	for (guint i = 0; i < n; i++) {
		guint32 row;

		if (rows[i].track >= timeline->tracks->len)
			return "it has slices before their tracks";
		row = tacho_timeline_add_slice(timeline, (TachoSliceKind)rows[i].kind,
					       rows[i].track, rows[i].name, rows[i].start_ns,
					       rows[i].duration_ns, rows[i].flags, 0);
		timeline->slices.launch[row] = rows[i].launch;
	}
	return NULL;
}

static void restore_meanings(TachoTimeline *timeline, const struct image_meaning *rows, guint n)
{
	for (guint i = 0; i < n; i++)
		told_meaning_restore(timeline, rows[i].name, rows[i].of, rows[i].meaning);
}

static const gchar *take_rows(enum image_table table, const void *rows, guint n, gpointer data)
{
	RestoredRun *run = data;
	GArray *array = run_image_array(run->timeline, table);

	if (array) {
		g_array_append_vals(array, rows, n);
		return NULL;
	}
	if (image_args_has(table))
		return image_args_add(run->args, table, rows, n) ? NULL
								 : "its args are in disorder";
	if (table == IMAGE_SLICE)
		return add_slices(run->timeline, rows, n);
	if (table == IMAGE_MEANING)
		restore_meanings(run->timeline, rows, n);
	if (table == IMAGE_PROBLEM)
		g_array_append_vals(run->problems, rows, n);
	if (table == IMAGE_RUN && n) {
		run->facts = *(const struct image_run *)rows;
		run->has_facts = TRUE;
	}
	return NULL;
}

RestoredRun *restored_run_new(const gchar *path)
{
	RestoredRun *run = g_new0(RestoredRun, 1);

	run->timeline = tacho_timeline_new();
	run->reader = image_reader_new(run->timeline, take_rows, run);
	run->args = image_args_new();
	run->problems = g_array_new(FALSE, FALSE, sizeof(struct image_problem));
	run->path = g_strdup(path);
	return run;
}

void restored_run_free(RestoredRun *run)
{
	if (!run)
		return;
	image_reader_free(run->reader);
	image_args_free(run->args);
	tacho_timeline_free(run->timeline);
	g_array_unref(run->problems);
	g_free(run->path);
	g_free(run);
}

gboolean restored_run_block(RestoredRun *run, const guint8 *block, gsize n_bytes, GError **error)
{
	gsize texts;

	if (!image_reader_block(run->reader, block, n_bytes, &texts, error))
		return FALSE;
	if (texts)
		image_args_keep_texts(run->args, block, n_bytes, texts);
	return TRUE;
}

/* --- (2) what must hold --------------------------------------------------------------------- */

/* Share out `rows` among the owners, which say how many each has; FALSE: there are more or fewer. */
#define SHARE_OUT(owners, type, first, n, rows)                                                    \
	static gboolean share_out_##owners(TachoTimeline *timeline)                                \
	{                                                                                          \
		guint32 at = 0;                                                                    \
                                                                                                   \
		for (guint i = 0; i < timeline->owners->len; i++) {                                \
			type *owner = &g_array_index(timeline->owners, type, i);                   \
                                                                                                   \
			owner->first = at;                                                         \
			if (owner->n > timeline->rows->len - at)                                   \
				return FALSE;                                                      \
			at += owner->n;                                                            \
		}                                                                                  \
		return at == timeline->rows->len;                                                  \
	}
SHARE_OUT(collectives, TachoCollective, first_member, n_members, members)
SHARE_OUT(buckets, TachoBucket, first_gradient, n_gradients, gradients)
#undef SHARE_OUT

static gboolean has_clocks_in_order(const TachoTimeline *timeline)
{
	FOR_EACH(const TachoClock, clock, timeline->clocks)
		if (g_array_index(timeline->clocks, TachoClock, clock->reference).reference !=
		    clock->reference)
			return FALSE;
	return TRUE;
}

static gboolean has_ranks_in_order(const TachoTimeline *timeline)
{
	for (guint i = 1; i < timeline->ranks->len; i++)
		if (tacho_timeline_rank(timeline, i - 1)->rank >=
		    tacho_timeline_rank(timeline, i)->rank)
			return FALSE;
	return TRUE;
}

/* Their numbers may go back: a job that is profiled twice counts from 0 again. */
static gboolean has_steps_in_order(const GArray *steps)
{
	for (guint i = 0; i < steps->len; i++) {
		const TachoStep *step = &g_array_index(steps, TachoStep, i);

		if (step->end_ns < step->start_ns || (i && step[-1].rank_index > step->rank_index))
			return FALSE;
	}
	return TRUE;
}

/* Rows that begin with a slice, by slice. */
static gboolean is_by_slice(const GArray *rows)
{
	guint stride = g_array_get_element_size((GArray *)rows);
	guint32 before, slice;

	for (guint i = 1; i < rows->len; i++) {
		before = *(const guint32 *)(gconstpointer)(rows->data + (gsize)(i - 1) * stride);
		slice = *(const guint32 *)(gconstpointer)(rows->data + (gsize)i * stride);
		if (slice <= before)
			return FALSE;
	}
	return TRUE;
}

static gboolean has_messages_in_order(const TachoTimeline *timeline)
{
	if (!is_by_slice(timeline->messages))
		return FALSE;
	for (guint i = 0; i < timeline->messages->len; i++)
		if (timeline->slices
			    .kind[g_array_index(timeline->messages, TachoMessage, i).slice] !=
		    TACHO_SLICE_MESSAGE)
			return FALSE;
	return TRUE;
}

static gboolean has_memory_in_order(const TachoTimeline *timeline)
{
	FOR_EACH(const TachoMemoryEvent, event, timeline->memory)
		if (event->slice != TACHO_NONE &&
		    timeline->slices.track[event->slice] != event->track)
			return FALSE;
	return TRUE;
}

/* A device's work is queued by what is on no device, so who follows launches and parents comes to an end. */
static gboolean has_launches_by_threads(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = 0; i < slices->n; i++)
		if (slices->launch[i] != TACHO_NONE &&
		    (tacho_timeline_track(timeline, slices->track[i])->kind != TACHO_TRACK_STREAM ||
		     tacho_timeline_track(timeline, slices->track[slices->launch[i]])->kind ==
			     TACHO_TRACK_STREAM))
			return FALSE;
	return TRUE;
}

/* A collective nobody is in is none. */
static gboolean has_members(const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->collectives->len; i++)
		if (!g_array_index(timeline->collectives, TachoCollective, i).n_members)
			return FALSE;
	return TRUE;
}

static const gchar *check(TachoTimeline *timeline)
{
	if (!share_out_collectives(timeline) || !share_out_buckets(timeline) ||
	    !has_members(timeline))
		return "it has members of nothing";
	if (!has_clocks_in_order(timeline))
		return "its clocks lead nowhere";
	if (!has_launches_by_threads(timeline))
		return "it has launches that are none";
	if (!has_ranks_in_order(timeline) || !has_steps_in_order(timeline->steps) ||
	    !has_steps_in_order(timeline->control_steps) || !has_messages_in_order(timeline) ||
	    !has_memory_in_order(timeline) || !is_by_slice(timeline->graph_work))
		return "its rows are in disorder";
	return NULL;
}

/* What finishing works out of slices and moments is not always how it was told: by who recorded them, or before clocks
 * were aligned. Put that back. FALSE: the moments were not in order. */
static gboolean keep_told(TachoTimeline *timeline, const TachoProcess *processes,
			  const TachoTrack *tracks, const TachoMemoryEvent *memory)
{
	for (guint i = 0; i < timeline->processes->len; i++) {
		TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, i);

		if (!processes[i].n_events) /* a part of it, which was not counted */
			continue;
		process->start_ns = processes[i].start_ns;
		process->end_ns = MAX(processes[i].start_ns, processes[i].end_ns);
	}
	for (guint i = 0; i < timeline->tracks->len; i++) {
		TachoTrack *track = &g_array_index(timeline->tracks, TachoTrack, i);

		track->first_ns = tracks[i].first_ns;
		track->last_ns = MAX(tracks[i].first_ns, tracks[i].last_ns);
	}
	for (guint i = 0; i < timeline->memory->len; i++) {
		TachoMemoryEvent *event = &g_array_index(timeline->memory, TachoMemoryEvent, i);

		if (event->time_ns != memory[i].time_ns || event->track != memory[i].track)
			return FALSE;
		event->slice = memory[i].slice;
	}
	return TRUE;
}

static gpointer copy_rows(const GArray *rows)
{
	return g_memdup2(rows->data, (gsize)rows->len * g_array_get_element_size((GArray *)rows));
}

/* (1); FALSE: the slices were not in order, and what names them is of no use. */
static gboolean finish_timeline(TachoTimeline *timeline)
{
	g_autofree TachoProcess *processes = copy_rows(timeline->processes);
	g_autofree TachoTrack *tracks = copy_rows(timeline->tracks);
	g_autofree TachoMemoryEvent *memory = copy_rows(timeline->memory);
	g_autofree guint32 *moved = tacho_timeline_finish(timeline);

	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (moved[i] != i)
			return FALSE;
	return keep_told(timeline, processes, tracks, memory);
}

static void set_facts(RestoredRun *run)
{
	TachoTimeline *timeline = run->timeline;
	const struct image_run *facts = &run->facts;

	timeline->origin_unix_ns = facts->origin_unix_ns;
	timeline->duration_ns = facts->duration_ns;
	timeline->resolution_ns = MAX(facts->resolution_ns, 0);
	timeline->step_source = facts->step_source;
	timeline->expected_ranks = facts->expected_ranks;
	timeline->n_events = facts->n_events;
	timeline->n_dropped = facts->n_dropped;
	for (guint i = 0; i < timeline->processes->len; i++)
		g_array_index(timeline->processes, TachoProcess, i).path = g_strdup(run->path);
}

/* Those that the run had; what was counted again while it was put together is among them. */
static void set_problems(RestoredRun *run)
{
	TachoTimeline *timeline = run->timeline;

	g_array_set_size(timeline->problems, 0);
	FOR_EACH(const struct image_problem, problem, run->problems)
		tacho_timeline_add_problem(timeline, tacho_problem_of_name(problem->kind),
					   problem->count, "%s", problem->where);
	timeline->n_read_flows = MIN(run->facts.n_read_flows, timeline->flows->len);
	timeline->n_read_problems = MIN(run->facts.n_read_problems, timeline->problems->len);
	timeline->is_correlated = TRUE;
}

/* An image that has no table of devices may have the list that PyTorch's profiler wrote, as a mark. */
static void find_devices(TachoTimeline *timeline)
{
	if (timeline->devices->len)
		return;
	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);
		const gchar *name = tacho_timeline_string(timeline, mark->name);

		if (strcmp(name, DEVICE_PROPERTIES) == 0)
			device_properties_read(timeline,
					       tacho_timeline_track(timeline, mark->track)->process,
					       tacho_timeline_string(timeline, mark->text));
	}
}

static TachoTimeline *fail(GError **error, const gchar *why)
{
	g_set_error_literal(error, IMAGE_READER_ERROR, IMAGE_READER_ERROR_DAMAGED, why);
	return NULL;
}

TachoTimeline *restored_run_finish(RestoredRun *run, GError **error)
{
	TachoTimeline *timeline = run->timeline;
	const gchar *failure;

	if (!image_reader_finish(run->reader, error))
		return NULL;
	if (!run->has_facts || !timeline->processes->len || !timeline->ranks->len ||
	    !timeline->clocks->len)
		return fail(error, "it has no processes");
	set_facts(run);
	failure = check(timeline);
	if (failure)
		return fail(error, failure);
	find_devices(timeline);
	image_args_hand_over(g_steal_pointer(&run->args), timeline);
	if (!finish_timeline(timeline))
		return fail(error, "its slices are in disorder");
	set_problems(run);
	return g_steal_pointer(&run->timeline);
}
