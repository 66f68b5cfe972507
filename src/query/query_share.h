/* query_share: a statement that several processes answer together, each of its own slices (trace/run_share.h).
 *
 * (1) What the tables of tracks, threads, processes, steps, collectives and problems tell, all have: it is asked as it is.
 * (2) Of slices each has its own: what sums them up is split (query_split.h), and the rows of the parts are exchanged.
 * (3) Numbers of slices (id, parent_id ...) are other ones in each process; what reads them, and all other tables, is refused. */
#ifndef TACHO_QUERY_SHARE_H
#define TACHO_QUERY_SHARE_H

#include <sqlite3.h>

#include <tacho/timeline.h>

struct query_share {
	sqlite3 *rows; /* a database of the table `part`; NULL: the statement is asked as it is */
	sqlite3_stmt *statement; /* the whole, of `rows`; else NULL */
};

/* Find out what `sql`, one statement that has been compiled, is to be asked of; where it is split, ask the part of `db` and gather
 * the rows of all processes. False: it is refused, or has failed. To be released in any case. */
gboolean query_share_init(struct query_share *share, sqlite3 *db, const TachoTimeline *timeline,
			  const gchar *sql, GError **error);
void query_share_release(struct query_share *share);

#endif
