/* graph_work_table: the table `graph_work`: what devices did for the nodes of CUDA's and HIP's graphs. */
#include <tacho/correlate.h>

#include "query/query_table.h"

enum graph_work_column {
	WORK_ID,
	WORK_SLICE_ID,
	WORK_GRAPH,
	WORK_NUMBER,
	WORK_NODE_ID,
	WORK_CAPTURE_ID,
	WORK_OP_ID,
	WORK_IS_EXACT,
};

static const struct query_column columns[] = {
	[WORK_ID] = { "id", QUERY_INTEGER, "number of the row" },
	[WORK_SLICE_ID] = { "slice_id", QUERY_INTEGER, "the work: slice.id" },
	[WORK_GRAPH] = { "graph", QUERY_INTEGER, "number of the graph, in the run" },
	[WORK_NUMBER] = { "number", QUERY_INTEGER,
			  "place of the node in the work of its graph, from 0" },
	[WORK_NODE_ID] = { "node_id", QUERY_INTEGER, "the node's id; NULL: not known" },
	[WORK_CAPTURE_ID] = { "capture_id", QUERY_INTEGER,
			      "the call or region that made the node: slice.id; NULL: not "
			      "recorded" },
	[WORK_OP_ID] = { "op_id", QUERY_INTEGER,
			 "the operation around that: slice.id; NULL: not known" },
	[WORK_IS_EXACT] = { "is_exact", QUERY_INTEGER,
			    "1: found by the node's id; 0: by the order of calls" },
};

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->graph_work->len;
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoGraphWork *work =
		&g_array_index(data->timeline->graph_work, TachoGraphWork, row);

	switch ((enum graph_work_column)column) {
	case WORK_ID:
		sqlite3_result_int64(result, row);
		break;
	case WORK_SLICE_ID:
		sqlite3_result_int64(result, work->slice);
		break;
	case WORK_GRAPH:
		sqlite3_result_int64(result, work->graph);
		break;
	case WORK_NUMBER:
		sqlite3_result_int64(result, work->number);
		break;
	case WORK_NODE_ID:
		if (work->node)
			sqlite3_result_int64(result, work->node);
		break;
	case WORK_CAPTURE_ID:
		query_result_id(result, work->capture);
		break;
	case WORK_OP_ID:
		if (work->capture != TACHO_NONE)
			query_result_id(result, tacho_kernel_op(data->timeline, work->slice));
		break;
	case WORK_IS_EXACT:
		if (work->capture != TACHO_NONE)
			sqlite3_result_int(result, work->is_exact);
		break;
	}
}

const struct query_table query_table_graph_work = {
	.name = "graph_work",
	.meaning = "work of devices for the nodes of CUDA and HIP graphs",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
};
