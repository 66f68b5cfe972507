/* import: from what the user named to one timeline.
 *
 *     each path --> a run of our own? ----------------------------------> tacho_timeline_open()
 *               \-> sniffed as a whole, else (a folder) file by file --> files by format
 *     each format reads its files --> finish: sort, ranks, origin
 *
 * (1) What is in a folder and no format wants is passed over; a file that was named must be one.
 * (2) Files are read in the order of their names, so the same folder reads the same twice. */
#include <tacho/import.h>

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>

#include "base/byte_stream.h"
#include "import/function_ids.h"
#include "import/import_format.h"
#include "trace/rank_table.h"
#include "trace/trace_layout.h"

enum { MAX_DEPTH = 4 }; /* of folders in the folder that was named */

G_DEFINE_QUARK(tacho - import - error - quark, tacho_import_error)

static const struct import_format *const formats[] = {
#define IMPORT_FORMAT(name) &import_##name,
#include "import/formats.def"
#undef IMPORT_FORMAT
};

/* What was found. */
struct found {
	GPtrArray *paths[G_N_ELEMENTS(formats)]; /* of each format */
	guint n;
	GPtrArray *unreadable; /* texts: files and folders that cannot be read, and why */
	GHashTable *folders;   /* struct folder_id: those searched */
};

/* Links may lead to a folder again, or in circles. */
struct folder_id {
	guint64 device, inode;
};

static guint hash_folder(gconstpointer folder)
{
	const struct folder_id *id = folder;

	return g_int64_hash(&id->inode) ^ g_int64_hash(&id->device);
}

static gboolean is_same_folder(gconstpointer first, gconstpointer second)
{
	const struct folder_id *a = first, *b = second;

	return a->device == b->device && a->inode == b->inode;
}

static void found_init(struct found *found)
{
	for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
		found->paths[i] = g_ptr_array_new_with_free_func(g_free);
	found->n = 0;
	found->unreadable = g_ptr_array_new_with_free_func(g_free);
	found->folders = g_hash_table_new_full(hash_folder, is_same_folder, g_free, NULL);
}

static void found_release(struct found *found)
{
	for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
		g_ptr_array_unref(found->paths[i]);
	g_ptr_array_unref(found->unreadable);
	g_hash_table_unref(found->folders);
}

/* --- our own runs --------------------------------------------------------------------------- */

static gboolean is_own_process(const gchar *folder)
{
	g_autofree gchar *path = g_build_filename(folder, TRACE_METADATA_FILE, NULL);
	g_autoptr(ByteStream) stream = byte_stream_open(path, NULL);
	gchar head[8192];
	gssize n;

	if (!stream)
		return FALSE;
	n = byte_stream_read(stream, head, sizeof(head) - 1, NULL);
	if (n < 0)
		return FALSE;
	head[n] = '\0';
	/* what is broken or empty is for the reader of runs to complain about, others' traces are not */
	return strstr(head, "tacho_format") || !ctf_is_trace(folder);
}

static gboolean is_own_run(const gchar *path)
{
	g_autofree gchar *facts = g_build_filename(path, TRACE_RUN_FILE, NULL);
	g_autoptr(GDir) entries = NULL;
	const gchar *name;

	if (g_file_test(facts, G_FILE_TEST_EXISTS) || is_own_process(path))
		return TRUE;
	entries = g_dir_open(path, 0, NULL);
	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *folder = g_build_filename(path, name, NULL);

		if (is_own_process(folder))
			return TRUE;
	}
	return FALSE;
}

/* --- finding -------------------------------------------------------------------------------- */

static gboolean is_empty_file(const gchar *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

static gboolean fail_unknown(const gchar *path, GError **error)
{
	g_autoptr(GString) tried = g_string_new("tacho");

	if (is_empty_file(path)) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT,
			    "%s: the file is empty", path);
		return FALSE;
	}
	for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
		g_string_append_printf(tried, ", %s", formats[i]->name);
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT,
		    "%s: neither a run nor a trace of another tool that can be read (tried: %s)",
		    path, tried->str);
	return FALSE;
}

/* The format of a file or folder, as an index into `formats`; G_N_ELEMENTS(formats): none. */
static guint sniff(const struct sniff_input *input)
{
	guint format = 0;

	while (format < G_N_ELEMENTS(formats) && !formats[format]->sniff(input))
		format++;
	return format;
}

static gboolean sniff_file(const gchar *path, gboolean is_named, guint *ret_format, GError **error)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, error);
	g_autofree gchar *head = NULL, *name = g_path_get_basename(path);
	struct sniff_input input = { .path = path, .name = name };
	gssize n;

	if (!stream)
		return FALSE;
	head = g_malloc(SNIFF_BYTES + 1);
	n = byte_stream_read(stream, head, SNIFF_BYTES, error);
	if (n < 0)
		return FALSE;
	head[n] = '\0';
	input.head = head;
	input.n_head = (gsize)n;
	*ret_format = sniff(&input);
	if (!is_named && *ret_format < G_N_ELEMENTS(formats) &&
	    formats[*ret_format]->is_redundant && formats[*ret_format]->is_redundant(&input))
		*ret_format = G_N_ELEMENTS(formats);
	return TRUE;
}

static guint sniff_folder(const gchar *path)
{
	g_autofree gchar *name = g_path_get_basename(path);
	struct sniff_input input = { .path = path, .name = name, .is_folder = TRUE, .head = "" };

	return sniff(&input);
}

static void add_found(struct found *found, guint format, const gchar *path)
{
	g_ptr_array_add(found->paths[format], g_strdup(path));
	found->n++;
}

static gint compare_names(gconstpointer first, gconstpointer second)
{
	return strcmp(*(gchar *const *)first, *(gchar *const *)second);
}

/* The names in a folder; NULL: it cannot be read. */
static GPtrArray *list_folder(const gchar *path, GError **error)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const gchar *name;
	int cause = errno;

	if (!entries) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "%s: %s", path,
			    g_strerror(cause));
		return NULL;
	}
	while ((name = g_dir_read_name(entries)))
		if (name[0] != '.')
			g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, compare_names);
	return g_steal_pointer(&names);
}

/* Whether the folder has not been searched yet. */
static gboolean is_new_folder(struct found *found, const gchar *path)
{
	struct stat status;
	struct folder_id id;

	if (stat(path, &status) != 0)
		return TRUE; /* to be told by whoever opens it */
	id = (struct folder_id){ status.st_dev, status.st_ino };
	return g_hash_table_add(found->folders, g_memdup2(&id, sizeof(id)));
}

/* In a folder may be what is no file (a pipe, a link to nowhere), which is passed over; what may not or
 * cannot be read may be a trace. */
static void note_unreadable(struct found *found, GError *cause)
{
	if (!g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_INVAL) &&
	    !g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NXIO) &&
	    !g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_LOOP) &&
	    !g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		g_ptr_array_add(found->unreadable, g_strdup(cause->message));
	g_error_free(cause);
}

static void search_folder(struct found *found, const gchar *path, guint depth);

/* A file or folder within the one that was named. */
static void search_entry(struct found *found, const gchar *path, guint depth)
{
	guint format = G_N_ELEMENTS(formats);
	GError *cause = NULL;

	if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
		if (!is_new_folder(found, path))
			return;
		format = sniff_folder(path);
		if (format == G_N_ELEMENTS(formats) && depth < MAX_DEPTH)
			search_folder(found, path, depth + 1);
	} else if (!sniff_file(path, FALSE, &format, &cause)) {
		note_unreadable(found, cause);
		return;
	}
	if (format < G_N_ELEMENTS(formats))
		add_found(found, format, path);
}

/* (1) */
static void search_folder(struct found *found, const gchar *path, guint depth)
{
	GError *cause = NULL;
	g_autoptr(GPtrArray) names = list_folder(path, &cause);

	if (!names)
		note_unreadable(found, cause);
	for (guint i = 0; names && i < names->len; i++) {
		g_autofree gchar *child = g_build_filename(path, names->pdata[i], NULL);

		search_entry(found, child, depth);
	}
}

/* Why nothing was found at `path`. */
static gboolean fail_empty(const struct found *found, const gchar *path, GError **error)
{
	if (!found->unreadable->len)
		return fail_unknown(path, error);
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO, "%s",
		    (const gchar *)found->unreadable->pdata[found->unreadable->len - 1]);
	return FALSE;
}

static gboolean find_argument(struct found *found, const gchar *path, GError **error)
{
	guint format, n_before = found->n;

	if (!g_file_test(path, G_FILE_TEST_IS_DIR)) {
		if (!sniff_file(path, TRUE, &format, error))
			return FALSE;
		if (format == G_N_ELEMENTS(formats))
			return fail_unknown(path, error);
		add_found(found, format, path);
		return TRUE;
	}
	if (!is_new_folder(found, path))
		return TRUE; /* named before, or in a folder that was */
	format = sniff_folder(path);
	if (format < G_N_ELEMENTS(formats))
		add_found(found, format, path);
	else
		search_folder(found, path, 0);
	return found->n > n_before || fail_empty(found, path, error);
}

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
		tacho_timeline_add_problem(import->timeline, "unreadable_file", 1, "%s",
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
	for (guint i = 0; i < timeline->processes->len; i++) {
		const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, i);

		if (has_times(process))
			origin_ns = MIN(origin_ns, process->start_ns);
	}
	return origin_ns;
}

gint64 import_base_time(const struct import *import)
{
	gint64 origin_ns = find_origin(import->timeline);

	return origin_ns == G_MAXINT64 ? 0 : origin_ns;
}

static gint64 since(gint64 time_ns, gint64 origin_ns)
{
	gint64 result_ns;

	return __builtin_sub_overflow(time_ns, origin_ns, &result_ns) ? G_MAXINT64 / 2 : result_ns;
}

static void set_origin(TachoTimeline *timeline)
{
	gint64 origin_ns = find_origin(timeline);

	if (origin_ns == G_MAXINT64)
		return;
	timeline->origin_unix_ns = origin_ns;
	for (guint32 i = 0; i < timeline->slices.n; i++)
		timeline->slices.start_ns[i] = since(timeline->slices.start_ns[i], origin_ns);
	for (guint i = 0; i < timeline->memory->len; i++) {
		TachoMemoryEvent *event = &g_array_index(timeline->memory, TachoMemoryEvent, i);

		event->time_ns = since(event->time_ns, origin_ns);
	}
	for (guint i = 0; i < timeline->samples->len; i++) {
		TachoSample *sample = &g_array_index(timeline->samples, TachoSample, i);

		sample->time_ns = since(sample->time_ns, origin_ns);
	}
	for (guint i = 0; i < timeline->marks->len; i++) {
		TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);

		mark->time_ns = since(mark->time_ns, origin_ns);
	}
	for (guint i = 0; i < timeline->processes->len; i++) {
		TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, i);

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
	for (guint i = 0; i < timeline->processes->len; i++) {
		TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, i);

		process->rank = g_array_index(timeline->ranks, TachoRank, process->rank_index).rank;
	}
}

static void finish(struct import *import)
{
	malloc_trim(0); /* what reading took lies between what stays, a third of it */
	fill_ranks(import);
	set_origin(import->timeline);
	g_free(tacho_timeline_finish(import->timeline));
}

static gboolean read_formats(struct import *import, const struct found *found, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
		if (found->paths[i]->len &&
		    !formats[i]->read(import, (const gchar *const *)found->paths[i]->pdata,
				      found->paths[i]->len, error))
			return FALSE;
	return TRUE;
}

/* A trace without anything in it is no answer. */
static gboolean check_content(const TachoTimeline *timeline, const struct found *found,
			      GError **error)
{
	const gchar *path = NULL;

	if (timeline->processes->len)
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(formats) && !path; i++)
		if (found->paths[i]->len)
			path = found->paths[i]->pdata[0];
	if (timeline->problems->len)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "no event can be read: %s",
			    g_array_index(timeline->problems, TachoProblem, 0).where);
	else
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "%s: there are no events in it", path);
	return FALSE;
}

/* Whether there are execution traces, which may tell more of what others have measured. */
static gboolean wants_functions(const struct found *found)
{
	for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
		if (found->paths[i]->len && formats[i] == &import_pytorch_et)
			return TRUE;
	return FALSE;
}

static TachoTimeline *read_found(const struct found *found, TachoImportProgress progress,
				 gpointer progress_data, GError **error)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(GArray) files = g_array_new(FALSE, FALSE, sizeof(guint));
	g_autoptr(GArray) functions = g_array_new(FALSE, FALSE, sizeof(struct function_id));
	struct import import = { .timeline = timeline,
				 .progress = progress,
				 .progress_data = progress_data,
				 .files = files,
				 .functions = wants_functions(found) ? functions : NULL };

	if (!read_formats(&import, found, error) || !check_content(timeline, found, error))
		return NULL;
	for (guint i = 0; i < found->unreadable->len; i++)
		tacho_timeline_add_problem(timeline, "unreadable_file", 1, "%s",
					   (const gchar *)found->unreadable->pdata[i]);
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

TachoTimeline *tacho_run_open(const gchar *const *paths, guint n_paths,
			      TachoImportProgress progress, gpointer progress_data, GError **error)
{
	TachoTimeline *timeline = NULL;
	struct found found;
	guint n_own = 0;

	for (guint i = 0; i < n_paths; i++)
		n_own += is_own_run(paths[i]) || !g_file_test(paths[i], G_FILE_TEST_EXISTS);
	if (n_own == n_paths)
		return tacho_timeline_open(paths, n_paths, error);
	if (n_own) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MIXED,
			    "tacho's own runs and traces of other tools cannot be one run");
		return NULL;
	}
	found_init(&found);
	for (guint i = 0; i < n_paths; i++)
		if (!find_argument(&found, paths[i], error))
			goto out;
	timeline = read_found(&found, progress, progress_data, error);
out:
	found_release(&found);
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
	for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
		add_format(table, formats[i]->name, formats[i]->title, formats[i]->files);
	return table;
}
