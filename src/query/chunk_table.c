/* chunk_table: the table `chunk`: what allocators held at the end of the recording. */
#include "query/query_table.h"

enum chunk_column {
	CHUNK_ID,
	CHUNK_UPID,
	CHUNK_RANK,
	CHUNK_DEVICE,
	CHUNK_POOL,
	CHUNK_STATE,
	CHUNK_ADDRESS,
	CHUNK_BYTES,
	CHUNK_REQUESTED_BYTES,
};

static const struct query_column columns[] = {
	[CHUNK_ID] = { "id", QUERY_INTEGER, "number of the row" },
	[CHUNK_UPID] = { "upid", QUERY_INTEGER, "its process: process.upid" },
	[CHUNK_RANK] = { "rank", QUERY_INTEGER, "rank" },
	[CHUNK_DEVICE] = { "device", QUERY_INTEGER,
			   "the device's number; NULL: memory of the host" },
	[CHUNK_POOL] = { "pool", QUERY_TEXT, "pool of the allocator: large, small ..." },
	[CHUNK_STATE] = { "state", QUERY_TEXT,
			  "segment: memory taken from the device; the rows up to the next segment "
			  "are its chunks: used, pending, free" },
	[CHUNK_ADDRESS] = { "address", QUERY_INTEGER, "address of its first byte" },
	[CHUNK_BYTES] = { "bytes", QUERY_INTEGER, "its size" },
	[CHUNK_REQUESTED_BYTES] = { "requested_bytes", QUERY_INTEGER,
				    "size asked for, before it was rounded up; NULL: not known" },
};

static const TachoChunk *chunk_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->chunks, TachoChunk, row);
}

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->chunks->len;
}

static const gchar *state_name(guint8 state)
{
	static const gchar *const names[] = { "segment", "used", "pending", "free" };

	return state < G_N_ELEMENTS(names) ? names[state] : NULL;
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoChunk *chunk = chunk_at(data, row);

	switch ((enum chunk_column)column) {
	case CHUNK_ID:
		sqlite3_result_int64(result, row);
		break;
	case CHUNK_UPID:
		sqlite3_result_int64(result, chunk->process);
		break;
	case CHUNK_RANK:
		query_result_optional(result, query_data_rank(data, chunk->process));
		break;
	case CHUNK_DEVICE:
		query_result_optional(result, (gint64)chunk->device - 1);
		break;
	case CHUNK_POOL:
		query_result_string(result, data, chunk->pool);
		break;
	case CHUNK_STATE:
		query_result_text(result, state_name(chunk->state));
		break;
	case CHUNK_ADDRESS:
		sqlite3_result_int64(result, (sqlite3_int64)chunk->address);
		break;
	case CHUNK_BYTES:
		sqlite3_result_int64(result, (sqlite3_int64)chunk->bytes);
		break;
	case CHUNK_REQUESTED_BYTES:
		if (chunk->requested_bytes)
			sqlite3_result_int64(result, (sqlite3_int64)chunk->requested_bytes);
		break;
	}
}

const struct query_table query_table_chunk = {
	.name = "chunk",
	.meaning = "what allocators held at the end: segments and their chunks",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
};
