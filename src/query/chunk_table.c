/* chunk_table: the table `chunk`: what allocators held at the end of the recording. */
#include "query/query_table.h"

static const TachoChunk *chunk_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->chunks, TachoChunk, row);
}

static void device(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_optional(result, (gint64)chunk_at(data, row)->device - 1);
}

static void state(struct query_data *data, guint32 row, sqlite3_context *result)
{
	static const gchar *const names[] = { "segment", "used", "pending", "free" };
	guint8 of = chunk_at(data, row)->state;

	query_result_text(result, of < G_N_ELEMENTS(names) ? names[of] : NULL);
}

static const struct query_column columns[] = {
	ROW_ID("id", "number of the row"),
	INTEGER("upid", TachoChunk, process, "its process: process.upid"),
	RANK_OF("rank", TachoChunk, process, "rank"),
	CELL("device", QUERY_INTEGER, device, "the device's number; NULL: memory of the host"),
	STRING("pool", TachoChunk, pool, "pool of the allocator: large, small ..."),
	CELL("state", QUERY_TEXT, state,
	     "segment: memory taken from the device; the rows up to the next segment are its "
	     "chunks: used, pending, free"),
	INTEGER("address", TachoChunk, address, "address of its first byte"),
	INTEGER("bytes", TachoChunk, bytes, "its size"),
	KNOWN("requested_bytes", TachoChunk, requested_bytes,
	      "size asked for, before it was rounded up; NULL: not known"),
};

const struct query_table query_table_chunk = {
	.name = "chunk",
	.meaning = "what allocators held at the end: segments and their chunks",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, chunks),
};
