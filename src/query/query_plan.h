/* query_plan: what xBestIndex tells xFilter: the constraints it will be given, as text that EXPLAIN
 * QUERY PLAN shows: a letter for the column ('a' the first) and one for the operator. "d=bG" is the
 * fourth column = ?, the second >= ?. */
#ifndef TACHO_QUERY_PLAN_H
#define TACHO_QUERY_PLAN_H

#include <glib.h>
#include <sqlite3.h>

struct query_plan {
	sqlite3_index_info *info;
	GString *text;
};

void query_plan_init(struct query_plan *plan, sqlite3_index_info *info);
/* Have xFilter given the value of constraint `index`. `is_sure`: SQLite need not check it again. */
void query_plan_take(struct query_plan *plan, int index, gboolean is_sure);
/* Set cost, rows and text; SQLITE_OK or SQLITE_NOMEM. */
int query_plan_finish(struct query_plan *plan, gdouble n_rows, gdouble cost_of_row);

/* The column and operator of argument `index` of xFilter. */
int query_plan_column(const char *text, int index);
unsigned char query_plan_operator(const char *text, int index);

/* The id column is also called rowid. */
static inline int query_constraint_column(int column)
{
	return MAX(column, 0);
}

#endif
