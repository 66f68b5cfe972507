/* query_table: the timeline's tables as SQL sees them: what each has for columns, and where the
 * values come from.
 *
 * (1) A row's id is its number in the timeline's table, from 0; it is SQLite's rowid, too.
 * (2) Values are read from the timeline when they are asked for; nothing is copied.
 * (3) Rows come in the order of their ids. */
#ifndef TACHO_QUERY_TABLE_H
#define TACHO_QUERY_TABLE_H

#include <sqlite3.h>

#include "base/number.h"
#include "query/query_data.h"

enum query_type {
	QUERY_INTEGER,
	QUERY_REAL,
	QUERY_NUMERIC, /* an integer where it is whole, else a real */
	QUERY_TEXT,
	QUERY_ANY,
};

struct query_column {
	const gchar *name;
	enum query_type type;
	const gchar *meaning;
};

struct query_table {
	const gchar *name, *meaning;
	const struct query_column *columns; /* the first is `id` */
	guint n_columns;
	const sqlite3_module *module; /* how it is walked; its client data is this table */

	/* Set for tables that row_table.c walks: */
	guint32 (*n_rows)(const struct query_data *data);
	void (*cell)(struct query_data *data, guint32 row, guint column, sqlite3_context *result);
	/* The rows where `column` has `value`, or more; false: nothing quicker than a walk is
	 * known for this column. NULL: for none. `rows` NULL asks whether it is known. */
	gboolean (*find)(struct query_data *data, guint column, gint64 value,
			 struct query_rows *rows);
};

/* All tables, `*ret_n` of them. */
const struct query_table *const *query_tables(guint *ret_n);

extern const struct query_table query_table_slice, query_table_track, query_table_thread,
	query_table_process, query_table_counter, query_table_flow, query_table_args,
	query_table_step, query_table_collective, query_table_collective_member,
	query_table_message, query_table_bucket, query_table_bucket_gradient, query_table_memory,
	query_table_mark, query_table_graph_work, query_table_chunk, query_table_problem;

/* --- what modules share ----------------------------------------------------------------------- */

/* Every module's table: SQLite's part first. */
struct query_vtab {
	sqlite3_vtab base;
	const struct query_table *table;
	struct query_data *data;
};

/* What a module is registered with. */
struct query_client {
	const struct query_table *table;
	struct query_data *data;
};

int query_vtab_connect(sqlite3 *db, void *client, int argc, const char *const *argv,
		       sqlite3_vtab **ret_vtab, char **ret_error);
int query_vtab_disconnect(sqlite3_vtab *vtab);
/* For tables walked by row_table.c. */
extern const sqlite3_module query_row_module;

/* The statement that would make the table; `has_meanings`: for people. From g_malloc(). */
gchar *query_table_sql(const struct query_table *table, gboolean has_meanings);

/* An empty text is NULL. */
static inline void query_result_text(sqlite3_context *result, const gchar *text)
{
	if (text && *text)
		sqlite3_result_text(result, text, -1, SQLITE_STATIC);
}

static inline void query_result_string(sqlite3_context *result, const struct query_data *data,
				       guint32 string)
{
	query_result_text(result, tacho_timeline_string(data->timeline, string));
}

/* As SQLite keeps it in a NUMERIC column. */
static inline void query_result_numeric(sqlite3_context *result, gdouble value)
{
	if (number_is_whole(value))
		sqlite3_result_int64(result, (gint64)value);
	else
		sqlite3_result_double(result, value);
}

/* Negative: NULL. */
static inline void query_result_optional(sqlite3_context *result, gint64 value)
{
	if (value >= 0)
		sqlite3_result_int64(result, value);
}

/* TACHO_NONE: NULL. */
static inline void query_result_id(sqlite3_context *result, guint32 id)
{
	if (id != TACHO_NONE)
		sqlite3_result_int64(result, id);
}

#endif
