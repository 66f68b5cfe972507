/* core_waits: how much longer collectives wait while ranks compute: who moves their bytes needs a core for each segment. */
#include "graph/graph_internal.h"

#include "base/for_each.h"
#include "cost/transfer_cost.h"
#include "trace/operation.h"

static gdouble n_segments(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	enum collective_operation operation = operation_of_name(graph->timeline, transfer->name);

	if (!operation_is_all_reduce(operation))
		return 0;
	return transfer_latencies(operation, transfer->bytes, transfer->n_ranks);
}

gdouble graph_core_wait_ns(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	gdouble wait_ns = graph_group_at(graph, transfer->group)->core_wait_ns;

	if (wait_ns <= 0 || transfer->is_hop)
		return 0;
	return wait_ns * n_segments(graph, transfer) * (1 - transfer->core_wait_off);
}

gboolean graph_has_core_waits(const TachoGraph *graph)
{
	FOR_EACH(const struct graph_group, group, graph->groups)
		if (group->core_wait_ns > 0)
			return TRUE;
	return FALSE;
}
