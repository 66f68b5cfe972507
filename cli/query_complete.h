/* query_complete: what could stand where the cursor is: names of tables, columns, functions, SQL's own
 * words, dot commands. */
#ifndef TACHO_QUERY_COMPLETE_H
#define TACHO_QUERY_COMPLETE_H

#include <tacho/query.h>

/* Where in `line`, of which the cursor is behind, the word begins that is to be completed. */
const gchar *query_complete_word(const gchar *line);
/* Words that begin as the last of `line` does, without doubles, sorted, NULL behind the last. To be
 * freed with g_strfreev(). */
gchar **query_complete(TachoQuery *query, const gchar *line);

#endif
