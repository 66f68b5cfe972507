#include "query/query_table.h"

static const struct query_table *const tables[] = {
	&query_table_slice,
	&query_table_track,
	&query_table_thread,
	&query_table_process,
	&query_table_counter,
	&query_table_flow,
	&query_table_args,
	&query_table_step,
	&query_table_collective,
	&query_table_collective_member,
	&query_table_message,
	&query_table_bucket,
	&query_table_bucket_gradient,
	&query_table_memory,
	&query_table_mark,
	&query_table_graph_work,
	&query_table_chunk,
	&query_table_device,
	&query_table_problem,
};

const struct query_table *const *query_tables(guint *ret_n)
{
	*ret_n = G_N_ELEMENTS(tables);
	return tables;
}

static const gchar *type_name(enum query_type type)
{
	static const gchar *const names[] = { " INTEGER", " REAL", " NUMERIC", " TEXT", "" };

	return names[type];
}

gchar *query_table_sql(const struct query_table *table, gboolean has_meanings)
{
	GString *sql = g_string_new(NULL);

	g_string_append_printf(sql, "CREATE TABLE %s(", table->name);
	if (has_meanings)
		g_string_append_printf(sql, " -- %s\n", table->meaning);
	for (guint i = 0; i < table->n_columns; i++) {
		const struct query_column *column = &table->columns[i];
		const gchar *comma = i + 1 < table->n_columns ? "," : "";

		if (has_meanings)
			g_string_append_printf(sql, "  %s%s%s -- %s\n", column->name,
					       type_name(column->type), comma, column->meaning);
		else
			g_string_append_printf(sql, "%s%s%s", column->name, type_name(column->type),
					       comma);
	}
	g_string_append(sql, has_meanings ? ");\n" : ")");
	return g_string_free(sql, FALSE);
}

int query_vtab_connect(sqlite3 *db, void *client, int argc, const char *const *argv,
		       sqlite3_vtab **ret_vtab, char **ret_error)
{
	const struct query_client *registered = client;
	g_autofree gchar *sql = query_table_sql(registered->table, FALSE);
	struct query_vtab *vtab;
	int status;

	(void)argc, (void)argv, (void)ret_error;
	status = sqlite3_declare_vtab(db, sql);
	if (status != SQLITE_OK)
		return status;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	vtab = g_new0(struct query_vtab, 1);
	vtab->table = registered->table;
	vtab->data = registered->data;
	*ret_vtab = &vtab->base;
	return SQLITE_OK;
}

int query_vtab_disconnect(sqlite3_vtab *vtab)
{
	g_free(vtab);
	return SQLITE_OK;
}

void query_result_rank(sqlite3_context *result, const struct query_data *data, guint32 process)
{
	if (process != TACHO_NONE)
		query_result_optional(result, query_data_rank(data, process));
}

void query_result_rank_of_slice(sqlite3_context *result, const struct query_data *data,
				guint32 slice)
{
	const TachoTimeline *timeline = data->timeline;

	query_result_rank(result, data,
			  tacho_timeline_track(timeline, timeline->slices.track[slice])->process);
}

void query_result_step(sqlite3_context *result, const struct query_data *data, guint32 process,
		       gint64 time_ns)
{
	guint32 step = query_data_step(data, process, time_ns);

	if (step != TACHO_NONE)
		sqlite3_result_int64(result,
				     g_array_index(data->timeline->steps, TachoStep, step).number);
}
