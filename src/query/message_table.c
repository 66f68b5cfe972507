/* message_table: the table `message`: what correlate found of the messages on connections. */
#include "query/query_table.h"

static const TachoMessage *message_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->messages, TachoMessage, row);
}

static void rank(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_rank_of_slice(result, data, message_at(data, row)->slice);
}

static void direction(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_text(result, message_at(data, row)->is_receive ? "receive" : "send");
}

static gboolean find_by_slice(struct query_data *data, gint64 value, struct query_rows *rows)
{
	return query_rows_of_key(rows, query_data_messages_by_slice(data), value);
}

static const struct query_column columns[] = {
	ROW_ID("id", "number of the message"),
	INTEGER("slice_id", TachoMessage, slice, "the call that sent or received it",
		.find = find_by_slice),
	CELL("rank", QUERY_INTEGER, rank, "rank it was recorded on"),
	CELL("direction", QUERY_TEXT, direction, "send, receive"),
	INTEGER("stream", TachoMessage, stream,
		"twice the number of the connection; plus 1 for one of its two directions"),
	INTEGER("bytes", TachoMessage, bytes, "its size"),
	INTEGER("offset_bytes", TachoMessage, offset_bytes, "its offset in the stream"),
	INTEGER("paired_bytes", TachoMessage, paired_bytes,
		"bytes recorded at the other end, too; the flows say in which slices"),
	ID("peer_upid", TachoMessage, peer_process,
	   "the process at the other end: process.upid; NULL: not in the run"),
	RANK_OF("peer_rank", TachoMessage, peer_process, "its rank"),
	ID("collective_slice_id", TachoMessage, collective,
	   "the collective of this rank that it belongs to"),
	ID("collective_id", TachoMessage, collective_row,
	   "the collective of all ranks: collective.id"),
	ID("ring_step", TachoMessage, ring_step,
	   "step of a ring all-reduce over n ranks, 0 to 2n - 3"),
	FLAG("is_exact", TachoMessage, is_exact, "1: the collective was recorded; 0: inferred"),
};

const struct query_table query_table_message = {
	.name = "message",
	.meaning = "messages on connections, with their other end and what they were for",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, messages),
};
