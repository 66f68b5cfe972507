/* memory_table: the table `memory`, a row an allocation or a release. */
#include "query/query_table.h"

enum memory_column {
	MEMORY_ID,
	MEMORY_TS,
	MEMORY_TRACK_ID,
	MEMORY_SLICE_ID,
	MEMORY_ADDRESS,
	MEMORY_BYTES,
	MEMORY_DEVICE,
	MEMORY_RANK,
	MEMORY_STEP,
};

static const struct query_column columns[] = {
	[MEMORY_ID] = { "id", QUERY_INTEGER, "number of the event" },
	[MEMORY_TS] = { "ts", QUERY_INTEGER, "when, ns since the run's origin" },
	[MEMORY_TRACK_ID] = { "track_id", QUERY_INTEGER, "the thread's track: track.id" },
	[MEMORY_SLICE_ID] = { "slice_id", QUERY_INTEGER,
			      "the innermost slice that was open there then; NULL: none" },
	[MEMORY_ADDRESS] = { "address", QUERY_INTEGER, "address of its first byte" },
	[MEMORY_BYTES] = { "bytes", QUERY_INTEGER,
			   "above 0: bytes handed out; below 0: bytes given back; 0: given back, "
			   "size not known" },
	[MEMORY_DEVICE] = { "device", QUERY_INTEGER,
			    "the device's number; NULL: memory of the host" },
	[MEMORY_RANK] = { "rank", QUERY_INTEGER, "rank it was recorded on" },
	[MEMORY_STEP] = { "step", QUERY_INTEGER, "number of the training step; NULL: in no step" },
};

static const TachoMemoryEvent *event_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->memory, TachoMemoryEvent, row);
}

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->memory->len;
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoMemoryEvent *event = event_at(data, row);
	guint32 process = tacho_timeline_track(data->timeline, event->track)->process, step;

	switch ((enum memory_column)column) {
	case MEMORY_ID:
		sqlite3_result_int64(result, row);
		break;
	case MEMORY_TS:
		sqlite3_result_int64(result, event->time_ns);
		break;
	case MEMORY_TRACK_ID:
		sqlite3_result_int64(result, event->track);
		break;
	case MEMORY_SLICE_ID:
		query_result_id(result, event->slice);
		break;
	case MEMORY_ADDRESS:
		sqlite3_result_int64(result, (sqlite3_int64)event->address);
		break;
	case MEMORY_BYTES:
		sqlite3_result_int64(result, event->bytes);
		break;
	case MEMORY_DEVICE:
		query_result_optional(result, (gint64)event->device - 1);
		break;
	case MEMORY_RANK:
		query_result_optional(result, query_data_rank(data, process));
		break;
	case MEMORY_STEP:
		step = query_data_step(data, process, event->time_ns);
		if (step != TACHO_NONE)
			sqlite3_result_int64(
				result,
				g_array_index(data->timeline->steps, TachoStep, step).number);
		break;
	}
}

static gboolean find(struct query_data *data, guint column, gint64 value, struct query_rows *rows)
{
	if (column != MEMORY_TRACK_ID)
		return FALSE;
	if (rows)
		query_rows_of_track(rows, data, tacho_track_memory, value);
	return TRUE;
}

const struct query_table query_table_memory = {
	.name = "memory",
	.meaning = "memory handed out and given back",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
	.find = find,
};
