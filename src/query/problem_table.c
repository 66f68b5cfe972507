/* problem_table: the table `problem`, reasons to trust the run less. */
#include "query/query_table.h"

static void kind(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoProblem *problem = &g_array_index(data->timeline->problems, TachoProblem, row);

	query_result_text(result, tacho_problem_name(problem->kind));
}

static const struct query_column columns[] = {
	ROW_ID("id", "number of the problem"),
	CELL("kind", QUERY_TEXT, kind, "lost_records, truncated_file ...: docs/trust.md"),
	INTEGER("count", TachoProblem, count, "how often"),
	CHARACTERS("place", TachoProblem, where, "file, rank ..."),
};

const struct query_table query_table_problem = {
	.name = "problem",
	.meaning = "reasons to trust the run less",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, problems),
};
