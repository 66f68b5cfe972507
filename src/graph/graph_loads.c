/* graph_loads: who is under way on which links, and what that leaves of them for each.
 *
 * (1) Transfers of one job share a link by their weights.
 * (2) Jobs share it by the bytes that they have under way: what waits before a link leaves in the order in which it came, so who has
 *     few bytes at a time waits behind the others' with each of them. Where that is not known (devices), by how many of their
 *     transfers would keep the link busy alone.
 * (3) What a job has under way over a link is at most what TCP has when it ends its slow start, because the queue before the link has
 *     become so long; but where hosts send to one faster than its link is, each of them has seen its own queue empty, and the windows
 *     add up (graph_n_sharing()). */
#include <math.h>
#include <string.h>

#include "graph/graph_internal.h"
#include "trace/operation.h"

/* What TCP has under way on a connection, at most.
 * Source: cited from Linux, Documentation/networking/ip-sysctl.rst: tcp_rmem, by default up to 6 MB, of which half is the window. If
 * wrong, one job's large transfers hold up another's small ones for too long, or too short. */
#define MAX_WINDOW_BYTES (3 << 20)
/* How long the queue before a link is when TCP ends its slow start.
 * Source: derived from RFC 9406, 4.2 (MIN_RTT_THRESH; HYSTART_DELAY_MIN of Linux's tcp_cubic.c): it ends when the least round trip of
 * one round is 4 ms longer than that of the round before, and windows double with each round, so the queue is of 4 to 8 ms. If wrong,
 * one job's large transfers hold up another's small ones for too long, or too short. */
#define SLOW_START_NS 6e6

static gsize load_index(const TachoGraph *graph, guint32 job, guint32 link)
{
	return (gsize)job * (graph->links->len + 1) + link;
}

/* Bytes that a transfer has under way at a time: of a hop, all that is left, so half of it on average; of a ring, two segments. 0:
 * not known. */
static guint64 bytes_in_flight(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	enum collective_operation operation = operation_of_name(graph->timeline, transfer->name);
	gdouble n_segments = transfer_latencies(operation, transfer->bytes, transfer->n_ranks);
	gdouble bytes;

	if (transfer->is_device || n_segments <= 0)
		return 0;
	bytes = transfer->is_hop ? (gdouble)transfer->bytes / 2
				 : 2 / n_segments *
					   transfer_wire_bytes(operation, transfer->bytes,
							       transfer->n_ranks);
	return (guint64)MIN(bytes, MAX_WINDOW_BYTES);
}

/* The share of its time alone in which a transfer's bytes are on the link. */
static gdouble busy_share(const struct graph_transfer *transfer)
{
	gdouble alone_ns = transfer->work_ns + transfer->fixed_ns;

	return alone_ns > 0 ? transfer->work_ns / alone_ns : 1;
}

static gboolean is_direction(const TachoGraph *graph, guint32 link, const gchar *direction)
{
	return strcmp(g_array_index(graph->links, struct graph_link, link).direction, direction) ==
	       0;
}

/* A hop comes to the link, or leaves it. */
static void change_hops(const TachoGraph *graph, guint32 job, guint32 link, gint change,
			struct link_load *loads)
{
	struct link_load *load = &loads[load_index(graph, job, link)];
	struct link_load *all = &loads[load_index(graph, job, graph->links->len)];

	load->n_hops += (guint32)change;
	if (!is_direction(graph, link, "out"))
		return;
	all->n_hops += (guint32)change;
	if (load->n_hops == (change > 0 ? 1u : 0u))
		all->weights += (guint32)change;
}

static void change_jobs(const TachoGraph *graph, const struct graph_transfer *transfer,
			guint32 link, gint change, struct link_load *loads)
{
	guint32 job = graph_group_at(graph, transfer->group)->job;
	struct link_load *load = &loads[load_index(graph, job, link)];
	gdouble share = busy_share(transfer);
	guint64 bytes = bytes_in_flight(graph, transfer);

	load->n += (guint32)change;
	load->busy += (guint64)change * (guint64)ceil(GRAPH_WEIGHT_ONE * share);
	load->in_flight += (guint64)change * bytes;
	load->mean_in_flight += (guint64)change * (guint64)((gdouble)bytes * share);
	if (transfer->is_hop)
		change_hops(graph, job, link, change, loads);
}

void graph_change_load(const TachoGraph *graph, const struct graph_transfer *transfer, gint change,
		       struct link_load *loads)
{
	const struct graph_group *group = graph_group_at(graph, transfer->group);

	for (guint32 i = 0; i < group->n_links; i++) {
		guint32 link = g_array_index(graph->group_links, guint32, group->first_link + i);

		loads[load_index(graph, group->job, link)].weights +=
			(guint32)(change * (gint)graph_transfer_weight(transfer));
		if (graph->guests->len > 0)
			change_jobs(graph, transfer, link, change, loads);
	}
}

/* How many times its rate the job's hops come to the link with: each leaves its host with the rate less what the others take that
 * leave by the same link, in the mean over the job. */
static gdouble times_the_rate(const TachoGraph *graph, guint32 job, guint32 link,
			      const struct link_load *loads)
{
	const struct link_load *all = &loads[load_index(graph, job, graph->links->len)];

	if (!is_direction(graph, link, "in") || all->n_hops == 0)
		return 0;
	return (gdouble)loads[load_index(graph, job, link)].n_hops * all->weights / all->n_hops;
}

/* The part of the bytes that a job has under way which waits before the link, where at most `most` do: (3). What hops send k times too
 * fast waits, but for a k-th. */
static gdouble waiting_part(const TachoGraph *graph, guint32 job, guint32 link,
			    const struct link_load *loads, gdouble most)
{
	gdouble in_flight = (gdouble)loads[load_index(graph, job, link)].in_flight;
	gdouble times = times_the_rate(graph, job, link, loads);

	return times > 1 ? 1 - 1 / times : MIN(1.0, most / in_flight);
}

/* What another job has of the link, as a multiple of what the job `own` has. */
static gdouble share_of(const TachoGraph *graph, guint32 job, guint32 own, guint32 link,
			const struct link_load *loads, gdouble most)
{
	const struct link_load *load = &loads[load_index(graph, job, link)];
	const struct link_load *ours = &loads[load_index(graph, own, link)];

	if (ours->n == 0 || load->n == 0)
		return 0;
	if (ours->in_flight == 0 || load->in_flight == 0)
		return (gdouble)load->busy / GRAPH_WEIGHT_ONE / ours->n;
	return (gdouble)load->mean_in_flight * waiting_part(graph, job, link, loads, most) /
	       ((gdouble)ours->in_flight * waiting_part(graph, own, link, loads, most));
}

/* What TCP has under way on links as fast as the transfer's when it ends its slow start. */
static gdouble slow_start_bytes(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	enum collective_operation operation = operation_of_name(graph->timeline, transfer->name);
	gdouble bytes = transfer->is_hop ? (gdouble)transfer->bytes
					 : transfer_wire_bytes(operation, transfer->bytes,
							       transfer->n_ranks);

	return transfer->work_ns > 0 ? SLOW_START_NS * bytes / transfer->work_ns : INFINITY;
}

static gdouble share_of_others(const TachoGraph *graph, const struct graph_transfer *transfer,
			       guint32 link, const struct link_load *loads)
{
	guint32 own = graph_group_at(graph, transfer->group)->job;
	gdouble most = slow_start_bytes(graph, transfer), share = 0;

	for (guint32 job = 0; job <= graph->guests->len; job++)
		if (job != own)
			share += share_of(graph, job, own, link, loads, most);
	return share;
}

struct graph_sharing graph_n_sharing(const TachoGraph *graph, const struct graph_transfer *transfer,
				     const struct link_load *loads, guint32 n_of_group)
{
	const struct graph_group *group = graph_group_at(graph, transfer->group);
	guint32 weight = graph_transfer_weight(transfer), own = weight;
	gdouble others = 0;

	for (guint32 i = 0; i < group->n_links; i++) {
		guint32 link = g_array_index(graph->group_links, guint32, group->first_link + i);
		guint32 own_there = loads[load_index(graph, group->job, link)].weights;
		gdouble others_there =
			graph->guests->len > 0 ? share_of_others(graph, transfer, link, loads) : 0;

		if (own_there * (1 + others_there) > own * (1 + others)) {
			own = MAX(own_there, weight);
			others = others_there;
		}
	}
	if (group->is_device && !group->is_hops && own >= n_of_group * weight)
		own -= (n_of_group - 1) * weight;
	return (struct graph_sharing){ (gdouble)own / weight,
				       (gdouble)own / weight * (1 + others) };
}
