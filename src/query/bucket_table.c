/* bucket_table: the tables `bucket` and `bucket_gradient`: what DistributedDataParallel reduced together. */
#include "query/query_table.h"

#include "base/partition_point.h"

static const struct query_column bucket_columns[] = {
	ROW_ID("id", "number of the row"),
	RANK_AT("rank", TachoBucket, rank_index, "rank"),
	ID("step", TachoBucket, step, "number of the training step; NULL: in no step"),
	INTEGER("number", TachoBucket, index,
		"its place in the backward pass, in the order queued, from 0"),
	INTEGER("slice_id", TachoBucket, slice, "its collective on this rank: slice.id"),
	INTEGER("bytes", TachoBucket, bytes, "its size"),
	INTEGER("n_gradients", TachoBucket, n_gradients, "gradients that are known to be in it"),
	INTEGER("ready_ts", TachoBucket, ready_ns, "when its last gradient was ready, ns"),
	INTEGER("queued_ts", TachoBucket, queued_ns, "when its collective was queued, ns"),
	FLAG("is_whole", TachoBucket, is_whole,
	     "1: the gradients have as many bytes as the bucket"),
};

const struct query_table query_table_bucket = {
	.name = "bucket",
	.meaning = "buckets of gradients that DistributedDataParallel reduced, a row for each rank",
	.columns = bucket_columns,
	.n_columns = G_N_ELEMENTS(bucket_columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, buckets),
};

/* --- bucket_gradient -------------------------------------------------------------------------- */

static const TachoBucket *bucket_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->buckets, TachoBucket, row);
}

/* Buckets' ranges of gradients ascend. */
static guint32 bucket_of(const struct query_data *data, guint32 gradient)
{
	const GArray *buckets = data->timeline->buckets;
	guint n = ROWS_BEFORE(buckets, TachoBucket, row,
			      row->first_gradient + row->n_gradients <= gradient);

	return n < buckets->len ? n : TACHO_NONE;
}

static void bucket_id(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_id(result, bucket_of(data, row));
}

static void offset_bytes(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoGradient *gradient =
		&g_array_index(data->timeline->gradients, TachoGradient, row);

	if (gradient->is_exact)
		sqlite3_result_int64(result, (sqlite3_int64)gradient->offset_bytes);
}

static gboolean find_by_bucket(struct query_data *data, gint64 value, struct query_rows *rows)
{
	*rows = (struct query_rows){ 0 };
	if (value >= 0 && value < data->timeline->buckets->len) {
		rows->first = bucket_at(data, (guint32)value)->first_gradient;
		rows->n = bucket_at(data, (guint32)value)->n_gradients;
	}
	return TRUE;
}

static const struct query_column gradient_columns[] = {
	ROW_ID("id", "number of the row"),
	CELL("bucket_id", QUERY_INTEGER, bucket_id, "bucket.id", .find = find_by_bucket),
	INTEGER("slice_id", TachoGradient, slice, "its AccumulateGrad: slice.id"),
	INTEGER("bytes", TachoGradient, bytes, "its size"),
	CELL("offset_bytes", QUERY_INTEGER, offset_bytes,
	     "its offset in the bucket; NULL: not known"),
	INTEGER("ready_ts", TachoGradient, ready_ns, "when AccumulateGrad ended, ns"),
	FLAG("is_exact", TachoGradient, is_exact,
	     "1: assigned to the bucket by its memory; 0: by order and size"),
};

const struct query_table query_table_bucket_gradient = {
	.name = "bucket_gradient",
	.meaning = "the gradients of each bucket, by when they were ready",
	.columns = gradient_columns,
	.n_columns = G_N_ELEMENTS(gradient_columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, gradients),
};
