/* track_table: the table `track`; thread_track, gpu_track ... are views of it. */
#include "query/query_table.h"

enum track_column {
	TRACK_ID,
	TRACK_NAME,
	TRACK_TYPE,
	TRACK_PARENT_ID,
	TRACK_UPID,
	TRACK_UTID,
	TRACK_RANK,
	TRACK_HOST,
	TRACK_DEVICE,
	TRACK_STREAM,
	TRACK_N_SLICES,
	TRACK_DROPPED,
};

static const struct query_column columns[] = {
	[TRACK_ID] = { "id", QUERY_INTEGER, "number of the track" },
	[TRACK_NAME] = { "name", QUERY_TEXT, "name of its thread, stream or counter" },
	[TRACK_TYPE] = { "type", QUERY_TEXT,
			 "thread_track, gpu_track, counter_track, or process_track: work that one "
			 "thread queues and another ends, which may overlap" },
	[TRACK_PARENT_ID] = { "parent_id", QUERY_INTEGER,
			      "for a process_track: the track of the thread that queued" },
	[TRACK_UPID] = { "upid", QUERY_INTEGER, "its process: process.upid" },
	[TRACK_UTID] = { "utid", QUERY_INTEGER,
			 "its thread: thread.utid; for a process_track, the one that queued" },
	[TRACK_RANK] = { "rank", QUERY_INTEGER, "rank it was recorded on" },
	[TRACK_HOST] = { "host", QUERY_TEXT, "host it was recorded on" },
	[TRACK_DEVICE] = { "device", QUERY_INTEGER,
			   "for a device queue: the device's number on its host" },
	[TRACK_STREAM] = { "stream", QUERY_INTEGER,
			   "number of the device queue; NULL: not a device queue" },
	[TRACK_N_SLICES] = { "n_slices", QUERY_INTEGER, "how many slices lie on it" },
	[TRACK_DROPPED] = { "dropped", QUERY_INTEGER, "records that were lost" },
};

static const gchar *type_name(TachoTrackKind kind)
{
	switch (kind) {
	case TACHO_TRACK_THREAD:
		return "thread_track";
	case TACHO_TRACK_ASYNC:
		return "process_track";
	case TACHO_TRACK_STREAM:
		return "gpu_track";
	case TACHO_TRACK_COUNTER:
		return "counter_track";
	}
	return "track";
}

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->tracks->len;
}

/* The thread's track of the same process and thread id; the last before `track` where ids came again. */
static guint32 queueing_track(const struct query_data *data, guint32 track)
{
	const TachoTrack *row = tacho_timeline_track(data->timeline, track);

	for (guint32 utid = data->threads->len; utid-- > 0;) {
		guint32 other = g_array_index(data->threads, guint32, utid);
		const TachoTrack *thread = tacho_timeline_track(data->timeline, other);

		if (thread->process == row->process && thread->tid == row->tid &&
		    thread->first_ns <= row->first_ns)
			return other;
	}
	return TACHO_NONE;
}

static guint32 parent_of(const struct query_data *data, guint32 track)
{
	if (tacho_timeline_track(data->timeline, track)->kind != TACHO_TRACK_ASYNC)
		return TACHO_NONE;
	return queueing_track(data, track);
}

static guint32 utid_of(const struct query_data *data, guint32 track)
{
	guint32 parent = parent_of(data, track);

	return data->utid_of_track[parent == TACHO_NONE ? track : parent];
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoTrack *track = tacho_timeline_track(data->timeline, row);
	const TachoProcess *process =
		&g_array_index(data->timeline->processes, TachoProcess, track->process);

	switch ((enum track_column)column) {
	case TRACK_ID:
		sqlite3_result_int64(result, row);
		break;
	case TRACK_NAME:
		query_result_string(result, data, track->name);
		break;
	case TRACK_TYPE:
		query_result_text(result, type_name(track->kind));
		break;
	case TRACK_PARENT_ID:
		query_result_id(result, parent_of(data, row));
		break;
	case TRACK_UPID:
		sqlite3_result_int64(result, track->process);
		break;
	case TRACK_UTID:
		query_result_id(result, utid_of(data, row));
		break;
	case TRACK_RANK:
		query_result_optional(result, query_data_rank(data, track->process));
		break;
	case TRACK_HOST:
		query_result_string(result, data, process->host);
		break;
	case TRACK_DEVICE:
		if (track->kind == TACHO_TRACK_STREAM)
			query_result_optional(result, track->device);
		break;
	case TRACK_STREAM:
		if (track->kind == TACHO_TRACK_STREAM)
			sqlite3_result_int64(result, track->tid);
		break;
	case TRACK_N_SLICES:
		sqlite3_result_int64(result, track->n_slices);
		break;
	case TRACK_DROPPED:
		sqlite3_result_int64(result, (sqlite3_int64)track->n_dropped);
		break;
	}
}

const struct query_table query_table_track = {
	.name = "track",
	.meaning = "tracks of slices and counters: threads, device streams, counters",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
};
