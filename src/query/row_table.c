/* row_table: how SQLite walks a table whose rows are those of an array of the timeline: from one id to
 * another, or those that the table's find() knows. */
#include "query/id_range.h"
#include "query/query_plan.h"
#include "query/query_table.h"

#define FOUND_SHARE 0.01 /* of the rows, a guess at what find() leaves */
#define RANGE_SHARE 0.25 /* and a bound of the ids */

struct row_cursor {
	sqlite3_vtab_cursor base;
	struct query_rows rows;
	guint32 at;
};

static gboolean is_findable(const struct query_vtab *vtab, int column)
{
	return vtab->table->find && vtab->table->find(vtab->data, (guint)column, 0, NULL);
}

static gboolean is_by_id(const sqlite3_index_info *info)
{
	return info->nOrderBy == 1 && query_constraint_column(info->aOrderBy[0].iColumn) == 0 &&
	       !info->aOrderBy[0].desc;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct query_vtab *vtab = (struct query_vtab *)base;
	gdouble n_rows = vtab->table->n_rows(vtab->data);
	gboolean is_found = FALSE;
	struct query_plan plan;

	query_plan_init(&plan, info);
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		int column = query_constraint_column(constraint->iColumn);
		gboolean is_equal = constraint->op == SQLITE_INDEX_CONSTRAINT_EQ;

		if (!constraint->usable)
			continue;
		if (column == 0 && id_range_takes(constraint->op)) {
			query_plan_take(&plan, i, FALSE);
			n_rows = is_equal ? 1 : n_rows * RANGE_SHARE;
			if (is_equal)
				info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
		} else if (is_equal && !is_found && is_findable(vtab, column)) {
			query_plan_take(&plan, i, FALSE);
			n_rows *= FOUND_SHARE;
			is_found = TRUE;
		}
	}
	info->orderByConsumed = is_by_id(info);
	return query_plan_finish(&plan, n_rows, 1);
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret_cursor)
{
	struct row_cursor *cursor = g_new0(struct row_cursor, 1);

	(void)vtab;
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	g_free(cursor);
	return SQLITE_OK;
}

/* Rows that `column` = `value` leaves; all where that is not known. */
static gboolean find_rows(struct query_vtab *vtab, int column, sqlite3_value *value,
			  struct query_rows *rows)
{
	struct id_range range = ID_RANGE_ALL;

	id_range_narrow(&range, SQLITE_INDEX_CONSTRAINT_EQ, value);
	if (range.first > range.last) {
		*rows = (struct query_rows){ 0 };
		return TRUE;
	}
	return range.first == range.last &&
	       vtab->table->find(vtab->data, (guint)column, range.first, rows);
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		  sqlite3_value **argv)
{
	struct row_cursor *cursor = (struct row_cursor *)base;
	struct query_vtab *vtab = (struct query_vtab *)base->pVtab;
	struct id_range range = ID_RANGE_ALL;
	gboolean is_found = FALSE;
	guint32 first, end;

	(void)number;
	cursor->at = 0;
	for (int i = 0; i < argc; i++) {
		int column = query_plan_column(plan, i);

		if (column == 0)
			id_range_narrow(&range, query_plan_operator(plan, i), argv[i]);
		else
			is_found = find_rows(vtab, column, argv[i], &cursor->rows);
	}
	if (is_found)
		return SQLITE_OK;
	id_range_rows(&range, vtab->table->n_rows(vtab->data), &first, &end);
	cursor->rows = (struct query_rows){ NULL, first, end - first };
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor)
{
	((struct row_cursor *)cursor)->at++;
	return SQLITE_OK;
}

static int is_end(sqlite3_vtab_cursor *base)
{
	struct row_cursor *cursor = (struct row_cursor *)base;

	return cursor->at >= cursor->rows.n;
}

static guint32 row_at(const struct row_cursor *cursor)
{
	const struct query_rows *rows = &cursor->rows;

	return rows->rows ? rows->rows[cursor->at] : rows->first + cursor->at;
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
	struct query_vtab *vtab = (struct query_vtab *)base->pVtab;
	guint32 row = row_at((struct row_cursor *)base);

	if (column == 0)
		sqlite3_result_int64(result, row);
	else
		vtab->table->cell(vtab->data, row, (guint)column, result);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
	*ret_rowid = row_at((struct row_cursor *)cursor);
	return SQLITE_OK;
}

const sqlite3_module query_row_module = {
	.xCreate = query_vtab_connect,
	.xConnect = query_vtab_connect,
	.xBestIndex = best_index,
	.xDisconnect = query_vtab_disconnect,
	.xDestroy = query_vtab_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = is_end,
	.xColumn = column_value,
	.xRowid = rowid,
};
