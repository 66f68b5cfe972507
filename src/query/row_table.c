/* row_table: how SQLite walks a table whose rows are those of an array of the timeline: from one id to
 * another, or those that a column's find() knows; and the values that it reads there. */
#include "base/number.h"
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

static const GArray *array_of(const struct query_table *table, const struct query_data *data)
{
	return G_STRUCT_MEMBER(GArray *, data->timeline, table->array);
}

static guint32 count_rows(const struct query_vtab *vtab)
{
	if (vtab->table->count)
		return vtab->table->count(vtab->data);
	return array_of(vtab->table, vtab->data)->len;
}

static gboolean is_by_id(const sqlite3_index_info *info)
{
	return info->nOrderBy == 1 && query_constraint_column(info->aOrderBy[0].iColumn) == 0 &&
	       !info->aOrderBy[0].desc;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct query_vtab *vtab = (struct query_vtab *)base;
	gdouble n_rows = count_rows(vtab);
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
		} else if (is_equal && !is_found && vtab->table->columns[column].find) {
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
	       vtab->table->columns[column].find(vtab->data, range.first, rows);
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
	id_range_rows(&range, count_rows(vtab), &first, &end);
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

/* --- values ----------------------------------------------------------------------------------- */

static gint64 read_integer(const void *field, enum query_width width)
{
	switch (width) {
	case QUERY_U8:
		return *(const guint8 *)field;
	case QUERY_I32:
		return *(const gint32 *)field;
	case QUERY_U32:
		return *(const guint32 *)field;
	case QUERY_I64:
		return *(const gint64 *)field;
	case QUERY_U64:
		return (gint64) * (const guint64 *)field;
	case QUERY_NO_INTEGER:
		break;
	}
	return 0;
}

static void show_integer(sqlite3_context *result, gint64 value, gboolean is_known)
{
	if (is_known)
		sqlite3_result_int64(result, value);
}

/* As SQLite keeps it in a NUMERIC column. */
static void show_double(sqlite3_context *result, gdouble value)
{
	if (number_is_whole(value))
		sqlite3_result_int64(result, (gint64)value);
	else
		sqlite3_result_double(result, value);
}

static void show_rank(sqlite3_context *result, const struct query_data *data, guint32 rank_index)
{
	gint32 rank = tacho_timeline_rank(data->timeline, rank_index)->rank;

	show_integer(result, rank, rank >= 0);
}

static void show_field(sqlite3_context *result, const struct query_data *data,
		       const struct query_column *column, const void *field)
{
	gint64 value = read_integer(field, column->width);

	switch (column->reading) {
	case QUERY_AS_IS:
		sqlite3_result_int64(result, value);
		break;
	case QUERY_ID:
		show_integer(result, value, value != TACHO_NONE);
		break;
	case QUERY_OPTIONAL:
		show_integer(result, value, value >= 0);
		break;
	case QUERY_KNOWN:
		show_integer(result, value, value != 0);
		break;
	case QUERY_FLAG:
		sqlite3_result_int(result, value != 0);
		break;
	case QUERY_PROCESS:
		query_result_rank(result, data, (guint32)value);
		break;
	case QUERY_RANK_INDEX:
		show_rank(result, data, (guint32)value);
		break;
	case QUERY_STRING:
		query_result_text(result, tacho_timeline_string(data->timeline, (guint32)value));
		break;
	case QUERY_CHARACTERS:
		query_result_text(result, *(gchar *const *)field);
		break;
	case QUERY_DOUBLE:
		show_double(result, *(const gdouble *)field);
		break;
	case QUERY_NO_FIELD:
	case QUERY_ROW_ID:
		break;
	}
}

static gconstpointer borrow_row(const struct query_vtab *vtab, guint32 row)
{
	const GArray *array;

	if (vtab->table->row_at)
		return vtab->table->row_at(vtab->data, row);
	array = array_of(vtab->table, vtab->data);
	return array->data + (gsize)row * g_array_get_element_size((GArray *)array);
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *result, int index)
{
	struct query_vtab *vtab = (struct query_vtab *)base->pVtab;
	const struct query_column *column = &vtab->table->columns[index];
	guint32 row = row_at((struct row_cursor *)base);

	if (column->reading == QUERY_ROW_ID)
		sqlite3_result_int64(result, row);
	else if (column->cell)
		column->cell(vtab->data, row, result);
	else
		show_field(result, vtab->data, column,
			   (const gchar *)borrow_row(vtab, row) + column->offset);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
	*ret_rowid = row_at((struct row_cursor *)cursor);
	return SQLITE_OK;
}

const sqlite3_module query_row_module = QUERY_MODULE;
