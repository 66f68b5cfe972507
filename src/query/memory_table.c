/* memory_table: the table `memory`, a row an allocation or a release. */
#include "query/query_table.h"

static const TachoMemoryEvent *event_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->memory, TachoMemoryEvent, row);
}

static guint32 process_of(const struct query_data *data, guint32 row)
{
	return tacho_timeline_track(data->timeline, event_at(data, row)->track)->process;
}

static void device(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_optional(result, (gint64)event_at(data, row)->device - 1);
}

static void layer(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_text(result, tacho_memory_layer_name(event_at(data, row)->layer));
}

static void rank(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_rank(result, data, process_of(data, row));
}

static void step(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_step(result, data, process_of(data, row), event_at(data, row)->time_ns);
}

static gboolean find_by_track(struct query_data *data, gint64 value, struct query_rows *rows)
{
	query_rows_of_track(rows, data, tacho_track_memory, value);
	return TRUE;
}

static const struct query_column columns[] = {
	ROW_ID("id", "number of the event"),
	INTEGER("ts", TachoMemoryEvent, time_ns, "when, ns since the run's origin"),
	INTEGER("track_id", TachoMemoryEvent, track, "the thread's track: track.id",
		.find = find_by_track),
	ID("slice_id", TachoMemoryEvent, slice,
	   "the innermost slice that was open there then; NULL: none"),
	INTEGER("address", TachoMemoryEvent, address, "address of its first byte"),
	INTEGER("bytes", TachoMemoryEvent, bytes,
		"above 0: bytes handed out; below 0: bytes given back; 0: given back, size not "
		"known"),
	CELL("device", QUERY_INTEGER, device, "the device's number; NULL: memory of the host"),
	CELL("layer", QUERY_TEXT, layer,
	     "who handed it out: allocator (of a framework or the host), driver (of the device)"),
	CELL("rank", QUERY_INTEGER, rank, "rank it was recorded on"),
	CELL("step", QUERY_INTEGER, step, "number of the training step; NULL: in no step"),
};

const struct query_table query_table_memory = {
	.name = "memory",
	.meaning = "memory handed out and given back",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, memory),
};
