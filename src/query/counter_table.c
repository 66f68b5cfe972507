/* counter_table: the table `counter`, a row a sample. */
#include "query/query_table.h"

enum counter_column {
	COUNTER_ID,
	COUNTER_TS,
	COUNTER_TRACK_ID,
	COUNTER_VALUE,
};

static const struct query_column columns[] = {
	[COUNTER_ID] = { "id", QUERY_INTEGER, "number of the sample" },
	[COUNTER_TS] = { "ts", QUERY_INTEGER, "when, ns since the run's origin" },
	[COUNTER_TRACK_ID] = { "track_id", QUERY_INTEGER, "the counter: counter_track.id" },
	[COUNTER_VALUE] = { "value", QUERY_NUMERIC, "its value from then on" },
};

static const TachoSample *sample_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->samples, TachoSample, row);
}

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->samples->len;
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoSample *sample = sample_at(data, row);

	switch ((enum counter_column)column) {
	case COUNTER_ID:
		sqlite3_result_int64(result, row);
		break;
	case COUNTER_TS:
		sqlite3_result_int64(result, sample->time_ns);
		break;
	case COUNTER_TRACK_ID:
		sqlite3_result_int64(result, sample->track);
		break;
	case COUNTER_VALUE:
		query_result_numeric(result, sample->value);
		break;
	}
}

static gboolean find(struct query_data *data, guint column, gint64 value, struct query_rows *rows)
{
	if (column != COUNTER_TRACK_ID)
		return FALSE;
	if (rows)
		query_rows_of_track(rows, data, tacho_track_samples, value);
	return TRUE;
}

const struct query_table query_table_counter = {
	.name = "counter",
	.meaning = "samples of counters",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
	.find = find,
};
