/* track_table: the table `track`; thread_track, gpu_track ... are views of it. */
#include "query/query_table.h"

static void type(struct query_data *data, guint32 row, sqlite3_context *result)
{
	static const gchar *const names[] = {
		[TACHO_TRACK_THREAD] = "thread_track",	 [TACHO_TRACK_ASYNC] = "process_track",
		[TACHO_TRACK_STREAM] = "gpu_track",	 [TACHO_TRACK_COUNTER] = "counter_track",
		[TACHO_TRACK_SAMPLED] = "sampled_track",
	};

	query_result_text(result, names[tacho_timeline_track(data->timeline, row)->kind]);
}

/* The thread's track of the same process and thread id; the last before `track` where ids came again, else the first: the
 * kernel knows a thread before it has a record of its own. */
static guint32 queueing_track(const struct query_data *data, guint32 track)
{
	const TachoTrack *row = tacho_timeline_track(data->timeline, track);
	guint32 first = TACHO_NONE;

	for (guint32 utid = data->threads->len; utid-- > 0;) {
		guint32 other = g_array_index(data->threads, guint32, utid);
		const TachoTrack *thread = tacho_timeline_track(data->timeline, other);

		if (thread->process != row->process || thread->tid != row->tid)
			continue;
		if (thread->first_ns <= row->first_ns)
			return other;
		if (row->tid) /* 0: of none */
			first = other;
	}
	return first;
}

static guint32 parent_of(const struct query_data *data, guint32 track)
{
	TachoTrackKind kind = tacho_timeline_track(data->timeline, track)->kind;

	if (kind != TACHO_TRACK_ASYNC && kind != TACHO_TRACK_SAMPLED)
		return TACHO_NONE;
	return queueing_track(data, track);
}

static void parent_id(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_id(result, parent_of(data, row));
}

static void utid(struct query_data *data, guint32 row, sqlite3_context *result)
{
	guint32 parent = parent_of(data, row);

	query_result_id(result, data->utid_of_track[parent == TACHO_NONE ? row : parent]);
}

static void host(struct query_data *data, guint32 row, sqlite3_context *result)
{
	guint32 process = tacho_timeline_track(data->timeline, row)->process;

	query_result_string(result, data, tacho_timeline_process(data->timeline, process)->host);
}

static void device(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoTrack *track = tacho_timeline_track(data->timeline, row);

	if (track->kind == TACHO_TRACK_STREAM)
		query_result_optional(result, track->device);
}

static void stream(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoTrack *track = tacho_timeline_track(data->timeline, row);

	if (track->kind == TACHO_TRACK_STREAM)
		sqlite3_result_int64(result, track->tid);
}

static const struct query_column columns[] = {
	ROW_ID("id", "number of the track"),
	STRING("name", TachoTrack, name, "name of its thread, stream or counter"),
	CELL("type", QUERY_TEXT, type,
	     "thread_track, gpu_track, counter_track, process_track: work that one thread "
	     "queues and another ends, which may overlap; sampled_track: what samples saw a thread "
	     "run"),
	CELL("parent_id", QUERY_INTEGER, parent_id,
	     "for a process_track, the track of the thread that queued; for a sampled_track, that "
	     "of "
	     "the thread sampled"),
	INTEGER("upid", TachoTrack, process, "its process: process.upid"),
	CELL("utid", QUERY_INTEGER, utid,
	     "its thread: thread.utid; for a process_track, the one that queued; for a "
	     "sampled_track, the "
	     "one sampled"),
	RANK_OF("rank", TachoTrack, process, "rank it was recorded on"),
	CELL("host", QUERY_TEXT, host, "host it was recorded on"),
	CELL("device", QUERY_INTEGER, device,
	     "for a device queue: the device's number on its host"),
	CELL("stream", QUERY_INTEGER, stream,
	     "number of the device queue; NULL: not a device queue"),
	INTEGER("n_slices", TachoTrack, n_slices, "how many slices lie on it"),
	INTEGER("dropped", TachoTrack, n_dropped, "records that were lost"),
};

const struct query_table query_table_track = {
	.name = "track",
	.meaning = "tracks of slices and counters: threads, device streams, counters",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, tracks),
};
