#include "export/scoped_query.h"

static gboolean row_of(sqlite3_value *value, guint n_rows, guint32 *ret_row)
{
	gint64 row = sqlite3_value_int64(value);

	*ret_row = (guint32)row;
	return sqlite3_value_type(value) == SQLITE_INTEGER && row >= 0 && row < n_rows;
}

static void has_slice(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct export_scope *scope = sqlite3_user_data(result);
	guint32 row;

	(void)argc;
	sqlite3_result_int(result, row_of(argv[0], scope->timeline->slices.n, &row) &&
					   export_scope_has_slice(scope, row));
}

static void has_moment(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct export_scope *scope = sqlite3_user_data(result);
	guint32 track;

	(void)argc;
	sqlite3_result_int(result, row_of(argv[0], scope->timeline->tracks->len, &track) &&
					   export_scope_has_moment(scope, track,
								   sqlite3_value_int64(argv[1])));
}

static void has_process(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct export_scope *scope = sqlite3_user_data(result);
	guint32 process;

	(void)argc;
	sqlite3_result_int(result, row_of(argv[0], scope->timeline->processes->len, &process) &&
					   export_scope_has_process(scope, process));
}

static void has_step(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct export_scope *scope = sqlite3_user_data(result);
	guint32 row;

	(void)argc;
	sqlite3_result_int(
		result, row_of(argv[0], scope->timeline->steps->len, &row) &&
				export_scope_has_step(scope, &g_array_index(scope->timeline->steps,
									    TachoStep, row)));
}

static int add_functions(struct scoped_query *scoped)
{
	static const struct {
		const char *name;
		int n_args;
		void (*function)(sqlite3_context *result, int argc, sqlite3_value **argv);
	} functions[] = {
		{ "has_slice", 1, has_slice },
		{ "has_moment", 2, has_moment },
		{ "has_process", 1, has_process },
		{ "has_step", 1, has_step },
	};
	int status = SQLITE_OK;

	for (guint i = 0; i < G_N_ELEMENTS(functions) && status == SQLITE_OK; i++)
		status = sqlite3_create_function_v2(
			query_borrow_db(scoped->query), functions[i].name, functions[i].n_args,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC, &scoped->scope, functions[i].function,
			NULL, NULL, NULL);
	return status;
}

gboolean scoped_query_init(struct scoped_query *scoped, const TachoTimeline *timeline,
			   const TachoExportOptions *options, GError **error)
{
	if (!export_scope_init(&scoped->scope, timeline, options, error))
		return FALSE;
	scoped->query = query_open_unguarded(timeline, error);
	if (!scoped->query) {
		export_scope_release(&scoped->scope);
		return FALSE;
	}
	if (add_functions(scoped) == SQLITE_OK)
		return TRUE;
	g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO, "%s",
		    sqlite3_errmsg(query_borrow_db(scoped->query)));
	scoped_query_release(scoped);
	return FALSE;
}

void scoped_query_release(struct scoped_query *scoped)
{
	g_clear_pointer(&scoped->query, tacho_query_close);
	export_scope_release(&scoped->scope);
}
