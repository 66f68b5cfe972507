/* query_functions: what SQL can call beyond SQLite's own functions. */
#ifndef TACHO_QUERY_FUNCTIONS_H
#define TACHO_QUERY_FUNCTIONS_H

#include "query/query_data.h"

/* Make the functions known to `db`; `data` must outlive it. An SQLITE_ code. */
int query_functions_add(sqlite3 *db, struct query_data *data);

/* The regular expression as REGEXP takes it: of bytes, since names may be no UTF-8. */
GRegex *query_regex_new(const gchar *pattern, GError **error);
gboolean query_regex_matches(const GRegex *regex, const gchar *text);

#endif
