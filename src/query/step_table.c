/* step_table: the table `step`, training steps of each rank. */
#include "query/query_table.h"

static const TachoStep *step_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->steps, TachoStep, row);
}

static const TachoRank *rank_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->ranks, TachoRank, step_at(data, row)->rank_index);
}

static void duration(struct query_data *data, guint32 row, sqlite3_context *result)
{
	sqlite3_result_int64(result, step_at(data, row)->end_ns - step_at(data, row)->start_ns);
}

static void host(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_string(result, data, rank_at(data, row)->host);
}

static void upid(struct query_data *data, guint32 row, sqlite3_context *result)
{
	sqlite3_result_int64(result, rank_at(data, row)->main_process);
}

static const struct query_column columns[] = {
	ROW_ID("id", "number of the row"),
	INTEGER("step", TachoStep, number, "number of the step, the same on every rank"),
	RANK_AT("rank", TachoStep, rank_index, "rank"),
	INTEGER("ts", TachoStep, start_ns, "begin, ns since the run's origin"),
	CELL("dur", QUERY_INTEGER, duration, "duration, ns"),
	CELL("host", QUERY_TEXT, host, "host of the rank"),
	CELL("upid", QUERY_INTEGER, upid, "process of the rank that trains: process.upid"),
	FLAG("is_complete", TachoStep, is_complete, "0: its begin or its end was not recorded"),
};

const struct query_table query_table_step = {
	.name = "step",
	.meaning = "training steps, a row for each rank and step",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, steps),
};
