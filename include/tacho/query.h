/* query: SQL over a timeline. SQLite reads the timeline's columns where they are; the tables are named
 * as Perfetto names them, docs/query.md lists them.
 *
 * (1) Only what reads may run: no statement changes anything, opens a file or loads code.
 * (2) The timeline must outlive the query and does not change meanwhile. */
#ifndef TACHO_QUERY_H
#define TACHO_QUERY_H

#include <stdio.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

#define TACHO_QUERY_ERROR tacho_query_error_quark()
GQuark tacho_query_error_quark(void);
typedef enum {
	TACHO_QUERY_ERROR_SQL,	       /* the message says where in the text */
	TACHO_QUERY_ERROR_READ_ONLY,   /* a statement that would change something, or open a file */
	TACHO_QUERY_ERROR_INTERRUPTED, /* by tacho_query_interrupt() */
	TACHO_QUERY_ERROR_MEMORY, /* there is none left, or tacho_query_limit_memory() allows no more */
	TACHO_QUERY_ERROR_NO_TABLE,  /* no table of that name */
	TACHO_QUERY_ERROR_NO_FORMAT, /* no output format of that name */
} TachoQueryError;

typedef struct _TachoQuery TachoQuery;

TachoQuery *tacho_query_open(const TachoTimeline *timeline, GError **error);
void tacho_query_close(TachoQuery *query);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoQuery, tacho_query_close)

typedef enum {
	TACHO_CELL_NULL,
	TACHO_CELL_INTEGER,
	TACHO_CELL_REAL,
	TACHO_CELL_TEXT, /* may be no UTF-8 */
	TACHO_CELL_BLOB,
} TachoCellType;

typedef struct {
	TachoCellType type;
	gint64 integer;
	gdouble real;
	const gchar *text; /* TEXT: ends with a NUL; BLOB: `n_bytes` of it */
	gsize n_bytes;
} TachoCell;

/* What is told of each statement that has a result. Names and cells are good during the call. */
typedef struct {
	void (*begin)(const gchar *const *names, guint n_columns, gpointer data);
	gboolean (*row)(const TachoCell *cells, gpointer data); /* false: enough */
	void (*end)(gpointer data);
} TachoQueryHandler;

/* Run the statements in `sql`, one after the other, up to the first that fails. */
gboolean tacho_query_run(TachoQuery *query, const gchar *sql, const TachoQueryHandler *handler,
			 gpointer data, GError **error);
/* What takes longer than that is ended like one that was interrupted. 0, as in the beginning: nothing is. */
void tacho_query_set_timeout(TachoQuery *query, guint seconds);
/* SQLite may have no more memory than that, all queries of the process together: a statement that needs more ends with
 * TACHO_QUERY_ERROR_MEMORY. 0, as in the beginning: any. What it sorts goes into temporary files. */
void tacho_query_limit_memory(guint64 bytes);
/* End the statement that runs; where none does, the next one. From any thread or signal handler. */
void tacho_query_interrupt(TachoQuery *query);
/* Whether the text ends a statement, or holds nothing but blanks and comments. */
gboolean tacho_query_is_complete(const gchar *sql);

/* Names of the tables and views, NULL behind the last; with a table's name, of its columns. To be
 * freed with g_strfreev(). */
gchar **tacho_query_tables(TachoQuery *query);
gchar **tacho_query_columns(TachoQuery *query, const gchar *table);
/* The functions that SQLite does not have by itself. */
gchar **tacho_query_functions(void);
/* The SQL in a file, which may be a pipe; "-": standard input. The caller's; NULL, with the file's name and the
 * reason: it cannot be read, is no text, or has more than 16 MiB. */
gchar *tacho_query_read_file(const gchar *path, GError **error);
/* What a table or view is, in a line; NULL: none of that name. */
const gchar *tacho_query_describe(const gchar *table);
/* The statement that would make the table, a column a line with its meaning behind it; NULL for
 * `table`: all. */
gchar *tacho_query_schema(TachoQuery *query, const gchar *table, GError **error);

/* QUERY_FORMAT(enumerator, name) */
#define TACHO_QUERY_FORMATS(QUERY_FORMAT)                                                          \
	QUERY_FORMAT(TABLE, table) /* aligned, for people */                                       \
	QUERY_FORMAT(CSV, csv)	   /* RFC 4180, NULL: nothing, an empty text: "" */                \
	QUERY_FORMAT(TSV, tsv)	   /* tab, newline, backslash in text are escaped; NULL: \N */     \
	QUERY_FORMAT(JSON, json)   /* an array of row objects for each statement */                \
	QUERY_FORMAT(JSONL, jsonl) /* a row object a line */

typedef enum {
#define TACHO_QUERY_FORMAT_ENUM(enumerator, name) TACHO_QUERY_FORMAT_##enumerator,
	TACHO_QUERY_FORMATS(TACHO_QUERY_FORMAT_ENUM)
#undef TACHO_QUERY_FORMAT_ENUM
		TACHO_N_QUERY_FORMATS
} TachoQueryFormat;

gboolean tacho_query_format_find(const gchar *name, TachoQueryFormat *ret_format, GError **error);

/* Writes results to `out` in a format. */
typedef struct _TachoResultWriter TachoResultWriter;

/* `width` in columns of the terminal, 0: cut nothing. `limit` rows of a result at most, 0: all; where
 * there are more, a line under a table says so. */
TachoResultWriter *tacho_result_writer_new(TachoQueryFormat format, FILE *out, guint width,
					   guint64 limit);
void tacho_result_writer_free(TachoResultWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoResultWriter, tacho_result_writer_free)
void tacho_result_writer_set_format(TachoResultWriter *writer, TachoQueryFormat format);
/* To be given to tacho_query_run() with the writer as its data. */
const TachoQueryHandler *tacho_result_writer_handler(void);

G_END_DECLS

#endif
