/* thread_table: the table `thread`, a row a thread track. */
#include "query/query_table.h"

static guint32 count(const struct query_data *data)
{
	return data->threads->len;
}

static guint32 track_of(const struct query_data *data, guint32 row)
{
	return g_array_index(data->threads, guint32, row);
}

static gconstpointer row_at(const struct query_data *data, guint32 row)
{
	return tacho_timeline_track(data->timeline, track_of(data, row));
}

static void is_main(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoTrack *track = row_at(data, row);

	sqlite3_result_int(result, track->tid == tacho_track_process(data->timeline, track)->pid);
}

static void track_id(struct query_data *data, guint32 row, sqlite3_context *result)
{
	sqlite3_result_int64(result, track_of(data, row));
}

static gboolean find_utid(struct query_data *data, gint64 value, struct query_rows *rows)
{
	*rows = (struct query_rows){ NULL, (guint32)value,
				     value >= 0 && value < data->threads->len };
	return TRUE;
}

static gboolean find_by_track(struct query_data *data, gint64 value, struct query_rows *rows)
{
	guint32 utid = value >= 0 && value < data->timeline->tracks->len
			       ? data->utid_of_track[value]
			       : TACHO_NONE;

	*rows = (struct query_rows){ NULL, utid, utid != TACHO_NONE };
	return TRUE;
}

static const struct query_column columns[] = {
	ROW_ID("id", "the same as utid"),
	ROW_ID("utid", "number of the thread in the run", .find = find_utid),
	INTEGER("tid", TachoTrack, tid, "the system's number, which may be used again"),
	STRING("name", TachoTrack, name, "name"),
	INTEGER("upid", TachoTrack, process, "its process: process.upid"),
	CELL("is_main_thread", QUERY_INTEGER, is_main, "1: the process began with it"),
	INTEGER("start_ts", TachoTrack, first_ns, "its first record, ns"),
	INTEGER("end_ts", TachoTrack, last_ns, "its last record, ns"),
	KNOWN("parent_tid", TachoTrack, parent_tid, "the thread that started it; NULL: not known"),
	RANK_OF("rank", TachoTrack, process, "rank it was recorded on"),
	CELL("track_id", QUERY_INTEGER, track_id, "its track: track.id", .find = find_by_track),
};

const struct query_table query_table_thread = {
	.name = "thread",
	.meaning = "threads that recorded something",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.count = count,
	.row_at = row_at,
};
