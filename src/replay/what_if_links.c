/* what_if_links: changes of what collectives run over. */
#include "replay/what_if_internal.h"

static gdouble wire_bytes(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	return transfer_wire_bytes(tacho_timeline_string(graph->timeline, transfer->name),
				   transfer->bytes, transfer->n_ranks);
}

static gdouble latencies(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	const gchar *name = tacho_timeline_string(graph->timeline, transfer->name);

	if (transfer->is_device)
		return transfer_device_latencies(name, transfer->n_ranks);
	return transfer_latencies(name, transfer->bytes, transfer->n_ranks);
}

/* What moving bytes takes from computing: a part goes with the bytes a second. */
static void scale_taken(TachoGraph *graph, gdouble factor)
{
	gdouble added = graph->taken_by_bytes * (factor - 1);

	graph->taken_share = MIN(graph->taken_share + added, GRAPH_MAX_TAKEN);
	graph->taken_by_bytes = MIN(graph->taken_by_bytes + added, GRAPH_MAX_TAKEN);
}

/* What later edits (bucket_mb) make new transfers from must change with the old ones. */
static void scale_bandwidth(TachoGraph *graph, gdouble factor)
{
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);

		if (!transfer->is_removed)
			graph_set_transfer(graph, i, transfer->fixed_ns,
					   transfer->work_ns / factor);
	}
	for (guint32 i = 0; i < graph->groups->len; i++)
		graph_group_at(graph, i)->cost.ns_per_byte /= factor;
	scale_taken(graph, factor);
}

/* The largest factor by which a group's bytes move faster at `ns_per_byte`; 1: not known. */
static gdouble bandwidth_factor(const TachoGraph *graph, gdouble ns_per_byte)
{
	gdouble factor = 0;

	for (guint32 i = 0; i < graph->groups->len; i++)
		factor = MAX(factor, graph_group_at(graph, i)->cost.ns_per_byte / ns_per_byte);
	return factor > 0 ? factor : 1;
}

static void set_bandwidth(TachoGraph *graph, gdouble bits_per_second)
{
	gdouble ns_per_byte = 8e9 / bits_per_second;

	scale_taken(graph, bandwidth_factor(graph, ns_per_byte));
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);

		if (!transfer->is_removed)
			graph_set_transfer(graph, i, transfer->fixed_ns,
					   wire_bytes(graph, transfer) * ns_per_byte);
	}
	for (guint32 i = 0; i < graph->groups->len; i++)
		graph_group_at(graph, i)->cost.ns_per_byte = ns_per_byte;
}

gboolean what_if_bandwidth(TachoGraph *graph, const gchar *what_if, const gchar *text,
			   GError **error)
{
	struct value value;

	if (!what_if_parse_value(text, UNITS_RATE, &value) || value.form == VALUE_PLAIN ||
	    value.form == VALUE_ADDED || value.number <= 0)
		return what_if_refuse(error, what_if, "a bandwidth is '10x' or '10gbit'");
	if (graph->transfers->len == 0)
		return what_if_refuse(error, what_if, "the steps hold no collective");
	if (value.form == VALUE_FACTOR)
		scale_bandwidth(graph, value.number);
	else
		set_bandwidth(graph, value.number);
	return TRUE;
}

/* The one-way latency: what the fitted fixed time holds, were it nothing else, and what was added. */
static gdouble latency_now_ns(const struct graph_group *group)
{
	gdouble times = group->is_device ? transfer_device_latencies("all_reduce", group->n_ranks)
					 : transfer_latencies("all_reduce", 1, group->n_ranks);

	return group->added_latency_ns + group->hop_ns +
	       (times > 0 ? group->cost.fixed_ns / times : 0);
}

static gdouble latency_change_ns(const struct graph_group *group, struct value value)
{
	gdouble now_ns = latency_now_ns(group);

	if (value.form == VALUE_ADDED)
		return value.number;
	if (value.form == VALUE_FACTOR)
		return now_ns * value.number - now_ns;
	return value.number - now_ns;
}

gboolean what_if_latency(TachoGraph *graph, const gchar *what_if, const gchar *text, GError **error)
{
	struct value value;

	if (!what_if_parse_value(text, UNITS_TIME, &value) || value.form == VALUE_PLAIN)
		return what_if_refuse(error, what_if, "a latency is '+1ms', '1ms' or '2x'");
	if (graph->transfers->len == 0)
		return what_if_refuse(error, what_if, "the steps hold no collective");
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);
		gdouble change_ns =
			latency_change_ns(graph_group_at(graph, transfer->group), value);

		if (!transfer->is_removed)
			graph_set_transfer(graph, i,
					   transfer->fixed_ns +
						   change_ns * latencies(graph, transfer),
					   transfer->work_ns);
	}
	for (guint32 i = 0; i < graph->groups->len; i++) {
		struct graph_group *group = graph_group_at(graph, i);

		group->added_latency_ns += latency_change_ns(group, value);
	}
	return TRUE;
}
