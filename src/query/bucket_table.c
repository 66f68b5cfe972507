/* bucket_table: the tables `bucket` and `bucket_gradient`: what DistributedDataParallel reduced together. */
#include "query/query_table.h"

static const TachoBucket *bucket_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->buckets, TachoBucket, row);
}

static guint32 n_buckets(const struct query_data *data)
{
	return data->timeline->buckets->len;
}

/* --- bucket ----------------------------------------------------------------------------------- */

enum bucket_column {
	BUCKET_ID,
	BUCKET_RANK,
	BUCKET_STEP,
	BUCKET_NUMBER,
	BUCKET_SLICE_ID,
	BUCKET_BYTES,
	BUCKET_N_GRADIENTS,
	BUCKET_READY_TS,
	BUCKET_QUEUED_TS,
	BUCKET_IS_WHOLE,
};

static const struct query_column bucket_columns[] = {
	[BUCKET_ID] = { "id", QUERY_INTEGER, "number of the row" },
	[BUCKET_RANK] = { "rank", QUERY_INTEGER, "rank" },
	[BUCKET_STEP] = { "step", QUERY_INTEGER, "number of the training step; NULL: in no step" },
	[BUCKET_NUMBER] = { "number", QUERY_INTEGER,
			    "its place in the backward pass, in the order queued, from 0" },
	[BUCKET_SLICE_ID] = { "slice_id", QUERY_INTEGER, "its collective on this rank: slice.id" },
	[BUCKET_BYTES] = { "bytes", QUERY_INTEGER, "its size" },
	[BUCKET_N_GRADIENTS] = { "n_gradients", QUERY_INTEGER,
				 "gradients that are known to be in it" },
	[BUCKET_READY_TS] = { "ready_ts", QUERY_INTEGER, "when its last gradient was ready, ns" },
	[BUCKET_QUEUED_TS] = { "queued_ts", QUERY_INTEGER, "when its collective was queued, ns" },
	[BUCKET_IS_WHOLE] = { "is_whole", QUERY_INTEGER,
			      "1: the gradients have as many bytes as the bucket" },
};

static void bucket_cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoBucket *bucket = bucket_at(data, row);

	switch ((enum bucket_column)column) {
	case BUCKET_ID:
		sqlite3_result_int64(result, row);
		break;
	case BUCKET_RANK:
		query_result_optional(
			result,
			g_array_index(data->timeline->ranks, TachoRank, bucket->rank_index).rank);
		break;
	case BUCKET_STEP:
		query_result_id(result, bucket->step);
		break;
	case BUCKET_NUMBER:
		sqlite3_result_int64(result, bucket->index);
		break;
	case BUCKET_SLICE_ID:
		sqlite3_result_int64(result, bucket->slice);
		break;
	case BUCKET_BYTES:
		sqlite3_result_int64(result, (sqlite3_int64)bucket->bytes);
		break;
	case BUCKET_N_GRADIENTS:
		sqlite3_result_int64(result, bucket->n_gradients);
		break;
	case BUCKET_READY_TS:
		sqlite3_result_int64(result, bucket->ready_ns);
		break;
	case BUCKET_QUEUED_TS:
		sqlite3_result_int64(result, bucket->queued_ns);
		break;
	case BUCKET_IS_WHOLE:
		sqlite3_result_int(result, bucket->is_whole != FALSE);
		break;
	}
}

const struct query_table query_table_bucket = {
	.name = "bucket",
	.meaning = "buckets of gradients that DistributedDataParallel reduced, a row for each rank",
	.columns = bucket_columns,
	.n_columns = G_N_ELEMENTS(bucket_columns),
	.module = &query_row_module,
	.n_rows = n_buckets,
	.cell = bucket_cell,
};

/* --- bucket_gradient -------------------------------------------------------------------------- */

enum gradient_column {
	GRADIENT_ID,
	GRADIENT_BUCKET_ID,
	GRADIENT_SLICE_ID,
	GRADIENT_BYTES,
	GRADIENT_OFFSET_BYTES,
	GRADIENT_READY_TS,
	GRADIENT_IS_EXACT,
};

static const struct query_column gradient_columns[] = {
	[GRADIENT_ID] = { "id", QUERY_INTEGER, "number of the row" },
	[GRADIENT_BUCKET_ID] = { "bucket_id", QUERY_INTEGER, "bucket.id" },
	[GRADIENT_SLICE_ID] = { "slice_id", QUERY_INTEGER, "its AccumulateGrad: slice.id" },
	[GRADIENT_BYTES] = { "bytes", QUERY_INTEGER, "its size" },
	[GRADIENT_OFFSET_BYTES] = { "offset_bytes", QUERY_INTEGER,
				    "its offset in the bucket; NULL: not known" },
	[GRADIENT_READY_TS] = { "ready_ts", QUERY_INTEGER, "when AccumulateGrad ended, ns" },
	[GRADIENT_IS_EXACT] = { "is_exact", QUERY_INTEGER,
				"1: assigned to the bucket by its memory; 0: by order and size" },
};

static guint32 n_gradients(const struct query_data *data)
{
	return data->timeline->gradients->len;
}

/* Buckets' ranges of gradients ascend. */
static guint32 bucket_of(const struct query_data *data, guint32 gradient)
{
	guint32 low = 0, high = n_buckets(data);

	while (low < high) {
		guint32 middle = low + (high - low) / 2;
		const TachoBucket *bucket = bucket_at(data, middle);

		if (bucket->first_gradient + bucket->n_gradients <= gradient)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n_buckets(data) ? low : TACHO_NONE;
}

static void gradient_cell(struct query_data *data, guint32 row, guint column,
			  sqlite3_context *result)
{
	const TachoGradient *gradient =
		&g_array_index(data->timeline->gradients, TachoGradient, row);

	switch ((enum gradient_column)column) {
	case GRADIENT_ID:
		sqlite3_result_int64(result, row);
		break;
	case GRADIENT_BUCKET_ID:
		query_result_id(result, bucket_of(data, row));
		break;
	case GRADIENT_SLICE_ID:
		sqlite3_result_int64(result, gradient->slice);
		break;
	case GRADIENT_BYTES:
		sqlite3_result_int64(result, (sqlite3_int64)gradient->bytes);
		break;
	case GRADIENT_OFFSET_BYTES:
		if (gradient->is_exact)
			sqlite3_result_int64(result, (sqlite3_int64)gradient->offset_bytes);
		break;
	case GRADIENT_READY_TS:
		sqlite3_result_int64(result, gradient->ready_ns);
		break;
	case GRADIENT_IS_EXACT:
		sqlite3_result_int(result, gradient->is_exact != FALSE);
		break;
	}
}

static gboolean find_gradients(struct query_data *data, guint column, gint64 value,
			       struct query_rows *rows)
{
	if (column != GRADIENT_BUCKET_ID)
		return FALSE;
	if (!rows)
		return TRUE;
	*rows = (struct query_rows){ 0 };
	if (value >= 0 && value < n_buckets(data)) {
		rows->first = bucket_at(data, (guint32)value)->first_gradient;
		rows->n = bucket_at(data, (guint32)value)->n_gradients;
	}
	return TRUE;
}

const struct query_table query_table_bucket_gradient = {
	.name = "bucket_gradient",
	.meaning = "the gradients of each bucket, by when they were ready",
	.columns = gradient_columns,
	.n_columns = G_N_ELEMENTS(gradient_columns),
	.module = &query_row_module,
	.n_rows = n_gradients,
	.cell = gradient_cell,
	.find = find_gradients,
};
