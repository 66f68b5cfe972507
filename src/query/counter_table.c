/* counter_table: the table `counter`, a row a sample. */
#include "query/query_table.h"

static gboolean find_by_track(struct query_data *data, gint64 value, struct query_rows *rows)
{
	query_rows_of_track(rows, data, tacho_track_samples, value);
	return TRUE;
}

static const struct query_column columns[] = {
	ROW_ID("id", "number of the sample"),
	INTEGER("ts", TachoSample, time_ns, "when, ns since the run's origin"),
	INTEGER("track_id", TachoSample, track, "the counter: counter_track.id",
		.find = find_by_track),
	NUMERIC("value", TachoSample, value, "its value from then on"),
};

const struct query_table query_table_counter = {
	.name = "counter",
	.meaning = "samples of counters",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, samples),
};
