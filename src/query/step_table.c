/* step_table: the table `step`, training steps of each rank. */
#include "query/query_table.h"

enum step_column {
	STEP_ID,
	STEP_STEP,
	STEP_RANK,
	STEP_TS,
	STEP_DUR,
	STEP_HOST,
	STEP_UPID,
	STEP_IS_COMPLETE,
};

static const struct query_column columns[] = {
	[STEP_ID] = { "id", QUERY_INTEGER, "number of the row" },
	[STEP_STEP] = { "step", QUERY_INTEGER, "number of the step, the same on every rank" },
	[STEP_RANK] = { "rank", QUERY_INTEGER, "rank" },
	[STEP_TS] = { "ts", QUERY_INTEGER, "begin, ns since the run's origin" },
	[STEP_DUR] = { "dur", QUERY_INTEGER, "duration, ns" },
	[STEP_HOST] = { "host", QUERY_TEXT, "host of the rank" },
	[STEP_UPID] = { "upid", QUERY_INTEGER, "process of the rank that trains: process.upid" },
	[STEP_IS_COMPLETE] = { "is_complete", QUERY_INTEGER,
			       "0: its begin or its end was not recorded" },
};

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->steps->len;
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoStep *step = &g_array_index(data->timeline->steps, TachoStep, row);
	const TachoRank *rank = &g_array_index(data->timeline->ranks, TachoRank, step->rank_index);

	switch ((enum step_column)column) {
	case STEP_ID:
		sqlite3_result_int64(result, row);
		break;
	case STEP_STEP:
		sqlite3_result_int64(result, step->number);
		break;
	case STEP_RANK:
		query_result_optional(result, rank->rank);
		break;
	case STEP_TS:
		sqlite3_result_int64(result, step->start_ns);
		break;
	case STEP_DUR:
		sqlite3_result_int64(result, step->end_ns - step->start_ns);
		break;
	case STEP_HOST:
		query_result_string(result, data, rank->host);
		break;
	case STEP_UPID:
		sqlite3_result_int64(result, rank->main_process);
		break;
	case STEP_IS_COMPLETE:
		sqlite3_result_int(result, step->is_complete != FALSE);
		break;
	}
}

const struct query_table query_table_step = {
	.name = "step",
	.meaning = "training steps, a row for each rank and step",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
};
