/* csv_append: fields of a table of comma-separated values (RFC 4180), appended to a GString. */
#ifndef TACHO_CSV_APPEND_H
#define TACHO_CSV_APPEND_H

#include <glib.h>

/* `text` as it is, in quotes where it must be, or is empty, which tells it from nothing. */
void csv_append_text(GString *line, const gchar *text, gsize n);

#endif
