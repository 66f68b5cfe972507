/* import: from what the user named to one timeline.
 *
 *     trace_search: what is there --> runs of our own? -----> run_reader_open() --> mixed_run: what lies in them
 *                                 \-> files by format: each format reads its own --> finish: sort, ranks, origin */
#include <tacho/import.h>

#include <malloc.h>
#include <string.h>

#include "base/for_each.h"
#include "import/added_trace.h"
#include "import/function_ids.h"
#include "import/import_format.h"
#include "import/mixed_run.h"
#include "import/own_run.h"
#include "import/trace_archive.h"
#include "import/trace_search.h"
#include "trace/rank_table.h"
#include "trace/run_notes.h"
#include "trace/run_reader.h"

G_DEFINE_QUARK(tacho - import - error - quark, tacho_import_error)

/* --- what importers call -------------------------------------------------------------------- */

guint import_new_file(struct import *import)
{
	return import->n_files++;
}

guint32 import_add_process(struct import *import, const TachoProcess *process, guint file)
{
	TachoProcess row = *process;

	row.path = g_strdup(process->path);
	g_array_append_val(import->timeline->processes, row);
	g_array_append_val(import->files, file);
	return import->timeline->processes->len - 1;
}

guint32 import_add_track(struct import *import, TachoTrackKind kind, guint32 process, guint32 tid,
			 const gchar *name)
{
	TachoTrack track = { .kind = kind, .process = process, .tid = tid };

	track.name = tacho_timeline_intern(import->timeline, name, -1);
	g_array_append_val(import->timeline->tracks, track);
	return import->timeline->tracks->len - 1;
}

void import_begin_path(struct import *import, guint n_done, guint n_paths)
{
	import->n_done = n_done;
	import->n_paths = n_paths;
}

void import_tell_progress(const struct import *import, gdouble done)
{
	if (import->progress && import->n_paths)
		import->progress((import->n_done + done) / import->n_paths, import->progress_data);
}

gboolean import_each_path(struct import *import, const gchar *const *paths, guint n_paths,
			  gboolean (*read)(struct import *import, const gchar *path, gpointer data,
					   GError **error),
			  gpointer data, GError **error)
{
	g_autoptr(GError) first = NULL;
	guint n_read = 0;

	for (guint i = 0; i < n_paths; i++) {
		g_autoptr(GError) failure = NULL;

		import_begin_path(import, i, n_paths);
		if (read(import, paths[i], data, &failure)) {
			n_read++;
			continue;
		}
		if (g_error_matches(failure, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY)) {
			g_propagate_error(error, g_steal_pointer(&failure));
			return FALSE;
		}
		tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_UNREADABLE_FILE, 1, "%s",
					   failure->message);
		if (!first)
			first = g_steal_pointer(&failure);
	}
	if (n_read || !first)
		return TRUE;
	g_propagate_error(error, g_steal_pointer(&first));
	return FALSE;
}

gint32 import_rank_of_name(const gchar *path)
{
	g_autofree gchar *name = g_path_get_basename(path);
	g_autofree gchar *lower = g_ascii_strdown(name, -1);
	const gchar *found = lower;

	while ((found = strstr(found, "rank"))) {
		found += strlen("rank");
		found += strspn(found, "-_.=");
		if (g_ascii_isdigit(*found)) {
			guint64 rank = g_ascii_strtoull(found, NULL, 10);

			return rank <= G_MAXINT32 ? (gint32)rank : -1;
		}
	}
	return -1;
}

/* --- finishing ------------------------------------------------------------------------------ */

/* Whether its importer knew when it began and ended. */
static gboolean has_times(const TachoProcess *process)
{
	return process->start_ns || process->end_ns;
}

/* The earliest time in any table; G_MAXINT64 where there is none. */
static gint64 find_origin(const TachoTimeline *timeline)
{
	gint64 origin_ns = G_MAXINT64;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		origin_ns = MIN(origin_ns, timeline->slices.start_ns[i]);
	for (guint i = 0; i < timeline->memory->len; i++)
		origin_ns = MIN(origin_ns,
				g_array_index(timeline->memory, TachoMemoryEvent, i).time_ns);
	for (guint i = 0; i < timeline->samples->len; i++)
		origin_ns =
			MIN(origin_ns, g_array_index(timeline->samples, TachoSample, i).time_ns);
	for (guint i = 0; i < timeline->marks->len; i++)
		origin_ns = MIN(origin_ns, g_array_index(timeline->marks, TachoMark, i).time_ns);
	FOR_EACH(const TachoProcess, process, timeline->processes)
		if (has_times(process))
			origin_ns = MIN(origin_ns, process->start_ns);
	return origin_ns;
}

gint64 import_base_time(const struct import *import)
{
	gint64 origin_ns = find_origin(import->timeline);

	return origin_ns == G_MAXINT64 ? 0 : origin_ns;
}

/* Times that no run can have are those next to them that it can. */
static gint64 possible(gint64 time_ns)
{
	return CLAMP(time_ns, -TACHO_MAX_TIME_NS, TACHO_MAX_TIME_NS);
}

static gint64 since(gint64 time_ns, gint64 origin_ns)
{
	return possible(time_ns) - origin_ns;
}

static void set_origin(TachoTimeline *timeline)
{
	gint64 origin_ns = find_origin(timeline);

	if (origin_ns == G_MAXINT64)
		return;
	origin_ns = possible(origin_ns);
	timeline->origin_unix_ns = origin_ns;
	for (guint32 i = 0; i < timeline->slices.n; i++)
		timeline->slices.start_ns[i] = since(timeline->slices.start_ns[i], origin_ns);
	FOR_EACH(TachoMemoryEvent, event, timeline->memory)
		event->time_ns = since(event->time_ns, origin_ns);
	FOR_EACH(TachoSample, sample, timeline->samples)
		sample->time_ns = since(sample->time_ns, origin_ns);
	FOR_EACH(TachoMark, mark, timeline->marks)
		mark->time_ns = since(mark->time_ns, origin_ns);
	FOR_EACH(TachoProcess, process, timeline->processes) {
		if (has_times(process)) {
			process->start_ns = since(process->start_ns, origin_ns);
			process->end_ns = since(process->end_ns, origin_ns);
		}
	}
}

/* Make the ranks, and give one to each process that has none: nobody else will. */
static void fill_ranks(struct import *import)
{
	TachoTimeline *timeline = import->timeline;
	g_autofree struct rank_candidate *candidates =
		g_new0(struct rank_candidate, timeline->processes->len + 1);

	for (guint i = 0; i < timeline->processes->len; i++)
		candidates[i].run = g_array_index(import->files, guint, i);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		candidates[tacho_timeline_track(timeline, timeline->slices.track[i])->process]
			.n_ops++;
	rank_table_fill(timeline, candidates, 0);
	if (import->is_added)
		return;
	FOR_EACH(TachoProcess, process, timeline->processes)
		process->rank = tacho_timeline_rank(timeline, process->rank_index)->rank;
}

/* A device's work is launched by what is on no device: then who follows launches comes to an end. What else a trace says of
 * launches is none, whichever importer read it. */
static void drop_odd_launches(TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		guint32 launch = slices->launch[i];

		if (launch != TACHO_NONE &&
		    (tacho_timeline_track(timeline, slices->track[i])->kind != TACHO_TRACK_STREAM ||
		     tacho_timeline_track(timeline, slices->track[launch])->kind ==
			     TACHO_TRACK_STREAM))
			slices->launch[i] = TACHO_NONE;
	}
}

static void finish(struct import *import)
{
	malloc_trim(0); /* what reading took lies between what stays, a third of it */
	fill_ranks(import);
	set_origin(import->timeline);
	drop_odd_launches(import->timeline);
	g_free(tacho_timeline_finish(import->timeline));
}

static gboolean read_format(struct import *import, const struct import_format *format,
			    const GPtrArray *paths, GError **error)
{
	const gchar *const *names = (const gchar *const *)paths->pdata;

	if (format->read)
		return format->read(import, names, paths->len, error);
	return import_each_path(import, names, paths->len, format->read_file,
				(gpointer)format->data, error);
}

static gboolean read_formats(struct import *import, const struct trace_search *search,
			     GError **error)
{
	for (guint i = 0; i < IMPORT_N_FORMATS; i++)
		if (search->paths[i]->len &&
		    !read_format(import, import_formats[i], search->paths[i], error))
			return FALSE;
	return TRUE;
}

/* A trace without anything in it is no answer. */
static gboolean check_content(const TachoTimeline *timeline, const struct trace_search *search,
			      GError **error)
{
	const gchar *path = NULL;

	if (timeline->processes->len)
		return TRUE;
	trace_search_count_foreign(search, &path);
	if (timeline->problems->len)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "tacho cannot read a single event: %s",
			    g_array_index(timeline->problems, TachoProblem, 0).where);
	else
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "%s: the trace has no events", path);
	return FALSE;
}

static void add_search_problems(TachoTimeline *timeline, const struct trace_search *search)
{
	for (guint i = 0; i < search->unreadable->len; i++)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNREADABLE_FILE, 1, "%s",
					   (const gchar *)search->unreadable->pdata[i]);
	for (guint i = 0; i < search->left_out->len; i++)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_LEFT_OUT, 1, "%s",
					   (const gchar *)search->left_out->pdata[i]);
}

/* Execution traces may tell more of what others have measured. */
static gboolean wants_functions(const struct trace_search *search)
{
	return search->paths[IMPORT_PLACE_pytorch_et]->len > 0;
}

static TachoTimeline *read_foreign(const struct trace_search *search, gboolean is_added,
				   TachoImportProgress progress, gpointer progress_data,
				   GError **error)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(GArray) files = g_array_new(FALSE, FALSE, sizeof(guint));
	g_autoptr(GArray) functions = g_array_new(FALSE, FALSE, sizeof(struct function_id));
	struct import import = { .timeline = timeline,
				 .progress = progress,
				 .progress_data = progress_data,
				 .files = files,
				 .functions = wants_functions(search) ? functions : NULL,
				 .is_added = is_added,
				 .is_alone = trace_search_count_foreign(search, NULL) == 1 };

	if (!read_formats(&import, search, error))
		return NULL;
	if (import.restored) {
		add_search_problems(import.restored, search);
		return import.restored;
	}
	if (!check_content(timeline, search, error))
		return NULL;
	add_search_problems(timeline, search);
	finish(&import);
	return g_steal_pointer(&timeline);
}

TachoTimeline *import_by(gboolean (*read)(struct import *import, gpointer data, GError **error),
			 gpointer data, GError **error)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(GArray) files = g_array_new(FALSE, FALSE, sizeof(guint));
	struct import import = { .timeline = timeline, .files = files };

	if (!read(&import, data, error))
		return NULL;
	finish(&import);
	return g_steal_pointer(&timeline);
}

/* What archives were unpacked into is needed as long as the timeline: args are read from there. */
static void hand_over_archives(struct trace_search *search, TachoTimeline *timeline)
{
	while (search->archives->len)
		trace_archive_hand_over(g_ptr_array_steal_index(search->archives, 0), timeline);
}

/* The trace by itself; its times are since 1970 or the machine's start, as import_format.h has them. */
static TachoTimeline *read_added(const struct added_trace *added, GError **error)
{
	TachoTimeline *trace = NULL;
	struct trace_search search;

	trace_search_init(&search);
	if (trace_search_add(&search, added->path, error)) {
		if (search.paths[IMPORT_OWN_RUN]->len)
			g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MIXED,
				    "%s: a run of tacho's cannot lie in another one", added->path);
		else
			trace = read_foreign(&search, TRUE, NULL, NULL, error);
	}
	if (trace)
		hand_over_archives(&search, trace);
	trace_search_release(&search);
	return trace;
}

/* A trace that is broken, or of another run, is no reason not to read the others. */
static gboolean lay_in(MixedRun *mixed, TachoTimeline *run, const GPtrArray *added, GError **error)
{
	for (guint i = 0; i < added->len; i++) {
		g_autoptr(GError) cause = NULL;
		TachoTimeline *trace = read_added(added->pdata[i], &cause);
		struct mixed_counts counts;

		if (trace && mixed_run_add(mixed, added->pdata[i], trace, &counts, &cause))
			continue;
		if (g_error_matches(cause, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY)) {
			g_propagate_error(error, g_steal_pointer(&cause));
			return FALSE;
		}
		tacho_timeline_add_problem(
			run, trace ? TACHO_PROBLEM_LEFT_OUT : TACHO_PROBLEM_UNREADABLE_FILE, 1,
			"%s", cause->message);
	}
	mixed_run_finish(mixed);
	return TRUE;
}

static TachoTimeline *read_own(const struct trace_search *search, GError **error)
{
	const GPtrArray *runs = search->paths[IMPORT_OWN_RUN];
	g_auto(RunNotes) notes = { 0 };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(MixedRun) mixed = NULL;

	run_notes_init(&notes);
	timeline = run_reader_open((const gchar *const *)runs->pdata, runs->len, search->peers,
				   search->is_guess, &notes, error);
	if (!timeline)
		return NULL;
	add_search_problems(timeline, search);
	if (!search->added->len)
		return g_steal_pointer(&timeline);
	mixed = mixed_run_new(timeline, &notes);
	return lay_in(mixed, timeline, search->added, error) ? g_steal_pointer(&timeline) : NULL;
}

gboolean tacho_run_try_trace(const gchar *run, const gchar *folder, guint64 *ret_n_added,
			     guint64 *ret_n_same, GError **error)
{
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(added_trace_free);
	g_auto(RunNotes) notes = { 0 };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(MixedRun) mixed = NULL;
	struct mixed_counts counts;
	TachoTimeline *trace;

	if (!own_run_is(run)) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "%s is not a run that tacho recorded", run);
		return FALSE;
	}
	run_notes_init(&notes);
	timeline = run_reader_open(&run, 1, NULL, FALSE, &notes, error);
	if (!timeline)
		return FALSE;
	added_trace_add(found, run, folder);
	trace = read_added(found->pdata[0], error);
	if (!trace)
		return FALSE;
	mixed = mixed_run_new(timeline, &notes);
	if (!mixed_run_add(mixed, found->pdata[0], trace, &counts, error))
		return FALSE;
	*ret_n_added = counts.n_added;
	*ret_n_same = counts.n_same;
	return TRUE;
}

static TachoTimeline *read_found(const struct trace_search *search, TachoImportProgress progress,
				 gpointer progress_data, GError **error)
{
	const GPtrArray *runs = search->paths[IMPORT_OWN_RUN];
	const gchar *foreign = NULL;

	if (search->peers && (!runs->len || search->added->len)) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MIXED,
			    "several processes can read runs that tacho recorded, but not yet "
			    "traces of other tools; run it as one process, without the launcher");
		return NULL;
	}
	if (!runs->len)
		return read_foreign(search, FALSE, progress, progress_data, error);
	if (!trace_search_count_foreign(search, &foreign))
		return read_own(search, error);
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MIXED,
		    "tacho's own runs and traces of other tools cannot be read as one run: %s and "
		    "%s; 'tacho add' lays a trace into the run that it is of",
		    (const gchar *)runs->pdata[0], foreign);
	return NULL;
}

/* The error, by the archives' own names. */
static GError *tell_of_archives(const struct trace_search *search, GError *error)
{
	for (guint i = 0; i < search->archives->len; i++) {
		gchar *told = trace_archive_tell(search->archives->pdata[i], error->message);

		g_free(error->message);
		error->message = told;
	}
	return error;
}

TachoTimeline *tacho_run_open(const gchar *const *paths, guint n_paths,
			      TachoImportProgress progress, gpointer progress_data, GError **error)
{
	return tacho_run_open_share(paths, n_paths, NULL, progress, progress_data, error);
}

TachoTimeline *tacho_run_open_share(const gchar *const *paths, guint n_paths, TachoPeers *peers,
				    TachoImportProgress progress, gpointer progress_data,
				    GError **error)
{
	TachoTimeline *timeline = NULL;
	struct trace_search search;
	gboolean is_found = TRUE;
	GError *cause = NULL;

	trace_search_init(&search);
	search.peers = peers;
	for (guint i = 0; i < n_paths && is_found; i++)
		is_found = trace_search_add(&search, paths[i], error);
	if (is_found)
		timeline = read_found(&search, progress, progress_data, &cause);
	if (timeline)
		hand_over_archives(&search, timeline);
	else if (cause)
		g_propagate_error(error, tell_of_archives(&search, cause));
	trace_search_release(&search);
	return timeline;
}

/* --- the list ------------------------------------------------------------------------------- */

static const TachoColumn list_columns[] = {
	{ .key = "format", .title = "format", .type = TACHO_COLUMN_TEXT },
	{ .key = "title", .title = "what it is", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "files", .title = "files", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
};

static void add_format(TachoTable *table, const gchar *name, const gchar *title, const gchar *files)
{
	tacho_table_row(table);
	tacho_table_text(table, name);
	tacho_table_text(table, title);
	tacho_table_text(table, files);
}

TachoTable *tacho_import_list(void)
{
	TachoTable *table = tacho_table_new("formats", list_columns, G_N_ELEMENTS(list_columns));

	add_format(table, "tacho", "what tacho record writes", "*.tacho, a folder");
	for (guint i = 0; i < IMPORT_N_FORMATS; i++)
		add_format(table, import_formats[i]->name, import_formats[i]->title,
			   import_formats[i]->files);
	return table;
}
