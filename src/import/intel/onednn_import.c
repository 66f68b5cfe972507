/* onednn_import: logs of programs that use oneDNN (DNNL, MKL-DNN) or MKL with their verbose mode on.
 *
 * (1) A primitive that was executed is a kernel, one that was created an event; what the library says of itself is a
 *     mark; what the program prints is passed over.
 * (2) Rows tell when they began only if they were asked to; else each begins where the one before ended.
 * (3) With stamps, rows of several threads overlap, but do not say of which thread they are: as many tracks as are
 *     needed.
 * (4) A row is read again when its figures are asked for: its place is where it begins in the file. */
#include <string.h>

#include "base/for_each.h"
#include "import/import_format.h"
#include "import/intel/onednn_row.h"
#include "import/sniff_evidence.h"
#include "import/read/text_lines.h"
#include "trace/source.h"

enum {
	MAX_LANES = 256,
};

/* --- figures -------------------------------------------------------------------------------- */

struct onednn_args {
	struct foreign_reader reader;
	struct text_file *file;
};

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *args)
{
	g_autofree gchar *line = text_file_line(((struct onednn_args *)reader)->file, place);
	struct onednn_row row;

	if (!line)
		return FALSE;
	onednn_row_parse(line, &row);
	if (row.kind != ONEDNN_EXECUTED)
		return FALSE;
	onednn_row_figures(&row, args);
	return TRUE;
}

static void append_json(GString *json, const gchar *key, const gchar *text)
{
	if (!text || !*text || !g_utf8_validate(text, -1, NULL))
		return;
	g_string_append_printf(json, "%s\"%s\": \"", json->len > 1 ? ", " : "", key);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			g_string_append_c(json, '\\');
		if ((guchar)*text >= ' ')
			g_string_append_c(json, *text);
	}
	g_string_append_c(json, '"');
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	g_autofree gchar *line = text_file_line(((struct onednn_args *)reader)->file, place);
	struct onednn_row row;
	GString *json;

	if (!line)
		return NULL;
	onednn_row_parse(line, &row);
	if (row.kind != ONEDNN_EXECUTED && row.kind != ONEDNN_CREATED)
		return NULL;
	json = g_string_new("{");
	append_json(json, "engine", row.engine);
	append_json(json, "implementation", row.implementation);
	append_json(json, "propagation", row.propagation);
	append_json(json, "memory", row.memory);
	append_json(json, "attributes", row.attributes);
	append_json(json, "auxiliary", row.auxiliary);
	append_json(json, "problem", row.problem);
	g_string_append_c(json, '}');
	return g_string_free(json, FALSE);
}

static void free_args(struct foreign_reader *reader)
{
	struct onednn_args *args = (struct onednn_args *)reader;

	text_file_free(args->file);
	g_free(args);
}

static struct foreign_reader *new_args(const gchar *path)
{
	struct onednn_args *args = g_new0(struct onednn_args, 1);

	args->reader = (struct foreign_reader){ .kernel = get_kernel,
						.args_json = get_args_json,
						.free = free_args };
	args->file = text_file_new(path);
	return &args->reader;
}

/* --- the timeline --------------------------------------------------------------------------- */

/* A track for what cannot be at the same time. */
struct lane {
	guint32 track;
	gboolean is_gpu;
	guint32 device;
	gint32 thread;
	gint64 end_ns;
};

struct log {
	struct import *import;
	const gchar *path;
	guint32 process, foreign, aside;
	GArray *lanes; /* struct lane */
	gint64 end_ns; /* of the last row */
	guint64 n_rows, n_cut, n_other;
	guint64 cut_offset;
};

static void begin_log(struct log *log, struct import *import, const gchar *path)
{
	TachoTimeline *timeline = import->timeline;
	TachoProcess process = {
		.host = tacho_timeline_intern(timeline, "unknown", -1),
		.command = tacho_timeline_intern(timeline, "oneDNN", -1),
		.rank = import_rank_of_name(path),
		.local_rank = -1,
		.world_size = -1,
		.end = TACHO_END_UNKNOWN,
		.path = (gchar *)path,
	};

	*log = (struct log){ .import = import, .path = path, .aside = TACHO_NONE };
	log->lanes = g_array_new(FALSE, FALSE, sizeof(struct lane));
	log->process = import_add_process(import, &process, import_new_file(import));
	log->foreign = tacho_source_take_foreign(timeline->source, new_args(path));
}

static struct lane *add_lane(struct log *log, const struct onednn_row *row)
{
	g_autofree gchar *name = row->is_gpu ? g_strdup_printf("gpu %u", row->device)
				 : log->lanes->len
					 ? g_strdup_printf("oneDNN %u", log->lanes->len + 1)
					 : g_strdup("oneDNN");
	struct lane lane = { .is_gpu = row->is_gpu, .device = row->device, .thread = row->thread };

	lane.track =
		import_add_track(log->import, row->is_gpu ? TACHO_TRACK_STREAM : TACHO_TRACK_THREAD,
				 log->process, log->lanes->len, name);
	lane.end_ns = G_MININT64;
	if (row->is_gpu)
		g_array_index(log->import->timeline->tracks, TachoTrack, lane.track).device =
			(gint32)row->device;
	g_array_append_val(log->lanes, lane);
	return &g_array_index(log->lanes, struct lane, log->lanes->len - 1);
}

/* (3) */
static struct lane *find_lane(struct log *log, const struct onednn_row *row, gint64 start_ns)
{
	struct lane *last = NULL;

	FOR_EACH(struct lane, lane, log->lanes) {
		if (lane->is_gpu != row->is_gpu || lane->device != row->device ||
		    lane->thread != row->thread)
			continue;
		if (lane->end_ns <= start_ns)
			return lane;
		last = lane;
	}
	return last && log->lanes->len >= MAX_LANES ? last : add_lane(log, row);
}

static guint32 name_of(struct log *log, const struct onednn_row *row)
{
	g_autoptr(GString) name = g_string_new(row->kind == ONEDNN_CREATED ? "create " : NULL);

	g_string_append(name, *row->primitive ? row->primitive : "primitive");
	if (*row->propagation && strcmp(row->propagation, "undef") != 0)
		g_string_append_printf(name, " %s", row->propagation);
	if (*row->implementation && strcmp(row->implementation, "mkl") != 0)
		g_string_append_printf(name, " %s", row->implementation);
	return tacho_timeline_intern(log->import->timeline, name->str, -1);
}

static void add_row(struct log *log, const struct onednn_row *row, guint64 offset)
{
	gint64 start_ns = row->has_stamp ? row->stamp_ns : log->end_ns;
	struct lane *lane = find_lane(log, row, start_ns);

	tacho_timeline_add_slice(log->import->timeline,
				 row->kind == ONEDNN_CREATED ? TACHO_SLICE_EVENT
							     : TACHO_SLICE_KERNEL,
				 lane->track, name_of(log, row), start_ns, row->duration_ns, 0,
				 tacho_source_foreign_handle(log->foreign, offset + row->at));
	lane->end_ns = start_ns + row->duration_ns;
	log->end_ns = MAX(log->end_ns, lane->end_ns);
	log->n_rows++;
}

static void add_mark(struct log *log, const gchar *text, gint64 time_ns)
{
	TachoTimeline *timeline = log->import->timeline;
	TachoMark mark = { .time_ns = time_ns };

	if (log->aside == TACHO_NONE)
		log->aside = import_add_track(log->import, TACHO_TRACK_ASYNC, log->process, 0,
					      "library");
	mark.track = log->aside;
	mark.name = tacho_timeline_intern(timeline, "info", -1);
	mark.text = tacho_timeline_intern(timeline, text, -1);
	g_array_append_val(timeline->marks, mark);
}

static void read_line(struct log *log, gchar *line, guint64 offset, GPtrArray *infos)
{
	g_autofree gchar *whole =
		strstr(line, ",info,") || strstr(line, "MKL_VERBOSE") ? g_strdup(line) : NULL;
	struct onednn_row row;

	onednn_row_parse(line, &row);
	switch (row.kind) {
	case ONEDNN_EXECUTED:
	case ONEDNN_CREATED:
		add_row(log, &row, offset);
		break;
	case ONEDNN_CUT:
		if (log->n_cut++ == 0)
			log->cut_offset = offset;
		break;
	case ONEDNN_INFO:
		if (whole)
			g_ptr_array_add(infos, g_steal_pointer(&whole));
		break;
	case ONEDNN_OTHER:
		log->n_other++;
		break;
	default:
		break;
	}
}

static void end_log(struct log *log, const GPtrArray *infos, guint32 first_slice)
{
	TachoTimeline *timeline = log->import->timeline;
	gint64 begin_ns =
		timeline->slices.n > first_slice ? timeline->slices.start_ns[first_slice] : 0;

	for (guint i = 0; i < infos->len; i++)
		add_mark(log, infos->pdata[i], begin_ns);
	if (log->n_cut)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, log->n_cut,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": the row is not complete",
					   log->path, log->cut_offset);
	if (log->n_other)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_UNKNOWN_RECORD, log->n_other,
			"%s: rows that report neither an execution nor a creation", log->path);
	g_array_unref(log->lanes);
}

static gboolean read_log(struct import *import, const gchar *path, GError **error)
{
	g_autoptr(TextLines) lines = text_lines_open(path, error);
	g_autoptr(GPtrArray) infos = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) failure = NULL;
	guint32 first_slice = import->timeline->slices.n;
	struct log log;
	guint64 offset;
	gchar *line;
	gsize n;

	if (!lines)
		return FALSE;
	begin_log(&log, import, path);
	while ((line = text_lines_next(lines, &n, &offset, &failure))) {
		read_line(&log, line, offset, infos);
		if (log.n_rows % 4096 == 1)
			import_tell_progress(import, text_lines_done(lines));
	}
	if (failure)
		tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1, "%s",
					   failure->message);
	end_log(&log, infos, first_slice);
	return TRUE;
}

static gboolean read_onednn(struct import *import, const gchar *const *paths, guint n_paths,
			    GError **error)
{
	guint n_read = 0;

	for (guint i = 0; i < n_paths; i++) {
		g_autoptr(GError) failure = NULL;

		import_begin_path(import, i, n_paths);
		if (read_log(import, paths[i], &failure))
			n_read++;
		else if (i + 1 == n_paths && !n_read)
			g_propagate_error(error, g_steal_pointer(&failure));
		else
			tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_UNREADABLE_FILE,
						   1, "%s", failure->message);
	}
	return n_read > 0;
}

/* A row that was executed or created, or what the library says of itself. */
static gboolean is_row(gchar *line)
{
	gboolean is_info = strstr(line, "_verbose,info,") || strstr(line, ",info,oneDNN");
	struct onednn_row row;

	onednn_row_parse(line, &row);
	return is_info || row.kind == ONEDNN_EXECUTED || row.kind == ONEDNN_CREATED;
}

static gboolean sniff_onednn(const struct sniff_input *input)
{
	static const gchar *const marks[] = { "onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,",
					      "MKL_VERBOSE " };

	return sniff_log_lines(input, marks, G_N_ELEMENTS(marks), 2, 50, is_row);
}

const struct import_format import_onednn = {
	.name = "onednn",
	.title = "verbose output of oneDNN (DNNL, MKL-DNN) and MKL",
	.files = "*.log, *.txt: all that the program printed",
	.sniff = sniff_onednn,
	.read = read_onednn,
};
