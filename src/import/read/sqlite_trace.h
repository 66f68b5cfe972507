/* sqlite_trace: tables of an SQLite file that somebody else wrote, and who may mean harm.
 *
 * (1) The file is opened for reading, as one that does not change: no journal is played back, no lock is
 *     taken, nothing is made beside it. One that is compressed, or shorter than it says, is copied to
 *     a temporary file without a name.
 * (2) Only ordinary tables of its schema are used, and only their ordinary columns: views, virtual tables and
 *     generated columns run what the file's author wrote. SQLite's own fences for schemas that are not trusted are
 *     up, and its limits low.
 * (3) Columns are found by name; one that is not there, or whose value in a row is of another type, is no
 *     value. */
#ifndef TACHO_SQLITE_TRACE_H
#define TACHO_SQLITE_TRACE_H

#include <tacho/import.h>
#include <tacho/timeline.h>

#include "import/read/sniff_input.h"
#include "trace/source.h"

typedef struct sqlite_trace sqlite_trace;

/* Whether a file that begins with these bytes is SQLite's. */
gboolean sqlite_trace_sniff(const struct sniff_input *input);
/* Whether it also has a table (3) whose name is, or where it ends with '*' begins with, `table`. Opens
 * the file; where that fails, the first bytes must have the name. */
gboolean sqlite_trace_sniff_table(const struct sniff_input *input, const gchar *table);

/* Errors are of TACHO_IMPORT_ERROR or G_FILE_ERROR, and name the file. */
struct sqlite_trace *sqlite_trace_open(const gchar *path, GError **error);
void sqlite_trace_close(struct sqlite_trace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sqlite_trace, sqlite_trace_close)

/* Names of the ordinary tables that begin with `prefix`, in the order of names; NULL-terminated, to be
 * freed with g_strfreev(). */
gchar **sqlite_trace_tables(struct sqlite_trace *trace, const gchar *prefix);
gboolean sqlite_trace_has_table(struct sqlite_trace *trace, const gchar *table);
gboolean sqlite_trace_has_column(struct sqlite_trace *trace, const gchar *table,
				 const gchar *column);
/* How many bytes the file lacks of what its first page says it has; 0 where it says nothing. */
guint64 sqlite_trace_missing_bytes(const struct sqlite_trace *trace);
/* Make a problem of that. */
void sqlite_trace_report(const struct sqlite_trace *trace, TachoTimeline *timeline);

/* The rows of a table, one after the other, in the order they are stored. */
struct sqlite_rows {
	struct sqlite_trace *trace;
	struct sqlite3_stmt *statement; /* NULL: no such table, no rows */
	const gchar *table;
	gint64 row; /* rowid; 0 in a table that has none */
	gint64 n;   /* rows read */
};

/* Begin to read `columns` (`n` names, those that are missing have no values) of `table`, whose name must
 * last as long as the rows. */
void sqlite_rows_init(struct sqlite_rows *rows, struct sqlite_trace *trace, const gchar *table,
		      const gchar *const *columns, guint n);
void sqlite_rows_release(struct sqlite_rows *rows);
/* Go to the next row. False: there is none, or what follows is broken: then `*ret_failure` is what SQLite says,
 * to be freed with g_free(), else NULL. */
gboolean sqlite_rows_next(struct sqlite_rows *rows, gchar **ret_failure);
/* (3). Values of the row are good until the next call of sqlite_rows_next(). Text is valid UTF-8. */
gboolean sqlite_rows_integer(const struct sqlite_rows *rows, guint column, gint64 *ret_value);
gint64 sqlite_rows_integer_or(const struct sqlite_rows *rows, guint column, gint64 otherwise);
gboolean sqlite_rows_number(const struct sqlite_rows *rows, guint column, gdouble *ret_value);
const gchar *sqlite_rows_text(const struct sqlite_rows *rows, guint column); /* or NULL */

/* --- args ----------------------------------------------------------------------------------- */

/* Have the timeline read what else is known of its slices from the rows they came from. Takes over the
 * trace, which then ends with the timeline. NULL: there are too many files. */
struct sqlite_args;
struct sqlite_args *sqlite_args_new(TachoTimeline *timeline, struct sqlite_trace *trace,
				    const gchar *path, GError **error);
/* A number for `table`, to be given to sqlite_args_handle(). `bytes_column` says how much a copy, a fill or a
 * collective of that table is of; NULL: nothing does. */
guint sqlite_args_add_table(struct sqlite_args *args, const gchar *table,
			    const gchar *bytes_column);
/* The handle of that row for a slice; 0 where it cannot be named. */
guint64 sqlite_args_handle(const struct sqlite_args *args, guint table, gint64 row);

#endif
