/* message_table: the table `message`: what correlate found of the messages on connections. */
#include "query/query_table.h"

enum message_column {
	MESSAGE_ID,
	MESSAGE_SLICE_ID,
	MESSAGE_RANK,
	MESSAGE_DIRECTION,
	MESSAGE_STREAM,
	MESSAGE_BYTES,
	MESSAGE_OFFSET_BYTES,
	MESSAGE_PAIRED_BYTES,
	MESSAGE_PEER_UPID,
	MESSAGE_PEER_RANK,
	MESSAGE_COLLECTIVE_SLICE_ID,
	MESSAGE_COLLECTIVE_ID,
	MESSAGE_RING_STEP,
	MESSAGE_IS_EXACT,
};

static const struct query_column columns[] = {
	[MESSAGE_ID] = { "id", QUERY_INTEGER, "number of the message" },
	[MESSAGE_SLICE_ID] = { "slice_id", QUERY_INTEGER, "the call that sent or received it" },
	[MESSAGE_RANK] = { "rank", QUERY_INTEGER, "rank it was recorded on" },
	[MESSAGE_DIRECTION] = { "direction", QUERY_TEXT, "send, receive" },
	[MESSAGE_STREAM] = { "stream", QUERY_INTEGER,
			     "twice the number of the connection; plus 1 for one of its two "
			     "directions" },
	[MESSAGE_BYTES] = { "bytes", QUERY_INTEGER, "its size" },
	[MESSAGE_OFFSET_BYTES] = { "offset_bytes", QUERY_INTEGER, "its offset in the stream" },
	[MESSAGE_PAIRED_BYTES] = { "paired_bytes", QUERY_INTEGER,
				   "bytes recorded at the other end, too; the flows say in which "
				   "slices" },
	[MESSAGE_PEER_UPID] = { "peer_upid", QUERY_INTEGER,
				"the process at the other end: process.upid; NULL: not in the "
				"run" },
	[MESSAGE_PEER_RANK] = { "peer_rank", QUERY_INTEGER, "its rank" },
	[MESSAGE_COLLECTIVE_SLICE_ID] = { "collective_slice_id", QUERY_INTEGER,
					  "the collective of this rank that it belongs to" },
	[MESSAGE_COLLECTIVE_ID] = { "collective_id", QUERY_INTEGER,
				    "the collective of all ranks: collective.id" },
	[MESSAGE_RING_STEP] = { "ring_step", QUERY_INTEGER,
				"step of a ring all-reduce over n ranks, 0 to 2n - 3" },
	[MESSAGE_IS_EXACT] = { "is_exact", QUERY_INTEGER,
			       "1: the collective was recorded; 0: inferred" },
};

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->messages->len;
}

static void result_rank(sqlite3_context *result, const struct query_data *data, guint32 process)
{
	if (process != TACHO_NONE)
		query_result_optional(result, query_data_rank(data, process));
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoTimeline *timeline = data->timeline;
	const TachoMessage *message = &g_array_index(timeline->messages, TachoMessage, row);
	guint32 track = timeline->slices.track[message->slice];

	switch ((enum message_column)column) {
	case MESSAGE_ID:
		sqlite3_result_int64(result, row);
		break;
	case MESSAGE_SLICE_ID:
		sqlite3_result_int64(result, message->slice);
		break;
	case MESSAGE_RANK:
		result_rank(result, data, tacho_timeline_track(timeline, track)->process);
		break;
	case MESSAGE_DIRECTION:
		query_result_text(result, message->is_receive ? "receive" : "send");
		break;
	case MESSAGE_STREAM:
		sqlite3_result_int64(result, message->stream);
		break;
	case MESSAGE_BYTES:
		sqlite3_result_int64(result, (sqlite3_int64)message->bytes);
		break;
	case MESSAGE_OFFSET_BYTES:
		sqlite3_result_int64(result, (sqlite3_int64)message->offset_bytes);
		break;
	case MESSAGE_PAIRED_BYTES:
		sqlite3_result_int64(result, (sqlite3_int64)message->paired_bytes);
		break;
	case MESSAGE_PEER_UPID:
		query_result_id(result, message->peer_process);
		break;
	case MESSAGE_PEER_RANK:
		result_rank(result, data, message->peer_process);
		break;
	case MESSAGE_COLLECTIVE_SLICE_ID:
		query_result_id(result, message->collective);
		break;
	case MESSAGE_COLLECTIVE_ID:
		query_result_id(result, message->collective_row);
		break;
	case MESSAGE_RING_STEP:
		query_result_id(result, message->ring_step);
		break;
	case MESSAGE_IS_EXACT:
		sqlite3_result_int(result, message->is_exact != 0);
		break;
	}
}

static gboolean find(struct query_data *data, guint column, gint64 value, struct query_rows *rows)
{
	return column == MESSAGE_SLICE_ID &&
	       query_find_by_key(data, query_data_messages_by_slice, value, rows);
}

const struct query_table query_table_message = {
	.name = "message",
	.meaning = "messages on connections, with their other end and what they were for",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
	.find = find,
};
