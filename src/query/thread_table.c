/* thread_table: the table `thread`, a row a thread track. */
#include "query/query_table.h"

enum thread_column {
	THREAD_ID,
	THREAD_UTID,
	THREAD_TID,
	THREAD_NAME,
	THREAD_UPID,
	THREAD_IS_MAIN,
	THREAD_START_TS,
	THREAD_END_TS,
	THREAD_PARENT_TID,
	THREAD_RANK,
	THREAD_TRACK_ID,
};

static const struct query_column columns[] = {
	[THREAD_ID] = { "id", QUERY_INTEGER, "the same as utid" },
	[THREAD_UTID] = { "utid", QUERY_INTEGER, "number of the thread in the run" },
	[THREAD_TID] = { "tid", QUERY_INTEGER, "the system's number, which may be used again" },
	[THREAD_NAME] = { "name", QUERY_TEXT, "name" },
	[THREAD_UPID] = { "upid", QUERY_INTEGER, "its process: process.upid" },
	[THREAD_IS_MAIN] = { "is_main_thread", QUERY_INTEGER, "1: the process began with it" },
	[THREAD_START_TS] = { "start_ts", QUERY_INTEGER, "its first record, ns" },
	[THREAD_END_TS] = { "end_ts", QUERY_INTEGER, "its last record, ns" },
	[THREAD_PARENT_TID] = { "parent_tid", QUERY_INTEGER,
				"the thread that started it; NULL: not known" },
	[THREAD_RANK] = { "rank", QUERY_INTEGER, "rank it was recorded on" },
	[THREAD_TRACK_ID] = { "track_id", QUERY_INTEGER, "its track: track.id" },
};

static guint32 n_rows(const struct query_data *data)
{
	return data->threads->len;
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	guint32 track_id = g_array_index(data->threads, guint32, row);
	const TachoTrack *track = tacho_timeline_track(data->timeline, track_id);
	const TachoProcess *process =
		&g_array_index(data->timeline->processes, TachoProcess, track->process);

	switch ((enum thread_column)column) {
	case THREAD_ID:
	case THREAD_UTID:
		sqlite3_result_int64(result, row);
		break;
	case THREAD_TID:
		sqlite3_result_int64(result, track->tid);
		break;
	case THREAD_NAME:
		query_result_string(result, data, track->name);
		break;
	case THREAD_UPID:
		sqlite3_result_int64(result, track->process);
		break;
	case THREAD_IS_MAIN:
		sqlite3_result_int(result, track->tid == process->pid);
		break;
	case THREAD_START_TS:
		sqlite3_result_int64(result, track->first_ns);
		break;
	case THREAD_END_TS:
		sqlite3_result_int64(result, track->last_ns);
		break;
	case THREAD_PARENT_TID:
		if (track->parent_tid)
			sqlite3_result_int64(result, track->parent_tid);
		break;
	case THREAD_RANK:
		query_result_optional(result, query_data_rank(data, track->process));
		break;
	case THREAD_TRACK_ID:
		sqlite3_result_int64(result, track_id);
		break;
	}
}

static gboolean find(struct query_data *data, guint column, gint64 value, struct query_rows *rows)
{
	guint32 track;

	if (column == THREAD_UTID) {
		if (rows)
			*rows = (struct query_rows){ NULL, (guint32)value,
						     value >= 0 && value < data->threads->len };
		return TRUE;
	}
	if (column != THREAD_TRACK_ID)
		return FALSE;
	if (!rows)
		return TRUE;
	track = value >= 0 && value < data->timeline->tracks->len ? data->utid_of_track[value]
								  : TACHO_NONE;
	*rows = (struct query_rows){ NULL, track, track != TACHO_NONE };
	return TRUE;
}

const struct query_table query_table_thread = {
	.name = "thread",
	.meaning = "threads that recorded something",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
	.find = find,
};
