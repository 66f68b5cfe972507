/* query_guard: what SQL may do: read the run, and nothing else. */
#ifndef TACHO_QUERY_GUARD_H
#define TACHO_QUERY_GUARD_H

#include <sqlite3.h>

/* From here on `db` runs nothing that writes, opens a file or loads code. An SQLITE_ code. */
int query_guard_set(sqlite3 *db);
/* The authorizer of such a database, for those who have set another for a moment. */
int query_guard_allow(void *data, int action, const char *first, const char *second,
		      const char *database, const char *inner);

#endif
