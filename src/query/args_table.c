/* args_table: the table `args`: what is known of a slice beyond its columns, a row a key. Made for one
 * slice at a time, when a query comes to it; where it names a key, only the part that may have it. */
#include "query/arg_list.h"
#include "query/id_range.h"
#include "query/query_plan.h"
#include "query/query_table.h"

#define GUESSED_ARGS 8 /* of a slice */

enum args_column {
	ARGS_ID,
	ARGS_ARG_SET_ID,
	ARGS_FLAT_KEY,
	ARGS_KEY,
	ARGS_VALUE_TYPE,
	ARGS_INT_VALUE,
	ARGS_STRING_VALUE,
	ARGS_REAL_VALUE,
	ARGS_DISPLAY_VALUE,
};

static const struct query_column columns[] = {
	[ARGS_ID] = QUERY_ANSWER("id", QUERY_INTEGER, "number of the arg"),
	[ARGS_ARG_SET_ID] = QUERY_ANSWER("arg_set_id", QUERY_INTEGER,
					 "the slice that has it: slice.arg_set_id"),
	[ARGS_FLAT_KEY] =
		QUERY_ANSWER("flat_key", QUERY_TEXT, "the key without its [N]: input.shape"),
	[ARGS_KEY] = QUERY_ANSWER("key", QUERY_TEXT, "input[0].shape[1], bytes, peer ..."),
	[ARGS_VALUE_TYPE] = QUERY_ANSWER("value_type", QUERY_TEXT, "int, uint, real, string, bool"),
	[ARGS_INT_VALUE] =
		QUERY_ANSWER("int_value", QUERY_INTEGER, "the value of an int, uint or bool"),
	[ARGS_STRING_VALUE] = QUERY_ANSWER("string_value", QUERY_TEXT, "the value of a string"),
	[ARGS_REAL_VALUE] = QUERY_ANSWER("real_value", QUERY_REAL, "the value of a real"),
	[ARGS_DISPLAY_VALUE] =
		QUERY_ANSWER("display_value", QUERY_TEXT, "the value of any type, as text"),
};

static gboolean is_key(sqlite3_index_info *info, int index)
{
	const struct sqlite3_index_constraint *constraint = &info->aConstraint[index];

	return constraint->iColumn == ARGS_KEY && constraint->op == SQLITE_INDEX_CONSTRAINT_EQ &&
	       g_ascii_strcasecmp(sqlite3_vtab_collation(info, index), "BINARY") == 0;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	gdouble n_slices = ((struct query_vtab *)base)->data->timeline->slices.n;
	gdouble n_args = GUESSED_ARGS;
	struct query_plan plan;

	query_plan_init(&plan, info);
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

		if (!constraint->usable)
			continue;
		if (constraint->iColumn == ARGS_ARG_SET_ID && id_range_takes(constraint->op)) {
			query_plan_take(&plan, i, FALSE);
			n_slices = constraint->op == SQLITE_INDEX_CONSTRAINT_EQ ? 1 : n_slices / 4;
		} else if (is_key(info, i)) {
			query_plan_take(&plan, i, FALSE);
			n_args = 1;
		}
	}
	/* Making args costs far more than reading a column. */
	return query_plan_finish(&plan, n_slices * n_args, 20);
}

struct args_cursor {
	sqlite3_vtab_cursor base;
	struct arg_list list;
	enum arg_parts parts; /* that are asked for */
	guint32 slice, end;   /* those still to come, after this one */
	guint at;
};

static struct query_data *data_of(const struct args_cursor *cursor)
{
	return ((struct query_vtab *)cursor->base.pVtab)->data;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret_cursor)
{
	struct args_cursor *cursor = g_new0(struct args_cursor, 1);

	(void)vtab;
	arg_list_init(&cursor->list);
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct args_cursor *cursor = (struct args_cursor *)base;

	arg_list_release(&cursor->list);
	g_free(cursor);
	return SQLITE_OK;
}

/* Come to the first slice, from `slice` on, that has args. */
static void settle(struct args_cursor *cursor)
{
	struct query_data *data = data_of(cursor);

	cursor->at = 0;
	for (; cursor->slice < cursor->end; cursor->slice++) {
		if (!query_data_has_args(data->timeline, cursor->slice))
			continue;
		arg_list_fill(&cursor->list, data, cursor->slice, cursor->parts);
		if (cursor->list.args->len)
			return;
	}
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		  sqlite3_value **argv)
{
	struct args_cursor *cursor = (struct args_cursor *)base;
	struct id_range range = ID_RANGE_ALL;

	(void)number;
	cursor->parts = ARG_PARTS_ALL;
	for (int i = 0; i < argc; i++) {
		if (query_plan_column(plan, i) == ARGS_ARG_SET_ID)
			id_range_narrow(&range, query_plan_operator(plan, i), argv[i]);
		else if (sqlite3_value_type(argv[i]) == SQLITE_TEXT)
			cursor->parts &=
				arg_list_part_of((const gchar *)sqlite3_value_text(argv[i]));
	}
	id_range_rows(&range, data_of(cursor)->timeline->slices.n, &cursor->slice, &cursor->end);
	settle(cursor);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct args_cursor *cursor = (struct args_cursor *)base;

	if (++cursor->at < cursor->list.args->len)
		return SQLITE_OK;
	cursor->slice++;
	settle(cursor);
	return SQLITE_OK;
}

static int is_end(sqlite3_vtab_cursor *base)
{
	struct args_cursor *cursor = (struct args_cursor *)base;

	return cursor->slice >= cursor->end;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid)
{
	struct args_cursor *cursor = (struct args_cursor *)base;

	*ret_rowid = arg_id(cursor->slice, arg_list_borrow(&cursor->list, cursor->at));
	return SQLITE_OK;
}

static void result_string(sqlite3_context *result, const struct arg_list *list, guint32 at)
{
	sqlite3_result_text(result, list->text->str + at, -1, SQLITE_TRANSIENT);
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
	struct args_cursor *cursor = (struct args_cursor *)base;
	const struct arg_list *list = &cursor->list;
	const struct arg *arg = arg_list_borrow(list, cursor->at);
	gchar digits[ARG_DIGITS_BYTES];

	switch ((enum args_column)column) {
	case ARGS_ID:
		sqlite3_result_int64(result, arg_id(cursor->slice, arg));
		break;
	case ARGS_ARG_SET_ID:
		sqlite3_result_int64(result, cursor->slice);
		break;
	case ARGS_FLAT_KEY:
		result_string(result, list, arg->flat_key);
		break;
	case ARGS_KEY:
		result_string(result, list, arg->key);
		break;
	case ARGS_VALUE_TYPE:
		query_result_text(result, arg_type_name(arg->type));
		break;
	case ARGS_INT_VALUE:
		if (arg->type != ARG_TYPE_STRING && arg->type != ARG_TYPE_REAL)
			sqlite3_result_int64(result, arg->integer);
		break;
	case ARGS_STRING_VALUE:
		if (arg->type == ARG_TYPE_STRING)
			result_string(result, list, arg->string);
		break;
	case ARGS_REAL_VALUE:
		if (arg->type == ARG_TYPE_REAL)
			sqlite3_result_double(result, arg->real);
		break;
	case ARGS_DISPLAY_VALUE:
		sqlite3_result_text(result, arg_list_display(list, arg, digits), -1,
				    SQLITE_TRANSIENT);
		break;
	}
	return SQLITE_OK;
}

static const sqlite3_module args_module = QUERY_MODULE;

const struct query_table query_table_args = {
	.name = "args",
	.meaning = "arguments of slices, a row for each key",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &args_module,
};
