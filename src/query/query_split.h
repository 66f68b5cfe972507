/* query_split: a statement that sums up slices in two, so that several processes can answer it together.
 *
 *     SELECT name, count(*) AS n, avg(dur) / 1e3 FROM slice WHERE depth = 0 GROUP BY name ORDER BY n DESC LIMIT 5
 *
 *     part    SELECT name, count(*), sum(dur), count(dur) FROM slice WHERE depth = 0 GROUP BY name
 *     whole   SELECT c0, sum(c1) AS "n", (CAST(sum(c2) AS REAL) / sum(c3)) / 1e3 FROM part GROUP BY c0 ORDER BY "n" DESC LIMIT 5
 *
 * Each process asks the part of its own slices, and the whole of the rows of all.
 * (1) Split is one SELECT without another inside, of `slice` and whatever is joined to it by inner joins, whose columns stand in
 *     GROUP BY or in count, sum, min, max or avg. All else is refused with the word that is in the way.
 * (2) What SQLite resolves in one way or another (a name in GROUP BY that is both an alias and a column) is refused, too.
 * (3) The text has been compiled by SQLite: only what it accepts is looked at. */
#ifndef TACHO_QUERY_SPLIT_H
#define TACHO_QUERY_SPLIT_H

#include <glib.h>

struct query_split {
	gchar *part, *whole;
	guint n_groups; /* columns of the part, in the beginning, that rows are grouped by */
	GArray *is_sum; /* gboolean, by column of the part: a sum, which is exact of whole numbers only */
};

/* `columns`: the names of all columns that a word may mean, in small letters. False: it cannot be split, and why; nothing is to be
 * released then. */
gboolean query_split_init(struct query_split *split, const gchar *sql, GHashTable *columns,
			  GError **error);
void query_split_release(struct query_split *split);

#endif
