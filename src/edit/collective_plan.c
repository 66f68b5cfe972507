#include "edit/collective_plan.h"
#include "base/for_each.h"
#include "trace/operation.h"

/* A hop waits once, as the first slice of a ring of devices does on each of its ways. */
static gboolean waits_once_a_way(const struct graph_group *group)
{
	return group->is_device || group->is_hops;
}

/* How often a collective of the group waits for the latency. */
static gdouble latencies_of(const struct graph_group *group, enum collective_operation operation,
			    guint64 bytes, guint32 n_ranks)
{
	return waits_once_a_way(group) ? transfer_device_latencies(operation, n_ranks)
				       : transfer_latencies(operation, bytes, n_ranks);
}

gdouble group_latency_ns(const struct graph_group *group)
{
	gdouble times = latencies_of(
		group, group->is_hops ? OPERATION_UNTOLD : OPERATION_ALL_REDUCE, 1, group->n_ranks);

	return group->added_latency_ns + group->hop_ns +
	       (times > 0 ? group->cost.fixed_ns / times : 0);
}

static gboolean is_as_recorded(const struct graph_group *group)
{
	return group->plan.algorithm == COLLECTIVE_AS_RECORDED &&
	       group->plan.topology.n_levels == 0;
}

gdouble group_hidden_ns(const struct graph_group *group, enum collective_operation operation,
			guint64 bytes, guint32 n_ranks)
{
	if (waits_once_a_way(group) || !is_as_recorded(group))
		return 0;
	return transfer_hidden_ns(operation, bytes, n_ranks, MAX(group->added_latency_ns, 0.0),
				  group->cost.ns_per_byte *
					  transfer_wire_bytes(operation, bytes, n_ranks));
}

/* Latency and bandwidth where the plan leaves them open. */
static void fill_in(struct collective_plan *plan, gdouble latency_ns, gdouble ns_per_byte)
{
	if (plan->topology.n_levels == 0) {
		plan->topology.n_levels = 1;
		plan->topology.levels[0] = (struct topology_level){ 0, 0, -1 };
	}
	for (guint32 i = 0; i < plan->topology.n_levels; i++) {
		struct topology_level *level = &plan->topology.levels[i];

		if (level->latency_ns < 0)
			level->latency_ns = latency_ns;
		if (level->ns_per_byte <= 0)
			level->ns_per_byte = ns_per_byte;
	}
}

struct collective_plan group_plan(const struct graph_group *group)
{
	struct collective_plan plan = group->plan;

	plan.is_device = waits_once_a_way(group);
	fill_in(&plan, group_latency_ns(group), group->cost.ns_per_byte);
	return plan;
}

struct collective_time group_new_transfer(const struct graph_group *group,
					  enum collective_operation operation, guint64 bytes,
					  guint32 n_ranks)
{
	const struct transfer_cost *cost = &group->cost;
	struct collective_plan plan;

	if (is_as_recorded(group))
		return (struct collective_time){
			cost->fixed_ns +
				(group->hop_ns + group->added_latency_ns) *
					latencies_of(group, operation, bytes, n_ranks) -
				group_hidden_ns(group, operation, bytes, n_ranks),
			cost->ns_per_byte * transfer_wire_bytes(operation, bytes, n_ranks),
		};
	plan = group_plan(group);
	return collective_time(&plan, operation, bytes, n_ranks);
}

/* What bytes take, when the formula gave `before` and gives `after`: in proportion, so that what is particular to a transfer
 * stays. */
static gdouble work_replanned(gdouble now, gdouble before, gdouble after)
{
	return before > 0 && after > 0 ? now * (after / before) : MAX(now + after - before, 0.0);
}

/* What waits take. What there is beyond the formula is no latency: a transfer was held up. It stays as it is, whatever the
 * ranks and the links are; the rest goes with the formula. So changes of plans lead to the same by whatever way. */
static gdouble waits_replanned(gdouble now, gdouble before, gdouble after)
{
	gdouble explained = MIN(now, before);

	return now - explained + (before > 0 ? explained * (after / before) : after);
}

struct collective_time transfer_of_size(const TachoGraph *graph, const struct graph_transfer *whole,
					guint64 bytes)
{
	struct collective_plan plan = group_plan(graph_group_at(graph, whole->group));
	enum collective_operation operation = operation_of_name(graph->timeline, whole->name);
	gdouble of_whole = collective_time(&plan, operation, whole->bytes, whole->n_ranks).fixed_ns;
	gdouble of_part = collective_time(&plan, operation, bytes, whole->n_ranks).fixed_ns;

	return (struct collective_time){
		of_whole > 0 ? whole->fixed_ns * (of_part / of_whole) : whole->fixed_ns,
		whole->work_ns * ((gdouble)bytes / (gdouble)whole->bytes),
	};
}

struct collective_time group_new_transfer_like(const struct graph_group *group,
					       const struct graph_transfer *model,
					       enum collective_operation operation, guint64 bytes,
					       guint32 n_ranks)
{
	struct collective_plan plan = group_plan(group);
	struct collective_time was, is;

	if (plan.algorithm != COLLECTIVE_PS)
		return group_new_transfer(group, operation, bytes, n_ranks);
	was = collective_time(&plan, operation, model->bytes, n_ranks);
	is = collective_time(&plan, operation, bytes, n_ranks);
	return (struct collective_time){
		waits_replanned(model->fixed_ns, was.fixed_ns, is.fixed_ns),
		work_replanned(model->work_ns, was.work_ns, is.work_ns),
	};
}

void group_replan(TachoGraph *graph, guint32 index, const struct collective_plan *plan,
		  guint32 n_ranks)
{
	struct graph_group *group = graph_group_at(graph, index);
	struct collective_plan before = group_plan(group), after = *plan;
	guint32 n_ranks_before = group->n_ranks;

	after.is_device = waits_once_a_way(group);
	fill_in(&after, group_latency_ns(group), group->cost.ns_per_byte);
	FOR_EACH_AT(struct graph_transfer, transfer, i, graph->transfers) {
		enum collective_operation operation =
			operation_of_name(graph->timeline, transfer->name);
		struct collective_time was, is;

		if (transfer->group != index || transfer->is_removed)
			continue;
		was = collective_time(&before, operation, transfer->bytes, transfer->n_ranks);
		if (transfer->n_ranks == n_ranks_before)
			transfer->n_ranks = n_ranks;
		is = collective_time(&after, operation, transfer->bytes, transfer->n_ranks);
		graph_change_transfer(
			graph, i, waits_replanned(transfer->fixed_ns, was.fixed_ns, is.fixed_ns),
			work_replanned(transfer->work_ns, was.work_ns, is.work_ns),
			ORIGIN_MODELLED);
	}
	group->plan = *plan;
	group->n_ranks = n_ranks;
	/* what the fitted line says of the recorded number of ranks, said of the new one */
	if (latencies_of(group, OPERATION_ALL_REDUCE, 1, n_ranks_before) > 0)
		group->cost.fixed_ns *=
			latencies_of(group, OPERATION_ALL_REDUCE, 1, n_ranks) /
			latencies_of(group, OPERATION_ALL_REDUCE, 1, n_ranks_before);
}
