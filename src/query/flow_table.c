/* flow_table: the table `flow`, arrows between slices. */
#include "query/query_table.h"

enum flow_column {
	FLOW_ID,
	FLOW_SLICE_OUT,
	FLOW_SLICE_IN,
	FLOW_CATEGORY,
	FLOW_IS_EXACT,
};

static const struct query_column columns[] = {
	[FLOW_ID] = { "id", QUERY_INTEGER, "number of the flow" },
	[FLOW_SLICE_OUT] = { "slice_out", QUERY_INTEGER, "the slice it leaves: slice.id" },
	[FLOW_SLICE_IN] = { "slice_in", QUERY_INTEGER, "the slice it reaches" },
	[FLOW_CATEGORY] = { "category", QUERY_TEXT,
			    "forward_backward, op_kernel, queue_collective, event_wait ..." },
	[FLOW_IS_EXACT] = { "is_exact", QUERY_INTEGER, "1: recorded; 0: inferred" },
};

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->flows->len;
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoFlow *flow = &g_array_index(data->timeline->flows, TachoFlow, row);

	switch ((enum flow_column)column) {
	case FLOW_ID:
		sqlite3_result_int64(result, row);
		break;
	case FLOW_SLICE_OUT:
		sqlite3_result_int64(result, flow->from);
		break;
	case FLOW_SLICE_IN:
		sqlite3_result_int64(result, flow->to);
		break;
	case FLOW_CATEGORY:
		query_result_text(result, tacho_flow_kind_name((TachoFlowKind)flow->kind));
		break;
	case FLOW_IS_EXACT:
		sqlite3_result_int(result, flow->is_exact != 0);
		break;
	}
}

static gboolean find(struct query_data *data, guint column, gint64 value, struct query_rows *rows)
{
	if (column == FLOW_SLICE_OUT)
		return query_find_by_key(data, query_data_flows_out, value, rows);
	return column == FLOW_SLICE_IN && query_find_by_key(data, query_data_flows_in, value, rows);
}

const struct query_table query_table_flow = {
	.name = "flow",
	.meaning = "arrows: forward to backward, operation to kernel, between ranks",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
	.find = find,
};
