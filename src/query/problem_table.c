/* problem_table: the table `problem`, reasons to trust the run less. */
#include "query/query_table.h"

enum problem_column {
	PROBLEM_ID,
	PROBLEM_KIND,
	PROBLEM_COUNT,
	PROBLEM_PLACE,
};

static const struct query_column columns[] = {
	[PROBLEM_ID] = { "id", QUERY_INTEGER, "number of the problem" },
	[PROBLEM_KIND] = { "kind", QUERY_TEXT, "lost_records, truncated_file ...: docs/trust.md" },
	[PROBLEM_COUNT] = { "count", QUERY_INTEGER, "how often" },
	[PROBLEM_PLACE] = { "place", QUERY_TEXT, "file, rank ..." },
};

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->problems->len;
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoProblem *problem = &g_array_index(data->timeline->problems, TachoProblem, row);

	switch ((enum problem_column)column) {
	case PROBLEM_ID:
		sqlite3_result_int64(result, row);
		break;
	case PROBLEM_KIND:
		query_result_text(result, problem->kind);
		break;
	case PROBLEM_COUNT:
		sqlite3_result_int64(result, (sqlite3_int64)problem->count);
		break;
	case PROBLEM_PLACE:
		query_result_text(result, problem->where);
		break;
	}
}

const struct query_table query_table_problem = {
	.name = "problem",
	.meaning = "reasons to trust the run less",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
};
