/* graph_work_table: the table `graph_work`: what devices did for the nodes of CUDA's and HIP's graphs. */
#include <tacho/correlate.h>

#include "query/query_table.h"

static const TachoGraphWork *work_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->graph_work, TachoGraphWork, row);
}

static void op(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoGraphWork *work = work_at(data, row);

	if (work->capture != TACHO_NONE)
		query_result_id(result, tacho_kernel_op(data->timeline, work->slice));
}

static void is_exact(struct query_data *data, guint32 row, sqlite3_context *result)
{
	if (work_at(data, row)->capture != TACHO_NONE)
		sqlite3_result_int(result, work_at(data, row)->is_exact);
}

static const struct query_column columns[] = {
	ROW_ID("id", "number of the row"),
	INTEGER("slice_id", TachoGraphWork, slice, "the work: slice.id"),
	INTEGER("graph", TachoGraphWork, graph, "number of the graph, in the run"),
	INTEGER("number", TachoGraphWork, number,
		"place of the node in the work of its graph, from 0"),
	KNOWN("node_id", TachoGraphWork, node, "the node's id; NULL: not known"),
	ID("capture_id", TachoGraphWork, capture,
	   "the call or region that made the node: slice.id; NULL: not recorded"),
	CELL("op_id", QUERY_INTEGER, op, "the operation around that: slice.id; NULL: not known"),
	CELL("is_exact", QUERY_INTEGER, is_exact,
	     "1: found by the node's id; 0: by the order of calls"),
};

const struct query_table query_table_graph_work = {
	.name = "graph_work",
	.meaning = "work of devices for the nodes of CUDA and HIP graphs",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, graph_work),
};
