/* csv_reader: comma-separated values with a line of names, row by row, from a file of any size.
 *
 * (1) A value in quotes may hold commas, line ends and doubled quotes. Numbers may be in quotes.
 * (2) Columns are found by name; one that is not there, or that a row does not reach, has no value. */
#ifndef TACHO_CSV_READER_H
#define TACHO_CSV_READER_H

#include <glib.h>

typedef struct csv_reader csv_reader;

/* Open the file and read its names. Errors name the file. */
struct csv_reader *csv_reader_open(const gchar *path, GError **error);
void csv_reader_close(struct csv_reader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(csv_reader, csv_reader_close)

/* The number of the column of that name, or -1. */
gint csv_reader_column(const struct csv_reader *reader, const gchar *name);
guint csv_reader_n_columns(const struct csv_reader *reader);
const gchar *csv_reader_name(const struct csv_reader *reader, guint column);

/* Go to the next row that is not empty; its values are good until the next call. False: there is none. */
gboolean csv_reader_next(struct csv_reader *reader);
/* Go on with the row at the decoded `offset`. */
gboolean csv_reader_seek(struct csv_reader *reader, guint64 offset);
/* Where the row began in the decoded file. */
guint64 csv_reader_offset(const struct csv_reader *reader);
/* Valid UTF-8; NULL: (2). */
const gchar *csv_reader_text(const struct csv_reader *reader, gint column);
/* A whole number, in quotes or not, or the one that the text ends in ("Agent 4"). */
gboolean csv_reader_integer(const struct csv_reader *reader, gint column, gint64 *ret_value);
/* Why nothing more could be read: a file that cannot be read or decoded, or a row that is too long; NULL: it ended. */
const gchar *csv_reader_problem(const struct csv_reader *reader);
gdouble csv_reader_done(const struct csv_reader *reader);

#endif
