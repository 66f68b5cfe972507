/* query: a database in memory that holds nothing but virtual tables over a timeline. */
#include "query/query_internal.h"

#include <string.h>

#include <tacho/words.h>

#include "base/text_file.h"
#include "query/query_functions.h"
#include "query/query_guard.h"
#include "query/query_share.h"
#include "query/query_table.h"
#include "query/query_views.h"

G_DEFINE_QUARK(tacho - query - error - quark, tacho_query_error)

struct _TachoQuery {
	sqlite3 *db;
	struct query_data data;
	struct query_client *clients; /* one a table */
	gint is_interrupted;	      /* atomic: what runs, or runs next, is to end */
	guint timeout_s;	      /* 0: none */
	gint64 end_us;		      /* of what runs; 0: none */
};

#define MAX_SQL_BYTES (16 * 1024 * 1024)
#define LOOK_EVERY    10000 /* of SQLite's steps, for an interrupt */

/* --- opening ---------------------------------------------------------------------------------- */

static int add_table(TachoQuery *query, struct query_client *client,
		     const struct query_table *table)
{
	g_autofree gchar *sql =
		g_strdup_printf("CREATE VIRTUAL TABLE %s USING tacho_%s", table->name, table->name);
	g_autofree gchar *module = g_strdup_printf("tacho_%s", table->name);
	int status;

	client->table = table;
	client->data = &query->data;
	status = sqlite3_create_module_v2(query->db, module, table->module, client, NULL);
	return status == SQLITE_OK ? sqlite3_exec(query->db, sql, NULL, NULL, NULL) : status;
}

static int add_view(TachoQuery *query, const struct query_view *view)
{
	g_autofree gchar *sql = g_strdup_printf("CREATE VIEW %s AS %s", view->name, view->select);

	return sqlite3_exec(query->db, sql, NULL, NULL, NULL);
}

static gboolean is_late(const TachoQuery *query)
{
	return query->end_us && g_get_monotonic_time() > query->end_us;
}

/* sqlite3_interrupt() alone is lost when it comes before the first step of a statement. */
static int is_to_end(void *query)
{
	return g_atomic_int_get(&((TachoQuery *)query)->is_interrupted) || is_late(query);
}

static int add_all(TachoQuery *query)
{
	guint n_tables, n_views;
	const struct query_table *const *tables = query_tables(&n_tables);
	const struct query_view *views = query_views(&n_views);
	int status = query_functions_add(query->db, &query->data);

	sqlite3_progress_handler(query->db, LOOK_EVERY, is_to_end, query);
	query->clients = g_new0(struct query_client, n_tables);
	for (guint i = 0; i < n_tables && status == SQLITE_OK; i++)
		status = add_table(query, &query->clients[i], tables[i]);
	for (guint i = 0; i < n_views && status == SQLITE_OK; i++)
		status = add_view(query, &views[i]);
	return status;
}

TachoQuery *query_open_unguarded(const TachoTimeline *timeline, GError **error)
{
	g_autoptr(TachoQuery) query = g_new0(TachoQuery, 1);
	int status = sqlite3_open_v2(
		":memory:", &query->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (status == SQLITE_OK) {
		query_data_init(&query->data, timeline, query->db);
		status = add_all(query);
	}
	if (status == SQLITE_OK)
		return g_steal_pointer(&query);
	g_set_error(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_MEMORY,
		    "cannot set up the tables: %s",
		    query->db ? sqlite3_errmsg(query->db) : sqlite3_errstr(status));
	return NULL;
}

TachoQuery *tacho_query_open(const TachoTimeline *timeline, GError **error)
{
	g_autoptr(TachoQuery) query = query_open_unguarded(timeline, error);

	if (!query)
		return NULL;
	if (query_guard_set(query->db) == SQLITE_OK)
		return g_steal_pointer(&query);
	g_set_error(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_MEMORY,
		    "cannot guard the tables: %s", sqlite3_errmsg(query->db));
	return NULL;
}

void tacho_query_close(TachoQuery *query)
{
	if (!query)
		return;
	query_data_release(&query->data);
	sqlite3_close_v2(query->db);
	g_free(query->clients);
	g_free(query);
}

sqlite3 *query_borrow_db(TachoQuery *query)
{
	return query->db;
}

/* --- errors ----------------------------------------------------------------------------------- */

/* The line of `sql` at `offset`, with a mark under the place; where it is too long, nothing. */
static gchar *show_place(const gchar *line, gsize column)
{
	gsize length = strcspn(line, "\n");
	g_autofree gchar *text = g_strndup(line, length);
	GString *mark = g_string_new(NULL);

	if (length > 200 || column > length)
		return g_string_free(mark, FALSE);
	for (gsize i = 0; i < column; i++)
		if (text[i] == '\t')
			g_string_append_c(mark, '\t');
		else if (((guint8)text[i] & 0xc0) != 0x80) /* a character's first byte */
			g_string_append_c(mark, ' ');
	g_string_append_c(mark, '^');
	g_string_prepend(mark, "\n  ");
	g_string_prepend(mark, text);
	g_string_prepend(mark, "\n  ");
	return g_string_free(mark, FALSE);
}

static const gchar *line_begin(const gchar *sql, const gchar *at)
{
	while (at > sql && at[-1] != '\n')
		at--;
	return at;
}

static guint count_lines(const gchar *begin, const gchar *end)
{
	guint n = 1;

	for (; begin < end; begin++)
		n += *begin == '\n';
	return n;
}

static TachoQueryError error_code(int status)
{
	switch (status & 0xff) {
	case SQLITE_INTERRUPT:
		return TACHO_QUERY_ERROR_INTERRUPTED;
	case SQLITE_AUTH:
		return TACHO_QUERY_ERROR_READ_ONLY;
	case SQLITE_NOMEM:
		return TACHO_QUERY_ERROR_MEMORY;
	default:
		return TACHO_QUERY_ERROR_SQL;
	}
}

/* SQLite says "out of memory", whether the machine has none left or the limit was met. */
static gchar *memory_message(void)
{
	gint64 most_bytes = sqlite3_hard_heap_limit64(-1);

	if (most_bytes <= 0)
		return g_strdup("out of memory");
	return g_strdup_printf(
		"stopped, since it needs more memory than it may have (%" G_GINT64_FORMAT " MiB)",
		most_bytes >> 20);
}

/* `sql` is the whole text, `statement` where in it the one that failed begins. */
static void set_error(TachoQuery *query, const gchar *sql, const gchar *statement, int status,
		      GError **error)
{
	int offset = sqlite3_error_offset(query->db);
	TachoQueryError code = error_code(status);
	const gchar *message = sqlite3_errmsg(query->db);
	const gchar *at, *line;
	g_autofree gchar *place = NULL, *memory = NULL;

	if (code == TACHO_QUERY_ERROR_READ_ONLY)
		message = "tacho runs only statements that read the run";
	else if (code == TACHO_QUERY_ERROR_INTERRUPTED)
		message = is_late(query) ? "stopped, since it took longer than it may"
					 : "interrupted";
	else if (code == TACHO_QUERY_ERROR_MEMORY)
		message = memory = memory_message();
	if (offset < 0) {
		g_set_error(error, TACHO_QUERY_ERROR, code, "%s", message);
		return;
	}
	at = statement + offset;
	line = line_begin(sql, at);
	place = show_place(line, (gsize)(at - line));
	g_set_error(error, TACHO_QUERY_ERROR, code, "%s (line %u, column %ld)%s", message,
		    count_lines(sql, at), g_utf8_pointer_to_offset(line, at) + 1, place);
}

/* --- running ---------------------------------------------------------------------------------- */

struct result {
	sqlite3_stmt *statement;
	guint n_columns;
	TachoCell *cells;
	const gchar **names;
};

static void read_cell(sqlite3_stmt *statement, int column, TachoCell *cell)
{
	*cell = (TachoCell){ 0 };
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		cell->type = TACHO_CELL_INTEGER;
		cell->integer = sqlite3_column_int64(statement, column);
		break;
	case SQLITE_FLOAT:
		cell->type = TACHO_CELL_REAL;
		cell->real = sqlite3_column_double(statement, column);
		break;
	case SQLITE_TEXT:
		cell->type = TACHO_CELL_TEXT;
		cell->text = (const gchar *)sqlite3_column_text(statement, column);
		cell->n_bytes = (gsize)sqlite3_column_bytes(statement, column);
		break;
	case SQLITE_BLOB:
		cell->type = TACHO_CELL_BLOB;
		cell->text = sqlite3_column_blob(statement, column);
		cell->n_bytes = (gsize)sqlite3_column_bytes(statement, column);
		break;
	default:
		cell->type = TACHO_CELL_NULL;
	}
}

static gboolean tell_row(struct result *result, const TachoQueryHandler *handler, gpointer data)
{
	for (guint i = 0; i < result->n_columns; i++)
		read_cell(result->statement, (int)i, &result->cells[i]);
	return handler->row(result->cells, data);
}

/* Step through the statement; an SQLITE_ code, SQLITE_DONE where all is well. */
static int tell_rows(struct result *result, const TachoQueryHandler *handler, gpointer data)
{
	int status;

	while ((status = sqlite3_step(result->statement)) == SQLITE_ROW)
		if (!tell_row(result, handler, data))
			return SQLITE_DONE;
	return status;
}

/* Columns are called as those of `named`. */
static int tell_result(sqlite3_stmt *statement, sqlite3_stmt *named,
		       const TachoQueryHandler *handler, gpointer data)
{
	struct result result = { .statement = statement };
	int status;

	result.n_columns = (guint)sqlite3_column_count(statement);
	if (result.n_columns == 0)
		return sqlite3_step(statement);
	result.cells = g_new0(TachoCell, result.n_columns);
	result.names = g_new0(const gchar *, result.n_columns);
	for (guint i = 0; i < result.n_columns; i++)
		result.names[i] = sqlite3_column_name(named, (int)i);
	handler->begin(result.names, result.n_columns, data);
	status = tell_rows(&result, handler, data);
	handler->end(data);
	g_free(result.cells);
	g_free(result.names);
	return status;
}

/* Run one statement, where there is one: a comment is none. */
static int run_statement(TachoQuery *query, sqlite3_stmt *statement,
			 const TachoQueryHandler *handler, gpointer data)
{
	int status;

	if (!statement)
		return SQLITE_OK;
	if (is_to_end(query))
		return SQLITE_INTERRUPT;
	status = sqlite3_stmt_readonly(statement) ? tell_result(statement, statement, handler, data)
						  : SQLITE_AUTH;
	return status == SQLITE_DONE ? SQLITE_OK : status;
}

/* The same of a statement that several processes answer together; `sql` is its text and what follows. */
static int run_shared(TachoQuery *query, const gchar *sql, sqlite3_stmt *statement,
		      const TachoQueryHandler *handler, gpointer data, GError **error)
{
	struct query_share share;
	int status = SQLITE_ERROR;

	if (!query_share_init(&share, query->db, query->data.timeline, sql, error))
		status = SQLITE_ERROR;
	else if (!share.statement)
		status = run_statement(query, statement, handler, data);
	else
		status = tell_result(share.statement, statement, handler, data);
	if (status != SQLITE_OK && status != SQLITE_DONE && share.statement)
		g_set_error(error, TACHO_QUERY_ERROR, error_code(status), "%s",
			    sqlite3_errmsg(share.rows));
	query_share_release(&share);
	return status == SQLITE_DONE ? SQLITE_OK : status;
}

static gboolean run_all(TachoQuery *query, const gchar *sql, const TachoQueryHandler *handler,
			gpointer data, GError **error)
{
	const gchar *at = sql, *next;

	while (*at) {
		sqlite3_stmt *statement = NULL;
		GError *shared = NULL;
		int status = sqlite3_prepare_v2(query->db, at, -1, &statement, &next);

		if (status == SQLITE_OK && statement && query->data.timeline->share)
			status = run_shared(query, at, statement, handler, data, &shared);
		else if (status == SQLITE_OK)
			status = run_statement(query, statement, handler, data);
		if (shared)
			g_propagate_error(error, shared);
		else if (status != SQLITE_OK)
			set_error(query, sql, at, status, error);
		sqlite3_finalize(statement);
		if (status != SQLITE_OK)
			return FALSE;
		at = next;
	}
	return TRUE;
}

gboolean tacho_query_run(TachoQuery *query, const gchar *sql, const TachoQueryHandler *handler,
			 gpointer data, GError **error)
{
	gboolean is_done;

	query->end_us = query->timeout_s ? g_get_monotonic_time() +
						   query->timeout_s * G_GINT64_CONSTANT(1000000)
					 : 0;
	is_done = run_all(query, sql, handler, data, error);
	query->end_us = 0;

	g_atomic_int_set(&query->is_interrupted, 0);
	return is_done;
}

void tacho_query_set_timeout(TachoQuery *query, guint seconds)
{
	query->timeout_s = seconds;
}

void tacho_query_limit_memory(guint64 bytes)
{
	sqlite3_hard_heap_limit64((sqlite3_int64)MIN(bytes, G_MAXINT64));
}

void tacho_query_interrupt(TachoQuery *query)
{
	g_atomic_int_set(&query->is_interrupted, 1);
	sqlite3_interrupt(query->db);
}

gboolean tacho_query_is_complete(const gchar *sql)
{
	if (sqlite3_complete(sql))
		return TRUE;
	for (;;) {
		sql += strspn(sql, " \t\r\n;");
		if (!g_str_has_prefix(sql, "--"))
			return !*sql;
		sql += strcspn(sql, "\n");
	}
}

/* --- the schema ------------------------------------------------------------------------------- */

gchar **tacho_query_tables(TachoQuery *query)
{
	guint n_tables, n_views;
	const struct query_table *const *tables = query_tables(&n_tables);
	const struct query_view *views = query_views(&n_views);
	GStrvBuilder *names = g_strv_builder_new();
	GStrv result;

	(void)query;
	for (guint i = 0; i < n_tables; i++)
		g_strv_builder_add(names, tables[i]->name);
	for (guint i = 0; i < n_views; i++)
		g_strv_builder_add(names, views[i].name);
	result = g_strv_builder_end(names);
	g_strv_builder_unref(names);
	return result;
}

gchar **tacho_query_columns(TachoQuery *query, const gchar *table)
{
	GStrvBuilder *names = g_strv_builder_new();
	sqlite3_stmt *statement = NULL;
	GStrv result;

	if (sqlite3_prepare_v2(query->db, "SELECT name FROM pragma_table_info(?1)", -1, &statement,
			       NULL) == SQLITE_OK) {
		sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
		while (sqlite3_step(statement) == SQLITE_ROW)
			g_strv_builder_add(names, (const char *)sqlite3_column_text(statement, 0));
	}
	sqlite3_finalize(statement);
	result = g_strv_builder_end(names);
	g_strv_builder_unref(names);
	return result;
}

static const struct query_table *find_table(const gchar *name)
{
	guint n;
	const struct query_table *const *tables = query_tables(&n);

	for (guint i = 0; i < n; i++)
		if (g_ascii_strcasecmp(tables[i]->name, name) == 0)
			return tables[i];
	return NULL;
}

static const struct query_view *find_view(const gchar *name)
{
	guint n;
	const struct query_view *views = query_views(&n);

	for (guint i = 0; i < n; i++)
		if (g_ascii_strcasecmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

const gchar *tacho_query_describe(const gchar *table)
{
	const struct query_table *found = find_table(table);
	const struct query_view *view = find_view(table);

	return found ? found->meaning : view ? view->meaning : NULL;
}

static gchar *schema_of(const gchar *name)
{
	const struct query_table *table = find_table(name);
	const struct query_view *view = find_view(name);

	if (table)
		return query_table_sql(table, TRUE);
	if (view)
		return g_strdup_printf("CREATE VIEW %s AS -- %s\n  %s;\n", view->name,
				       view->meaning, view->select);
	return NULL;
}

gchar *tacho_query_read_file(const gchar *path, GError **error)
{
	gsize length;

	return text_file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, MAX_SQL_BYTES, &length,
			      error);
}

gchar *tacho_query_schema(TachoQuery *query, const gchar *table, GError **error)
{
	g_auto(GStrv) names = tacho_query_tables(query);
	GString *all;
	gchar *schema;

	if (table) {
		schema = schema_of(table);
		if (!schema) {
			g_autofree gchar *there =
				tacho_did_you_mean(table, (const gchar *const *)names);

			g_set_error(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_NO_TABLE,
				    "there is no table '%s'%s", table, there);
		}
		return schema;
	}
	all = g_string_new(NULL);
	for (guint i = 0; names[i]; i++) {
		g_autofree gchar *one = schema_of(names[i]);

		g_string_append_printf(all, "%s%s", i ? "\n" : "", one);
	}
	return g_string_free(all, FALSE);
}
