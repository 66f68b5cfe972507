/* mark_table: the table `mark`, moments with two numbers and a text. */
#include "query/query_table.h"

static const struct query_column columns[] = {
	ROW_ID("id", "number of the mark"),
	INTEGER("ts", TachoMark, time_ns, "when, ns since the run's origin"),
	INTEGER("track_id", TachoMark, track, "the thread's track: track.id"),
	STRING("name", TachoMark, name, "name"),
	INTEGER("first", TachoMark, first, "as the job gave it"),
	INTEGER("second", TachoMark, second, "as the job gave it"),
	STRING("text", TachoMark, text, "as the job gave it"),
};

const struct query_table query_table_mark = {
	.name = "mark",
	.meaning = "moments that the job or its libraries marked",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, marks),
};
