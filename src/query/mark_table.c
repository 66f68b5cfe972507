/* mark_table: the table `mark`, moments with two numbers and a text. */
#include "query/query_table.h"

enum mark_column {
	MARK_ID,
	MARK_TS,
	MARK_TRACK_ID,
	MARK_NAME,
	MARK_FIRST,
	MARK_SECOND,
	MARK_TEXT,
};

static const struct query_column columns[] = {
	[MARK_ID] = { "id", QUERY_INTEGER, "number of the mark" },
	[MARK_TS] = { "ts", QUERY_INTEGER, "when, ns since the run's origin" },
	[MARK_TRACK_ID] = { "track_id", QUERY_INTEGER, "the thread's track: track.id" },
	[MARK_NAME] = { "name", QUERY_TEXT, "name" },
	[MARK_FIRST] = { "first", QUERY_INTEGER, "as the job gave it" },
	[MARK_SECOND] = { "second", QUERY_INTEGER, "as the job gave it" },
	[MARK_TEXT] = { "text", QUERY_TEXT, "as the job gave it" },
};

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->marks->len;
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoMark *mark = &g_array_index(data->timeline->marks, TachoMark, row);

	switch ((enum mark_column)column) {
	case MARK_ID:
		sqlite3_result_int64(result, row);
		break;
	case MARK_TS:
		sqlite3_result_int64(result, mark->time_ns);
		break;
	case MARK_TRACK_ID:
		sqlite3_result_int64(result, mark->track);
		break;
	case MARK_NAME:
		query_result_string(result, data, mark->name);
		break;
	case MARK_FIRST:
		sqlite3_result_int64(result, mark->first);
		break;
	case MARK_SECOND:
		sqlite3_result_int64(result, mark->second);
		break;
	case MARK_TEXT:
		query_result_string(result, data, mark->text);
		break;
	}
}

const struct query_table query_table_mark = {
	.name = "mark",
	.meaning = "moments that the job or its libraries marked",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
};
