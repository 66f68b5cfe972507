/* flow_table: the table `flow`, arrows between slices. */
#include "query/query_table.h"

static void category(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoFlow *flow = &g_array_index(data->timeline->flows, TachoFlow, row);

	query_result_text(result, tacho_flow_kind_name((TachoFlowKind)flow->kind));
}

static gboolean find_out(struct query_data *data, gint64 value, struct query_rows *rows)
{
	return query_rows_of_key(rows, query_data_flows_out(data), value);
}

static gboolean find_in(struct query_data *data, gint64 value, struct query_rows *rows)
{
	return query_rows_of_key(rows, query_data_flows_in(data), value);
}

static const struct query_column columns[] = {
	ROW_ID("id", "number of the flow"),
	INTEGER("slice_out", TachoFlow, from, "the slice it leaves: slice.id", .find = find_out),
	INTEGER("slice_in", TachoFlow, to, "the slice it reaches", .find = find_in),
	CELL("category", QUERY_TEXT, category,
	     "forward_backward, op_kernel, queue_collective, event_wait ..."),
	FLAG("is_exact", TachoFlow, is_exact, "1: recorded; 0: inferred"),
};

const struct query_table query_table_flow = {
	.name = "flow",
	.meaning = "arrows: forward to backward, operation to kernel, between ranks",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, flows),
};
