#include "import/read/sqlite_trace.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_stream.h"
#include "base/json_memory.h"
#include "base/order.h"
#include "import/read/device_args.h"

#define MAGIC		   "SQLite format 3"
#define MAX_UNPACKED_BYTES (G_GUINT64_CONSTANT(16) << 30)

enum {
	MAX_VALUE_BYTES = 64 * 1024 * 1024,
	MAX_SQL_BYTES = 1024 * 1024,
	MAX_COLUMNS = 500, /* of a table */
	MAX_TABLES = 1 << 12,
	COPY_BYTES = 256 * 1024,
};

struct sqlite_trace {
	sqlite3 *db;
	gchar *path; /* as the user named it */
	gchar *temporary;
	guint64 missing_bytes;
};

/* --- opening -------------------------------------------------------------------------------- */

gboolean sqlite_trace_sniff(const struct sniff_input *input)
{
	return input->n_head >= sizeof(MAGIC) && memcmp(input->head, MAGIC, sizeof(MAGIC)) == 0;
}

/* (2): what may be asked while a statement is compiled: reading. */
static int allow(void *data, int action, const char *first, const char *second,
		 const char *database, const char *inner)
{
	(void)data, (void)second, (void)database, (void)inner;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
		return SQLITE_OK;
	case SQLITE_PRAGMA:
		return g_ascii_strcasecmp(first, "table_info") == 0 ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static gboolean set_fences(sqlite3 *db)
{
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
	sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
	return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK &&
	       sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK &&
	       sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL) == SQLITE_OK &&
	       sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL) == SQLITE_OK &&
	       sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL) == SQLITE_OK &&
	       sqlite3_exec(db,
			    "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
			    "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384",
			    NULL, NULL, NULL) == SQLITE_OK &&
	       sqlite3_set_authorizer(db, allow, NULL) == SQLITE_OK;
}

/* What the first page says of the file's size, against what there is. */
static guint64 find_missing(FILE *file)
{
	guint8 head[100];
	guint64 page_bytes, n_pages, size;
	long end;

	if (fread(head, 1, sizeof(head), file) != sizeof(head) || fseek(file, 0, SEEK_END) != 0)
		return 0;
	end = ftell(file);
	size = end < 0 ? 0 : (guint64)end;
	page_bytes = (guint64)head[16] << 8 | head[17];
	if (page_bytes == 1)
		page_bytes = 65536;
	n_pages = (guint64)head[28] << 24 | (guint64)head[29] << 16 | (guint64)head[30] << 8 |
		  head[31];
	/* the size counts where the number of changes is that of who wrote it */
	if (memcmp(head + 24, head + 92, 4) != 0)
		return 0;
	return page_bytes * n_pages > size ? page_bytes * n_pages - size : 0;
}

static gboolean fail_io(const gchar *path, const gchar *what, GError **error)
{
	int saved = errno;

	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(saved), "%s: %s: %s", path, what,
		    g_strerror(saved));
	return FALSE;
}

/* Unpack what is left of the stream. What comes before an error is kept: tables may be whole. */
static gboolean copy_stream(ByteStream *stream, int fd, const gchar *path, GError **error)
{
	g_autofree guint8 *bytes = g_malloc(COPY_BYTES);
	guint64 n_copied = 0;
	gssize n;

	while ((n = byte_stream_read(stream, bytes, COPY_BYTES, NULL)) > 0) {
		n_copied += (guint64)n;
		if (n_copied > MAX_UNPACKED_BYTES) {
			g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
				    "%s: it unpacks to more than %" G_GUINT64_FORMAT
				    " bytes, which is the limit",
				    path, MAX_UNPACKED_BYTES);
			return FALSE;
		}
		for (gssize done = 0; done < n;) {
			gssize written = write(fd, bytes + done, (gsize)(n - done));

			if (written < 0)
				return fail_io(path, "cannot be unpacked", error);
			done += written;
		}
	}
	return TRUE;
}

static guint64 find_missing_at(const gchar *path)
{
	FILE *file = fopen(path, "rbe");
	guint64 missing = file ? find_missing(file) : 0;

	if (file)
		fclose(file);
	return missing;
}

/* SQLite reads nothing of a file that is shorter than it should be: what is missing becomes a hole, where it
 * finds no pages. */
static gboolean fill_up(struct sqlite_trace *trace, int fd, GError **error)
{
	struct stat status;

	trace->missing_bytes = find_missing_at(trace->temporary);
	if (!trace->missing_bytes)
		return TRUE;
	if (trace->missing_bytes > MAX_UNPACKED_BYTES || fstat(fd, &status) != 0 ||
	    ftruncate(fd, status.st_size + (off_t)trace->missing_bytes) != 0)
		return fail_io(trace->path, "cannot be filled up where it is cut", error);
	return TRUE;
}

/* (1): have what is compressed, or cut off, in a file of our own. */
static gboolean unpack(struct sqlite_trace *trace, GError **error)
{
	g_autoptr(ByteStream) stream = byte_stream_open(trace->path, error);
	gboolean is_done;
	int fd;

	if (!stream)
		return FALSE;
	if (byte_stream_coding(stream) == BYTE_CODING_NONE && !find_missing_at(trace->path))
		return TRUE;
	trace->temporary = g_build_filename(g_get_tmp_dir(), "tacho-sqlite-XXXXXX", NULL);
	fd = g_mkstemp(trace->temporary);
	if (fd < 0) {
		g_clear_pointer(&trace->temporary, g_free);
		return fail_io(trace->path, "cannot be unpacked", error);
	}
	is_done = copy_stream(stream, fd, trace->path, error) && fill_up(trace, fd, error);
	close(fd);
	return is_done;
}

static gboolean can_read_schema(sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(db, "SELECT name FROM sqlite_master", -1, &statement, NULL);

	while (status == SQLITE_OK && (status = sqlite3_step(statement)) == SQLITE_ROW)
		status = SQLITE_OK;
	sqlite3_finalize(statement);
	return status == SQLITE_DONE;
}

static gboolean open_db(struct sqlite_trace *trace, GError **error)
{
	const gchar *path = trace->temporary ? trace->temporary : trace->path;
	g_autofree gchar *absolute = g_canonicalize_filename(path, NULL);
	g_autofree gchar *location = g_filename_to_uri(absolute, NULL, error);
	g_autofree gchar *uri =
		location ? g_strconcat(location, "?mode=ro&immutable=1", NULL) : NULL;
	int status;

	if (!uri)
		return FALSE;
	status =
		sqlite3_open_v2(uri, &trace->db,
				SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	if (status == SQLITE_OK && set_fences(trace->db) && can_read_schema(trace->db))
		return TRUE;
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
		    "%s: SQLite says: %s (%" G_GUINT64_FORMAT " bytes of the file are missing)",
		    trace->path, trace->db ? sqlite3_errmsg(trace->db) : sqlite3_errstr(status),
		    trace->missing_bytes);
	return FALSE;
}

struct sqlite_trace *sqlite_trace_open(const gchar *path, GError **error)
{
	struct sqlite_trace *trace = g_new0(struct sqlite_trace, 1);
	gboolean is_open;

	trace->path = g_strdup(path);
	is_open = unpack(trace, error) && open_db(trace, error);
	if (trace->temporary)
		g_unlink(trace->temporary); /* SQLite has it open */
	if (!is_open) {
		sqlite_trace_close(trace);
		return NULL;
	}
	return trace;
}

void sqlite_trace_close(struct sqlite_trace *trace)
{
	if (!trace)
		return;
	sqlite3_close(trace->db);
	g_free(trace->temporary);
	g_free(trace->path);
	g_free(trace);
}

guint64 sqlite_trace_missing_bytes(const struct sqlite_trace *trace)
{
	return trace->missing_bytes;
}

void sqlite_trace_report(const struct sqlite_trace *trace, TachoTimeline *timeline)
{
	if (trace->missing_bytes)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s: %" G_GUINT64_FORMAT
					   " bytes are missing at the end of the file",
					   trace->path, trace->missing_bytes);
}

/* --- the schema ----------------------------------------------------------------------------- */

/* A table whose rows are stored, not computed. */
static gboolean is_ordinary(const gchar *name, const gchar *sql)
{
	return name && sql && g_ascii_strncasecmp(sql, "CREATE TABLE", 12) == 0 &&
	       !g_str_has_prefix(name, "sqlite_") && g_utf8_validate(name, -1, NULL);
}

gchar **sqlite_trace_tables(struct sqlite_trace *trace, const gchar *prefix)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	sqlite3_stmt *statement = NULL;

	sqlite3_prepare_v2(trace->db, "SELECT name, sql FROM sqlite_master", -1, &statement, NULL);
	while (statement && names->len < MAX_TABLES && sqlite3_step(statement) == SQLITE_ROW) {
		const gchar *name = (const gchar *)sqlite3_column_text(statement, 0);

		if (is_ordinary(name, (const gchar *)sqlite3_column_text(statement, 1)) &&
		    g_str_has_prefix(name, prefix))
			g_ptr_array_add(names, g_strdup(name));
	}
	sqlite3_finalize(statement);
	g_ptr_array_sort(names, order_text);
	g_ptr_array_add(names, NULL);
	return (gchar **)g_ptr_array_steal(names, NULL);
}

gboolean sqlite_trace_has_table(struct sqlite_trace *trace, const gchar *table)
{
	g_auto(GStrv) names = sqlite_trace_tables(trace, table);

	return g_strv_contains((const gchar *const *)names, table);
}

/* Names of the stored columns, each once; NULL: none. table_info() leaves out what is generated. */
static GPtrArray *list_columns(struct sqlite_trace *trace, const gchar *table)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	char *sql = sqlite3_mprintf("PRAGMA table_info(%Q)", table);
	sqlite3_stmt *statement = NULL;

	if (sql)
		sqlite3_prepare_v2(trace->db, sql, -1, &statement, NULL);
	while (statement && names->len < MAX_COLUMNS && sqlite3_step(statement) == SQLITE_ROW)
		g_ptr_array_add(names, g_strdup((const gchar *)sqlite3_column_text(statement, 1)));
	sqlite3_finalize(statement);
	sqlite3_free(sql);
	return names;
}

static gboolean has_name(const GPtrArray *names, const gchar *name)
{
	for (guint i = 0; i < names->len; i++)
		if (g_ascii_strcasecmp(names->pdata[i], name) == 0)
			return TRUE;
	return FALSE;
}

gboolean sqlite_trace_has_column(struct sqlite_trace *trace, const gchar *table,
				 const gchar *column)
{
	g_autoptr(GPtrArray) names = list_columns(trace, table);

	return has_name(names, column);
}

gboolean sqlite_trace_sniff_table(const struct sniff_input *input, const gchar *table)
{
	g_autoptr(sqlite_trace) trace = NULL;
	g_auto(GStrv) names = NULL;
	g_autofree gchar *prefix = g_strdup(table);
	gsize n = strlen(table);
	gboolean is_prefix = n && table[n - 1] == '*';

	if (!sqlite_trace_sniff(input))
		return FALSE;
	if (is_prefix)
		prefix[n - 1] = '\0';
	trace = sqlite_trace_open(input->path, NULL);
	if (!trace)
		return memmem(input->head, input->n_head, prefix, strlen(prefix)) != NULL;
	names = sqlite_trace_tables(trace, prefix);
	return is_prefix ? names[0] != NULL : g_strv_contains((const gchar *const *)names, table);
}

/* --- rows ----------------------------------------------------------------------------------- */

static sqlite3_stmt *prepare(struct sqlite_trace *trace, const GString *sql)
{
	sqlite3_stmt *statement = NULL;

	sqlite3_prepare_v2(trace->db, sql->str, (int)sql->len, &statement, NULL);
	return statement;
}

static void append_name(GString *sql, const gchar *name)
{
	char *quoted = sqlite3_mprintf("\"%w\"", name);

	g_string_append(sql, quoted ? quoted : "NULL");
	sqlite3_free(quoted);
}

void sqlite_rows_init(struct sqlite_rows *rows, struct sqlite_trace *trace, const gchar *table,
		      const gchar *const *columns, guint n)
{
	g_autoptr(GString) sql = g_string_new("SELECT rowid");
	g_autoptr(GPtrArray) names = NULL;

	*rows = (struct sqlite_rows){ .trace = trace, .table = table };
	if (!sqlite_trace_has_table(trace, table))
		return;
	names = list_columns(trace, table);
	for (guint i = 0; i < n; i++) {
		g_string_append(sql, ", ");
		if (has_name(names, columns[i]))
			append_name(sql, columns[i]);
		else
			g_string_append(sql, "NULL");
	}
	g_string_append(sql, " FROM ");
	append_name(sql, table);
	rows->statement = prepare(trace, sql);
	if (rows->statement)
		return;
	/* a table without rowid */
	g_string_erase(sql, 0, strlen("SELECT rowid"));
	g_string_prepend(sql, "SELECT NULL");
	rows->statement = prepare(trace, sql);
}

void sqlite_rows_release(struct sqlite_rows *rows)
{
	sqlite3_finalize(rows->statement);
	rows->statement = NULL;
}

gboolean sqlite_rows_next(struct sqlite_rows *rows, gchar **ret_failure)
{
	int status = rows->statement ? sqlite3_step(rows->statement) : SQLITE_DONE;

	*ret_failure = NULL;
	if (status == SQLITE_ROW) {
		rows->row = sqlite3_column_int64(rows->statement, 0);
		rows->n++;
		return TRUE;
	}
	if (status != SQLITE_DONE)
		*ret_failure = g_strdup(sqlite3_errmsg(rows->trace->db));
	return FALSE;
}

gboolean sqlite_rows_integer(const struct sqlite_rows *rows, guint column, gint64 *ret_value)
{
	if (sqlite3_column_type(rows->statement, (int)column + 1) != SQLITE_INTEGER)
		return FALSE;
	*ret_value = sqlite3_column_int64(rows->statement, (int)column + 1);
	return TRUE;
}

gint64 sqlite_rows_integer_or(const struct sqlite_rows *rows, guint column, gint64 otherwise)
{
	sqlite_rows_integer(rows, column, &otherwise);
	return otherwise;
}

gboolean sqlite_rows_number(const struct sqlite_rows *rows, guint column, gdouble *ret_value)
{
	int type = sqlite3_column_type(rows->statement, (int)column + 1);

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return FALSE;
	*ret_value = sqlite3_column_double(rows->statement, (int)column + 1);
	return TRUE;
}

const gchar *sqlite_rows_text(const struct sqlite_rows *rows, guint column)
{
	const gchar *text;

	if (sqlite3_column_type(rows->statement, (int)column + 1) != SQLITE_TEXT)
		return NULL;
	text = (const gchar *)sqlite3_column_text(rows->statement, (int)column + 1);
	return text && g_utf8_validate(text, -1, NULL) ? text : NULL;
}

/* --- args ----------------------------------------------------------------------------------- */

/* A place is the number of the table and the row. */
#define ROW_BITS 40

struct args_table {
	gchar *name;
	gchar *bytes_column;
	sqlite3_stmt *statement; /* of all columns of a row; made when first asked for */
	gboolean is_broken;
};

struct sqlite_args {
	struct foreign_reader reader;
	struct sqlite_trace *trace;
	guint32 foreign;
	GPtrArray *tables; /* struct args_table; complete before anybody asks */
	pthread_mutex_t lock;
};

static void free_table(gpointer data)
{
	struct args_table *table = data;

	sqlite3_finalize(table->statement);
	g_free(table->name);
	g_free(table->bytes_column);
	g_free(table);
}

static void make_statement(struct sqlite_args *args, struct args_table *table)
{
	g_autoptr(GPtrArray) names = list_columns(args->trace, table->name);
	g_autoptr(GString) sql = g_string_new("SELECT ");

	for (guint i = 0; i < names->len; i++) {
		if (i)
			g_string_append(sql, ", ");
		append_name(sql, names->pdata[i]);
	}
	g_string_append(sql, " FROM ");
	append_name(sql, table->name);
	g_string_append(sql, " WHERE rowid = ?");
	table->statement = prepare(args->trace, sql);
	table->is_broken = !table->statement;
}

/* The row at `place`, to be read before sqlite3_reset(). NULL: there is none. Under the lock. */
static struct args_table *find_place(struct sqlite_args *args, guint64 place)
{
	guint64 index = place >> ROW_BITS;
	struct args_table *table;

	if (index >= args->tables->len)
		return NULL;
	table = args->tables->pdata[index];
	if (!table->statement && !table->is_broken)
		make_statement(args, table);
	if (table->is_broken)
		return NULL;
	sqlite3_bind_int64(table->statement, 1,
			   (gint64)(place & ((G_GUINT64_CONSTANT(1) << ROW_BITS) - 1)));
	if (sqlite3_step(table->statement) == SQLITE_ROW)
		return table;
	sqlite3_reset(table->statement);
	return NULL;
}

/* How much the row at `place` is of. */
static gboolean read_bytes(struct sqlite_args *args, guint64 place, guint64 *ret_bytes)
{
	struct args_table *table;
	gboolean is_found = FALSE;

	pthread_mutex_lock(&args->lock);
	table = find_place(args, place);
	for (int i = 0; table && table->bytes_column && i < sqlite3_column_count(table->statement);
	     i++) {
		const gchar *name = sqlite3_column_name(table->statement, i);
		gint64 value = sqlite3_column_int64(table->statement, i);

		if (!name || g_ascii_strcasecmp(name, table->bytes_column) != 0 || value < 0)
			continue;
		*ret_bytes = (guint64)value;
		is_found = sqlite3_column_type(table->statement, i) == SQLITE_INTEGER;
		break;
	}
	if (table)
		sqlite3_reset(table->statement);
	pthread_mutex_unlock(&args->lock);
	return is_found;
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *kernel)
{
	guint64 bytes;

	if (!read_bytes((struct sqlite_args *)reader, place, &bytes))
		return FALSE;
	*kernel = (TachoKernelArgs){ .bytes = bytes, .dtype = "", .text = "" };
	return TRUE;
}

static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *collective)
{
	guint64 bytes;

	if (!read_bytes((struct sqlite_args *)reader, place, &bytes))
		return FALSE;
	*collective = (TachoCollectiveArgs){ .bytes = bytes };
	return TRUE;
}

static void write_value(JsonWriter *json, sqlite3_stmt *statement, int column)
{
	g_autofree gchar *text = NULL;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		json_writer_integer(json, sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		json_writer_number(json, sqlite3_column_double(statement, column));
		break;
	case SQLITE_TEXT:
		json_writer_string(json, (const gchar *)sqlite3_column_text(statement, column));
		break;
	default:
		text = g_strdup_printf("blob of %d bytes", sqlite3_column_bytes(statement, column));
		json_writer_string(json, text);
	}
}

static gchar *tell_row(sqlite3_stmt *statement)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);

	if (!json)
		return NULL;
	json_writer_begin_object(json);
	for (int i = 0; i < sqlite3_column_count(statement); i++) {
		const gchar *name = sqlite3_column_name(statement, i);

		if (!name || sqlite3_column_type(statement, i) == SQLITE_NULL)
			continue;
		json_writer_key(json, name);
		write_value(json, statement, i);
	}
	json_writer_end_object(json);
	return json_memory_take(&memory, json);
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	struct sqlite_args *args = (struct sqlite_args *)reader;
	struct args_table *table;
	gchar *text = NULL;

	pthread_mutex_lock(&args->lock);
	table = find_place(args, place);
	if (table) {
		text = tell_row(table->statement);
		sqlite3_reset(table->statement);
	}
	pthread_mutex_unlock(&args->lock);
	return text;
}

static void free_args(struct foreign_reader *reader)
{
	struct sqlite_args *args = (struct sqlite_args *)reader;

	g_ptr_array_unref(args->tables);
	sqlite_trace_close(args->trace);
	pthread_mutex_destroy(&args->lock);
	g_free(args);
}

struct sqlite_args *sqlite_args_new(TachoTimeline *timeline, struct sqlite_trace *trace,
				    const gchar *path, GError **error)
{
	struct sqlite_args *args = g_new0(struct sqlite_args, 1);

	args->reader = (struct foreign_reader){ .kernel = get_kernel,
						.collective = get_collective,
						.args_json = get_args_json,
						.launch_shape = device_args_launch_shape,
						.copy = device_args_copy,
						.free = free_args };
	args->trace = trace;
	args->tables = g_ptr_array_new_with_free_func(free_table);
	pthread_mutex_init(&args->lock, NULL);
	args->foreign = tacho_source_take_foreign(timeline->source, &args->reader);
	if (args->foreign != SOURCE_MAX_FOREIGN)
		return args;
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
		    "%s: there are more files than can be open at once; name fewer", path);
	return NULL;
}

guint sqlite_args_add_table(struct sqlite_args *args, const gchar *table, const gchar *bytes_column)
{
	struct args_table *row = g_new0(struct args_table, 1);

	row->name = g_strdup(table);
	row->bytes_column = g_strdup(bytes_column);
	g_ptr_array_add(args->tables, row);
	return args->tables->len - 1;
}

guint64 sqlite_args_handle(const struct sqlite_args *args, guint table, gint64 row)
{
	if (row <= 0 || row >= G_GINT64_CONSTANT(1) << ROW_BITS ||
	    table >= (SOURCE_MAX_PLACE >> ROW_BITS))
		return 0;
	return tacho_source_foreign_handle(args->foreign,
					   (guint64)table << ROW_BITS | (guint64)row);
}
