/* csv_export: slices as a table, a row a slice, with where and when it was: RFC 4180, NULL is nothing. */
#include <tacho/export.h>

#include <errno.h>

#include "export/export_output.h"
#include "export/scoped_query.h"

#define TELL_EVERY 65536 /* rows, of progress */

/* Places are gathered first: a track's process and thread are not looked for at each slice. */
static const gchar slices[] =
	"WITH place AS MATERIALIZED ("
	" SELECT track.id, track.rank, track.host, pid, tid, track.name, type, stream"
	" FROM track JOIN process USING (upid) LEFT JOIN thread USING (utid)) "
	"SELECT slice.id, place.rank, host, pid, tid, place.name AS track, type AS track_type,"
	" stream, step, category, slice.name, ts AS ts_ns, dur AS dur_ns, self_dur AS self_dur_ns,"
	" depth, parent_id, is_open,"
	" extract_arg(arg_set_id, 'bytes') AS bytes, extract_arg(arg_set_id, 'flops') AS flops,"
	" extract_arg(arg_set_id, 'inputs') AS inputs,"
	" extract_arg(arg_set_id, 'outputs') AS outputs "
	"FROM slice CROSS JOIN place ON place.id = track_id "
	"WHERE has_slice(slice.id) ORDER BY slice.id";

struct csv_export {
	TachoResultWriter *writer;
	const TachoExportOptions *options;
	guint32 n_rows, n_slices;
	int cause; /* why a row could not be written; ends the query */
};

static void begin(const gchar *const *names, guint n_columns, gpointer data)
{
	struct csv_export *export = data;

	tacho_result_writer_handler()->begin(names, n_columns, export->writer);
}

static gboolean row(const TachoCell *cells, gpointer data)
{
	struct csv_export *export = data;

	if (++export->n_rows % TELL_EVERY == 0 && export->options->progress)
		export->options->progress((gdouble) export->n_rows / export->n_slices,
					  export->options->progress_data);
	if (tacho_result_writer_handler()->row(cells, export->writer))
		return TRUE;
	export->cause = errno;
	return FALSE;
}

static void end(gpointer data)
{
	struct csv_export *export = data;

	tacho_result_writer_handler()->end(export->writer);
}

gboolean tacho_export_csv(const TachoTimeline *timeline, const TachoExportOptions *options,
			  FILE *out, GError **error)
{
	static const TachoQueryHandler handler = { begin, row, end };
	g_autoptr(TachoResultWriter) writer =
		tacho_result_writer_new(TACHO_QUERY_FORMAT_CSV, out, 0, 0);
	struct csv_export export = { writer, options, 0, timeline->slices.n, 0 };
	struct scoped_query scoped;
	gboolean is_done;

	if (!scoped_query_init(&scoped, timeline, options, error))
		return FALSE;
	is_done = tacho_query_run(scoped.query, slices, &handler, &export, error);
	scoped_query_release(&scoped);
	errno = export.cause;
	return is_done && export_output_finish(out, options, error);
}
