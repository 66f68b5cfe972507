/* query_internal: what exports need of a query beyond <tacho/query.h>. */
#ifndef TACHO_QUERY_INTERNAL_H
#define TACHO_QUERY_INTERNAL_H

#include <tacho/query.h>

#include <sqlite3.h>

/* The tables, views and functions in a database of its own, in memory, with nothing forbidden yet.
 * Owned by the query. */
TachoQuery *query_open_unguarded(const TachoTimeline *timeline, GError **error);
sqlite3 *query_borrow_db(TachoQuery *query);

#endif
