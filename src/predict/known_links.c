#include "predict/known_links.h"

#include "base/for_each.h"
#include "graph/graph_internal.h"
#include "learn/cost_model.h"
#include "learn/link_cost.h"

static void part_transfers(TachoGraph *graph, guint32 group, gdouble ns_per_byte)
{
	FOR_EACH(struct graph_transfer, transfer, graph->transfers) {
		gdouble whole_ns = transfer->fixed_ns + transfer->work_ns;
		gdouble bytes;

		if (transfer->group != group || transfer->is_removed)
			continue;
		bytes = transfer_wire_bytes(operation_of_name(graph->timeline, transfer->name),
					    transfer->bytes, transfer->n_ranks);
		transfer->work_ns = MIN(bytes * ns_per_byte, whole_ns);
		transfer->fixed_ns = whole_ns - transfer->work_ns;
	}
}

/* What bytes and waits take in the group is guessed: there is one size, or none. */
static gboolean is_guessed(const struct graph_group *group)
{
	return group->cost.n_sizes <= 1 && group->wire_ns_per_byte <= 0 && !group->is_hops &&
	       group->n_ranks > 1 && group->job == 0;
}

void known_links_use(TachoGraph *graph, const TachoCostModel *costs)
{
	const gchar *host, *device;

	tacho_cost_place(graph->timeline, &host, &device);
	FOR_EACH_AT(struct graph_group, group, i, graph->groups) {
		const struct link_cost *link;

		if (!is_guessed(group))
			continue;
		link = link_costs_find(costs->links, host, OPERATION_ALL_REDUCE, group->n_ranks);
		if (!link || link->cost.ns_per_byte <= 0)
			continue;
		group->cost = link->cost;
		part_transfers(graph, i, link->cost.ns_per_byte);
		graph_note(
			graph,
			"collectives of group %u are of about one size; what waits and bytes "
			"take of them is as all-reduces among %u ranks %s on %s: %.1f us and %.3f "
			"GB/s",
			i, group->n_ranks, link->is_calibrated ? "were measured" : "were recorded",
			link->host, link->cost.fixed_ns / 1e3, 1 / link->cost.ns_per_byte);
	}
}
