/* sqlite_export: the tables of `tacho query` as an SQLite database, for every other program. It is made
 * in a temporary file, since SQLite writes to no stream, and then copied.
 * (1) Tables and views have the names and columns of src/query; ids stay those of the whole run where
 *     only a part goes out.
 * (2) What queries look up without a walk has an index. */
#include <tacho/export.h>

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "export/export_output.h"
#include "export/scoped_query.h"
#include "query/query_table.h"
#include "query/query_views.h"

/* Which rows go out; all of a table that is not here. */
static const struct {
	const gchar *table, *condition;
} conditions[] = {
	{ "slice", "has_slice(id)" },
	{ "track", "has_process(upid)" },
	{ "thread", "has_process(upid)" },
	{ "process", "has_process(upid)" },
	{ "counter", "has_moment(track_id, ts)" },
	{ "flow", "has_slice(slice_out) AND has_slice(slice_in)" },
	{ "args", "has_slice(arg_set_id)" },
	{ "step", "has_step(id)" },
	{ "collective",
	  "id IN (SELECT collective_id FROM main.collective_member WHERE has_slice(slice_id))" },
	{ "collective_member", "has_slice(slice_id)" },
	{ "message", "has_slice(slice_id)" },
	{ "bucket", "has_slice(slice_id)" },
	{ "bucket_gradient",
	  "bucket_id IN (SELECT id FROM main.bucket WHERE has_slice(slice_id))" },
	{ "memory", "has_moment(track_id, ts)" },
	{ "graph_work", "has_slice(slice_id)" },
	{ "chunk", "has_process(upid)" },
	{ "device", "has_process(upid)" },
	{ "mark", "has_moment(track_id, ts)" },
};

static const gchar indexes[] = "CREATE INDEX out.slice_by_track ON slice(track_id, ts);"
			       "CREATE INDEX out.slice_by_name ON slice(name);"
			       "CREATE INDEX out.slice_by_parent ON slice(parent_id);"
			       "CREATE INDEX out.counter_by_track ON counter(track_id, ts);"
			       "CREATE INDEX out.flow_by_out ON flow(slice_out);"
			       "CREATE INDEX out.flow_by_in ON flow(slice_in);"
			       "CREATE INDEX out.args_by_set ON args(arg_set_id, key);"
			       "CREATE INDEX out.member_by_slice ON collective_member(slice_id);"
			       "CREATE INDEX out.member_by_collective"
			       " ON collective_member(collective_id);"
			       "CREATE INDEX out.message_by_slice ON message(slice_id);"
			       "CREATE INDEX out.gradient_by_bucket ON bucket_gradient(bucket_id);"
			       "CREATE INDEX out.memory_by_track ON memory(track_id, ts);";

static gboolean run(sqlite3 *db, const gchar *sql, GError **error)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return TRUE;
	g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO,
		    "the database, made in %s: %s", g_get_tmp_dir(), sqlite3_errmsg(db));
	return FALSE;
}

static const gchar *condition_of(const gchar *table)
{
	for (guint i = 0; i < G_N_ELEMENTS(conditions); i++)
		if (strcmp(conditions[i].table, table) == 0)
			return conditions[i].condition;
	return "1";
}

static gboolean copy_table(sqlite3 *db, const struct query_table *table, GError **error)
{
	g_autofree gchar *plain = query_table_sql(table, FALSE);
	const gchar *columns = strchr(plain, '(') + strlen("(id INTEGER");
	g_autofree gchar *create = g_strdup_printf("CREATE TABLE out.%s(id INTEGER PRIMARY KEY%s",
						   table->name, columns);
	g_autofree gchar *insert =
		g_strdup_printf("INSERT INTO out.%s SELECT * FROM main.%s WHERE %s", table->name,
				table->name, condition_of(table->name));

	return run(db, create, error) && run(db, insert, error);
}

static gboolean copy_tables(sqlite3 *db, const TachoExportOptions *options, GError **error)
{
	guint n_tables;
	const struct query_table *const *tables = query_tables(&n_tables);

	for (guint i = 0; i < n_tables; i++) {
		if (options->progress)
			options->progress((gdouble)i / n_tables, options->progress_data);
		if (!copy_table(db, tables[i], error))
			return FALSE;
	}
	return TRUE;
}

static gboolean add_views(sqlite3 *db, GError **error)
{
	guint n_views;
	const struct query_view *views = query_views(&n_views);

	for (guint i = 0; i < n_views; i++) {
		g_autofree gchar *sql =
			g_strdup_printf("CREATE VIEW out.%s AS %s", views[i].name, views[i].select);

		if (!run(db, sql, error))
			return FALSE;
	}
	return TRUE;
}

/* Have a new file as the database `out`. It has no name any more, so that nothing is left behind, however
 * the program ends. Its descriptor, or -1. */
static int attach_file(sqlite3 *db, GError **error)
{
	g_autofree gchar *path = NULL;
	int file = g_file_open_tmp("tacho-XXXXXX", &path, error);
	gboolean is_attached;
	gchar *attach;

	if (file < 0)
		return -1;
	attach = sqlite3_mprintf("ATTACH %Q AS out", path);
	is_attached = run(db, attach, error);
	sqlite3_free(attach);
	g_unlink(path);
	if (is_attached)
		return file;
	close(file);
	return -1;
}

/* No journal: a file that is not finished is thrown away. */
static gboolean write_database(sqlite3 *db, const TachoExportOptions *options, GError **error)
{
	return run(db, "PRAGMA out.journal_mode = OFF; PRAGMA out.synchronous = OFF; BEGIN",
		   error) &&
	       copy_tables(db, options, error) && add_views(db, error) && run(db, indexes, error) &&
	       run(db, "COMMIT; DETACH out", error);
}

gboolean tacho_export_sqlite(const TachoTimeline *timeline, const TachoExportOptions *options,
			     FILE *out, GError **error)
{
	struct scoped_query scoped;
	gboolean is_made, is_written;
	sqlite3 *db;
	int file;

	if (!scoped_query_init(&scoped, timeline, options, error))
		return FALSE;
	db = query_borrow_db(scoped.query);
	file = attach_file(db, error);
	is_made = file >= 0 && write_database(db, options, error);
	scoped_query_release(&scoped);
	is_written = is_made && export_output_copy(file, out, options, error);
	if (file >= 0)
		close(file);
	return is_written;
}
