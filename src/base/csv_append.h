/* csv_append: fields of a table of comma-separated values (RFC 4180), appended to a GString. */
#ifndef TACHO_CSV_APPEND_H
#define TACHO_CSV_APPEND_H

#include <glib.h>

/* `text` without its control characters, each a '?'. */
void csv_append_plain(GString *line, const gchar *text, gsize n);

/* The same, in quotes where it must be, or is empty, which tells it from nothing; behind a "'" where a
 * spreadsheet would run it as a formula. */
void csv_append_text(GString *line, const gchar *text, gsize n);

#endif
