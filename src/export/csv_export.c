/* csv_export: slices as a table, a row a slice, with where and when it was: RFC 4180, NULL is nothing.
 *
 * (1) Columns have the names and values that `tacho query` gives them. Those of a track are asked of it once a track;
 *     a slice's are written from the timeline, without SQL.
 * (2) What a slice's args are made of is read from the source, a slice at a time: memory does not grow with them. */
#include <tacho/export.h>

#include <errno.h>
#include <string.h>

#include "base/csv_append.h"
#include "base/decimal.h"
#include "export/export_output.h"
#include "export/scoped_query.h"
#include "query/query_data.h"
#include "trace/own_time.h"

#define TELL_EVERY  65536 /* rows, of progress */
#define WRITE_BYTES 65536 /* at a time */

static const gchar header[] =
	"id,rank,host,pid,tid,track,track_type,stream,step,category,name,ts_ns,dur_ns,self_dur_ns,"
	"depth,parent_id,is_open,bytes,flops,inputs,outputs\n";

/* The columns of a track, from `rank` to `stream`. */
static const gchar places[] =
	"SELECT track.id, track.rank, track.host, pid, tid, track.name, type, stream"
	" FROM track JOIN process USING (upid) LEFT JOIN thread USING (utid)";
#define N_PLACE_COLUMNS 7

struct csv_export {
	const TachoTimeline *timeline;
	const TachoExportOptions *options;
	FILE *out;
	struct export_scope *scope;
	struct query_data data;
	gchar **places; /* of each track, as text with a comma behind each column */
	GString *text;	/* rows to be written */
	gboolean has_failed;
	guint32 n_rows;
};

/* --- places ----------------------------------------------------------------------------------- */

static void begin_places(const gchar *const *names, guint n_columns, gpointer data)
{
	(void)names, (void)n_columns, (void)data;
}

static gboolean add_place(const TachoCell *cells, gpointer data)
{
	struct csv_export *export = data;
	GString *text = g_string_new(NULL);

	for (guint i = 1; i <= N_PLACE_COLUMNS; i++) {
		if (cells[i].type == TACHO_CELL_INTEGER)
			decimal_append(text, cells[i].integer);
		else if (cells[i].type == TACHO_CELL_TEXT)
			csv_append_text(text, cells[i].text, cells[i].n_bytes);
		g_string_append_c(text, ',');
	}
	export->places[cells[0].integer] = g_string_free(text, FALSE);
	return TRUE;
}

static void end_places(gpointer data)
{
	(void)data;
}

static gboolean find_places(struct csv_export *export, TachoQuery *query, GError **error)
{
	static const TachoQueryHandler handler = { begin_places, add_place, end_places };

	export->places = g_new0(gchar *, MAX(export->timeline->tracks->len, 1u));
	return tacho_query_run(query, places, &handler, export, error);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void append_integer(GString *text, gint64 value)
{
	decimal_append(text, value);
	g_string_append_c(text, ',');
}

static void append_text(GString *text, const gchar *value)
{
	if (*value)
		csv_append_text(text, value, strlen(value));
	g_string_append_c(text, ',');
}

static const struct slice_arg *find_arg(const struct slice_args *args, enum slice_arg_key key)
{
	for (guint i = 0; args && i < args->n; i++)
		if (args->args[i].key == key)
			return &args->args[i];
	return NULL;
}

static void append_arg(GString *text, const struct slice_args *args, enum slice_arg_key key)
{
	const struct slice_arg *arg = find_arg(args, key);

	if (!arg)
		return;
	switch (arg->type) {
	case SLICE_ARG_TYPE_TRUE:
		g_string_append_c(text, '1');
		break;
	case SLICE_ARG_TYPE_INTEGER:
		decimal_append(text, arg->integer);
		break;
	case SLICE_ARG_TYPE_UNSIGNED:
		decimal_append(text, (gint64)arg->number); /* as SQLite has it */
		break;
	case SLICE_ARG_TYPE_STRING:
		csv_append_text(text, arg->string, strlen(arg->string));
		break;
	}
}

static void append_args(struct csv_export *export, guint32 row)
{
	static const enum slice_arg_key keys[] = { SLICE_ARG_BYTES, SLICE_ARG_FLOPS,
						   SLICE_ARG_INPUTS, SLICE_ARG_OUTPUTS };
	const struct slice_args *args = query_data_has_args(export->timeline, row)
						? query_data_args(&export->data, row)
						: NULL;

	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		g_string_append_c(export->text, ',');
		append_arg(export->text, args, keys[i]);
	}
	g_string_append_c(export->text, '\n');
}

static void append_step(struct csv_export *export, guint32 row)
{
	const TachoTimeline *timeline = export->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[row]);
	guint32 step =
		query_data_step(&export->data, track->process, timeline->slices.start_ns[row]);

	if (step != TACHO_NONE)
		decimal_append(export->text,
			       g_array_index(timeline->steps, TachoStep, step).number);
	g_string_append_c(export->text, ',');
}

static void append_row(struct csv_export *export, guint32 row, gint64 self_ns)
{
	const TachoTimeline *timeline = export->timeline;
	const TachoSlices *slices = &timeline->slices;
	GString *text = export->text;

	append_integer(text, row);
	g_string_append(text, export->places[slices->track[row]]);
	append_step(export, row);
	append_text(text, tacho_slice_kind_name((TachoSliceKind)slices->kind[row]));
	append_text(text, tacho_slice_name(timeline, row));
	append_integer(text, slices->start_ns[row]);
	append_integer(text, slices->duration_ns[row]);
	append_integer(text, self_ns);
	append_integer(text, slices->depth[row]);
	if (slices->parent[row] != TACHO_NONE)
		decimal_append(text, slices->parent[row]);
	g_string_append_c(text, ',');
	g_string_append_c(text, slices->flags[row] & TACHO_SLICE_OPEN ? '1' : '0');
	append_args(export, row);
}

/* --- the table -------------------------------------------------------------------------------- */

/* False: it could not be written. */
static gboolean write_text(struct csv_export *export)
{
	if (fwrite(export->text->str, 1, export->text->len, export->out) != export->text->len)
		export->has_failed = TRUE;
	g_string_truncate(export->text, 0);
	return !export->has_failed;
}

static void report_progress(struct csv_export *export)
{
	if (++export->n_rows % TELL_EVERY == 0 && export->options->progress)
		export->options->progress((gdouble) export->n_rows / export->timeline->slices.n,
					  export->options->progress_data);
}

/* Nothing on an asynchronous track is inside another. */
static gint64 *find_self_times(const TachoTimeline *timeline, const TachoTrack *track)
{
	if (!track->n_slices)
		return NULL;
	if (track->kind == TACHO_TRACK_ASYNC)
		return g_memdup2(timeline->slices.duration_ns + track->first_slice,
				 track->n_slices * sizeof(gint64));
	return own_times(&timeline->slices, track->first_slice, track->n_slices, NULL);
}

static gboolean write_track(struct csv_export *export, guint32 index)
{
	const TachoTrack *track = tacho_timeline_track(export->timeline, index);
	g_autofree gint64 *self_ns = NULL;

	if (!export->places[index])
		return TRUE;
	self_ns = find_self_times(export->timeline, track);
	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 row = track->first_slice + i;

		if (!export_scope_has_slice(export->scope, row))
			continue;
		append_row(export, row, self_ns[i]);
		if (export->text->len >= WRITE_BYTES && !write_text(export))
			return FALSE;
		report_progress(export);
	}
	return TRUE;
}

static gboolean write_table(struct csv_export *export)
{
	g_string_append(export->text, header);
	for (guint32 i = 0; i < export->timeline->tracks->len; i++)
		if (!write_track(export, i))
			return FALSE;
	return write_text(export);
}

gboolean tacho_export_csv(const TachoTimeline *timeline, const TachoExportOptions *options,
			  FILE *out, GError **error)
{
	struct csv_export export = { .timeline = timeline, .options = options, .out = out };
	struct scoped_query scoped;
	gboolean is_done = FALSE;
	int cause = 0;

	if (!scoped_query_init(&scoped, timeline, options, error))
		return FALSE;
	export.scope = &scoped.scope;
	export.text = g_string_sized_new(2 * WRITE_BYTES);
	query_data_init(&export.data, timeline, NULL);
	if (find_places(&export, scoped.query, error)) {
		write_table(&export);
		cause = errno;
		is_done = TRUE;
	}
	query_data_release(&export.data);
	for (guint32 i = 0; i < timeline->tracks->len; i++)
		g_free(export.places[i]);
	g_free(export.places);
	g_string_free(export.text, TRUE);
	scoped_query_release(&scoped);
	errno = cause;
	return is_done && export_output_finish(out, options, error);
}
