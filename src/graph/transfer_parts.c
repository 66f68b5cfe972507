/* transfer_parts: what the time of each transfer was spent on.
 *
 *     bytes  = what its bytes take alone on its links (graph_wire.c, or a fitted line)
 *     waits  = the rest of its time, less what it shared its busiest link for (graph_transfer_pace):
 *              for the other end's word, and for a core; of those, some only while a rank computes (core_waits.c)
 *
 * Played with these parts, among those that were under way beside it, each takes the time it took. */
#include <math.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/quantile.h"
#include "base/weighted_median.h"
#include "graph/core_waits.h"
#include "graph/graph_builder.h"
#include "graph/traffic.h"
#include "trace/operation.h"

/* Source: a rule: a ten thousandth is below what steps differ by, and rounds bound the time. If wrong, an unchanged replay is off by
 * more, or takes longer to make. */
#define MAX_ROUNDS 30	/* of correcting */
#define ALMOST	   1e-4 /* a change, of a transfer, that is not worth another round */
/* Rounds of finding what segments wait for cores, at most.
 * Source: a rule: they end when nothing changes much, and this bounds the time. If wrong, what computing makes segments wait is off by a
 * few per cent, or takes longer to find. */
#define MAX_CORE_ROUNDS 8

/* Of the time of a collective of few bytes, that in which it had its links to itself, at most, for the rest to be a wait behind others.
 * Source: a rule: a tenth is within what the latency of a collective of few bytes takes of its wait behind a bucket. If wrong, such a
 * wait does not change with the bandwidth, or a latency does. */
#define QUEUED_SHARE 0.1

/* The time each transfer would have taken alone, into work_ns. */
static void find_time_alone(TachoGraph *graph, const struct traffic *traffic, guint32 first)
{
	g_autofree struct moved *moved = g_new(struct moved, MAX(graph->transfers->len, 1u));

	for (guint32 i = first; i < graph->transfers->len; i++) {
		struct graph_transfer *transfer = graph_transfer_at(graph, i);

		transfer->work_ns = (gdouble)(transfer->end_ns - transfer->begin_ns);
	}
	traffic_find_moved(traffic, moved);
	for (guint32 i = first; i < graph->transfers->len; i++)
		graph_transfer_at(graph, i)->work_ns = moved[i].work_ns;
}

/* --- the parts ------------------------------------------------------------------------------ */

static gdouble wire_bytes(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	const struct collective_plan *plan = &graph_group_at(graph, transfer->group)->plan;
	gdouble bytes = transfer_wire_bytes(operation_of_name(graph->timeline, transfer->name),
					    transfer->bytes, transfer->n_ranks);
	gdouble n_parts;

	if (plan->algorithm != COLLECTIVE_PS || !plan->partition_bytes)
		return bytes;
	/* one part is pulled while the next is pushed (collective_cost.c): so much of both is left */
	n_parts = MAX(ceil((gdouble)transfer->bytes / (gdouble)plan->partition_bytes), 1.0);
	return bytes * (n_parts + 1) / (2 * n_parts);
}

/* From when the last of its ranks began it to when the first had the result. */
static gint64 shortest_ns(const TachoTimeline *timeline, const TachoCollective *collective)
{
	gint64 begin_ns = G_MININT64, end_ns = G_MAXINT64;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice =
			g_array_index(timeline->members, guint32, collective->first_member + i);

		begin_ns = MAX(begin_ns, timeline->slices.start_ns[slice]);
		end_ns = MIN(end_ns, tacho_slice_end_ns(timeline, slice));
	}
	return end_ns - begin_ns;
}

/* The median time of the run's collectives that are too small for their bytes to count, ns; < 0: there is none. */
static gdouble small_collective_ns(const TachoTimeline *timeline)
{
	g_autoptr(GArray) times_ns = g_array_new(FALSE, FALSE, sizeof(gint64));

	FOR_EACH(const TachoCollective, collective, timeline->collectives) {
		gint64 time_ns = shortest_ns(timeline, collective);

		if (collective->n_members > 1 && collective->bytes <= BUILD_SMALL_BYTES &&
		    time_ns > 0)
			g_array_append_val(times_ns, time_ns);
	}
	return times_ns->len > 0 ? quantile(times_ns, 0.5) : -1;
}

/* What the fixed part of a transfer can be at most: each of the 2 (n - 1) rounds of a ring may take as long as a small
 * collective. G_MAXDOUBLE where there is none. */
static gdouble max_fixed_ns(gdouble small_ns, guint32 n_ranks)
{
	return small_ns >= 0 ? 2.0 * (MAX(n_ranks, 2u) - 1) * small_ns : G_MAXDOUBLE;
}

/* The transfers of each group, in their order: of group g, transfers[first[g]] up to transfers[first[g + 1]]. */
struct group_transfers {
	guint32 *first, *transfers;
};

static void group_transfers_init(struct group_transfers *of_group, const TachoGraph *graph)
{
	guint32 n_groups = graph->groups->len, n = graph->transfers->len;

	of_group->first = g_new0(guint32, (gsize)n_groups + 2);
	of_group->transfers = g_new(guint32, MAX(n, 1u));
	for (guint32 i = 0; i < n; i++)
		of_group->first[graph_transfer_at(graph, i)->group + 2]++;
	for (guint32 i = 2; i <= n_groups; i++)
		of_group->first[i] += of_group->first[i - 1];
	for (guint32 i = 0; i < n; i++)
		of_group->transfers[of_group->first[graph_transfer_at(graph, i)->group + 1]++] = i;
}

static void group_transfers_release(struct group_transfers *of_group)
{
	g_free(of_group->first);
	g_free(of_group->transfers);
}

/* Fit a line to the group's transfers, or only to those called `name`. */
static void fit(const TachoGraph *graph, const struct group_transfers *of_group, guint32 group,
		guint32 name, struct transfer_cost *cost)
{
	g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(struct transfer_sample));

	for (guint32 i = of_group->first[group]; i < of_group->first[group + 1]; i++) {
		const struct graph_transfer *transfer =
			graph_transfer_at(graph, of_group->transfers[i]);
		struct transfer_sample sample = { wire_bytes(graph, transfer), transfer->work_ns };

		if (name == TACHO_NONE || transfer->name == name)
			g_array_append_val(samples, sample);
	}
	transfer_cost_fit(cost, (struct transfer_sample *)(void *)samples->data, samples->len,
			  graph_group_at(graph, group)->max_fixed_ns);
}

/* The group's all-reduces if the bytes of any are known, else all. */
static void fit_group(const TachoGraph *graph, const struct group_transfers *of_group,
		      guint32 group)
{
	struct transfer_cost *cost = &graph_group_at(graph, group)->cost;
	g_autoptr(GHashTable) tried = g_hash_table_new(NULL, NULL); /* names */

	for (guint32 i = of_group->first[group]; i < of_group->first[group + 1]; i++) {
		guint32 name = graph_transfer_at(graph, of_group->transfers[i])->name;

		if (!g_hash_table_add(tried, GUINT_TO_POINTER(name)) ||
		    !operation_is_all_reduce(operation_of_name(graph->timeline, name)))
			continue;
		fit(graph, of_group, group, name, cost);
		if (cost->n_sizes > 0)
			return;
	}
	fit(graph, of_group, group, TACHO_NONE, cost);
}

/* The part of a transfer that does not scale with the bandwidth. */
static gdouble fixed_part_ns(const TachoGraph *graph, const struct graph_transfer *transfer,
			     const struct transfer_cost *own)
{
	const struct transfer_cost *group = &graph_group_at(graph, transfer->group)->cost;
	gdouble fixed_ns = own->fixed_ns;

	/* the group's price of a byte, where that is known, leaves the rest */
	if (own->n_sizes <= 1)
		fixed_ns = transfer->work_ns - group->ns_per_byte * wire_bytes(graph, transfer);
	return CLAMP(fixed_ns, 0.0, transfer->work_ns);
}

/* The fit to all of the group's transfers of that name; kept in `fits`. */
static const struct transfer_cost *own_fit(const TachoGraph *graph,
					   const struct group_transfers *of_group, GHashTable *fits,
					   const struct graph_transfer *transfer)
{
	gint64 key = (gint64)((guint64)transfer->group << 32 | transfer->name);
	struct transfer_cost *own = g_hash_table_lookup(fits, &key);

	if (!own) {
		own = g_new(struct transfer_cost, 1);
		fit(graph, of_group, transfer->group, transfer->name, own);
		g_hash_table_insert(fits, g_memdup2(&key, sizeof(key)), own);
	}
	return own;
}

/* Begin with what is known of a transfer: where messages tell the pace of the wire, what its bytes
 * take; else what the line calls fixed. */
static void set_known_part(const TachoGraph *graph, const struct transfer_cost *own,
			   struct graph_transfer *transfer)
{
	gdouble ns_per_byte = graph_group_at(graph, transfer->group)->wire_ns_per_byte;

	if (ns_per_byte > 0) {
		transfer->work_ns = ns_per_byte * wire_bytes(graph, transfer);
		transfer->fixed_ns = 0;
	} else {
		transfer->fixed_ns = fixed_part_ns(graph, transfer, own);
		transfer->work_ns -= transfer->fixed_ns;
	}
}

/* It was sooner done than an even share of its links allows: its share was larger. Importers' hops have even shares: what
 * is recorded of them is when they were asked for, too. */
static gboolean raise_weight(const TachoGraph *graph, struct graph_transfer *transfer,
			     gdouble factor)
{
	guint32 before = graph_transfer_weight(transfer);

	if (transfer->is_device ||
	    (transfer->is_hop && !graph_group_at(graph, transfer->group)->sender))
		return FALSE;
	transfer->weight = (guint32)MIN(before * factor, GRAPH_MAX_WEIGHT);
	return transfer->weight > before;
}

/* A collective of a few bytes. */
static gboolean is_small(const struct graph_transfer *transfer)
{
	return !transfer->is_device && !transfer->is_hop && transfer->bytes > 0 &&
	       transfer->bytes <= BUILD_SMALL_BYTES;
}

/* It took longer than an even share of its links allows: where others were beside it, it was queued behind their bytes (a link is a
 * queue), so its share was smaller. */
static gboolean lower_weight(struct graph_transfer *transfer, gdouble factor)
{
	guint32 before = graph_transfer_weight(transfer);

	if (!is_small(transfer))
		return FALSE;
	transfer->weight = (guint32)MAX(before * factor, 1.0);
	return transfer->weight < before;
}

/* With the least share it would have been over long before: others were beside it all the time. Then it waited for their bytes, and
 * not for its own: it counts as many as make it wait for as long, at that share. */
static gboolean is_queued(const struct graph_transfer *transfer, gdouble moved_ns)
{
	return is_small(transfer) && transfer->weight == 1 &&
	       moved_ns < QUEUED_SHARE * (gdouble)(transfer->end_ns - transfer->begin_ns);
}

/* Its waits, of which those for cores are as its group has them, as far as the whole goes; the rest depends on nothing that was
 * beside it. `share`: of its work, what was done beside computing. */
static void set_waits(const TachoGraph *graph, struct graph_transfer *transfer, gdouble waits_ns,
		      gdouble share)
{
	gdouble core_ns;

	transfer->core_wait_off = 0;
	core_ns = share * graph_core_wait_ns(graph, transfer);
	transfer->core_wait_off = core_ns > waits_ns ? 1 - waits_ns / core_ns : 0;
	transfer->fixed_ns = MAX(waits_ns - core_ns, 0.0);
}

/* The other part, from the work that it gets done in its time with the parts as they are. Returns
 * whether that changes much. */
static gboolean correct_part(const TachoGraph *graph, struct graph_transfer *transfer,
			     const struct moved *moved)
{
	gdouble share = moved->beside_ns / moved->work_ns, moved_ns = moved->work_ns;
	gdouble waits_ns = transfer->fixed_ns + share * graph_core_wait_ns(graph, transfer);
	gdouble alone_ns = waits_ns + transfer->work_ns;

	if (graph_group_at(graph, transfer->group)->wire_ns_per_byte <= 0 ||
	    is_queued(transfer, moved_ns))
		transfer->work_ns = moved_ns;
	else if (waits_ns <= 0 && moved_ns < transfer->work_ns)
		return raise_weight(graph, transfer, transfer->work_ns / moved_ns);
	else if (moved_ns > transfer->work_ns &&
		 lower_weight(transfer, transfer->work_ns / moved_ns))
		return TRUE;
	else
		set_waits(graph, transfer,
			  MAX(alone_ns * (moved_ns / transfer->work_ns) - transfer->work_ns, 0.0),
			  share);
	return fabs(transfer->fixed_ns + share * graph_core_wait_ns(graph, transfer) +
		    transfer->work_ns - alone_ns) > ALMOST * alone_ns;
}

static gboolean correct_parts(const TachoGraph *graph, guint32 first, const struct moved *moved)
{
	gboolean has_changed = FALSE;

	for (guint32 i = first; i < graph->transfers->len; i++) {
		struct graph_transfer *transfer = graph_transfer_at(graph, i);

		if (moved[i].work_ns > 0) /* then it has work */
			has_changed |= correct_part(graph, transfer, &moved[i]);
	}
	return has_changed;
}

/* Split each transfer's time into bytes and waits, so that in the time it took, among those that were
 * under way then, it is just done. One part is known; the other is corrected round by round. What
 * remains in the end is put right by scaling both: also where a transfer was sooner done than its
 * bytes allow. `moved` becomes what each got done. */
static void split_times(const TachoGraph *graph, const struct traffic *traffic, guint32 first,
			struct moved *moved)
{
	guint n_rounds = 0;

	do
		traffic_find_moved(traffic, moved);
	while (n_rounds++ < MAX_ROUNDS && correct_parts(graph, first, moved));
	traffic_find_moved(traffic, moved);
	for (guint32 i = first; i < graph->transfers->len; i++) {
		struct graph_transfer *transfer = graph_transfer_at(graph, i);
		gdouble ratio;

		if (moved[i].work_ns <= 0)
			continue;
		ratio = moved[i].work_ns / transfer->work_ns;
		transfer->fixed_ns *= ratio;
		transfer->core_wait_off = 1 - (1 - transfer->core_wait_off) * ratio;
		transfer->work_ns = moved[i].work_ns;
	}
}

/* What each transfer of a group waits for a segment, or only its all-reduces: struct weighted, by
 * segments. */
static GArray *collect_hops(const TachoGraph *graph, guint32 group, gboolean all_reduces_only)
{
	GArray *hops = g_array_new(FALSE, FALSE, sizeof(struct weighted));

	FOR_EACH(const struct graph_transfer, transfer, graph->transfers) {
		enum collective_operation operation =
			operation_of_name(graph->timeline, transfer->name);
		struct weighted hop = { 0, transfer_latencies(operation, transfer->bytes,
							      transfer->n_ranks) };

		if (transfer->group != group || hop.weight <= 0 ||
		    (all_reduces_only && !operation_is_all_reduce(operation)))
			continue;
		hop.value = transfer->fixed_ns / hop.weight;
		g_array_append_val(hops, hop);
	}
	return hops;
}

/* The median over its all-reduces, if there are any, because these are packed anew; else over all. */
static gdouble median_hop_ns(const TachoGraph *graph, guint32 group)
{
	g_autoptr(GArray) hops = collect_hops(graph, group, TRUE);

	if (hops->len == 0) {
		g_array_unref(hops);
		hops = collect_hops(graph, group, FALSE);
	}
	return weighted_median((struct weighted *)(void *)hops->data, hops->len);
}

/* Where messages tell what a byte takes, what a new transfer takes: its bytes, and its segments. */
static void take_wire_cost(const TachoGraph *graph, guint32 index)
{
	struct graph_group *group = graph_group_at(graph, index);

	if (group->wire_ns_per_byte <= 0)
		return;
	group->hop_ns = median_hop_ns(graph, index);
	group->cost.ns_per_byte = group->wire_ns_per_byte;
	group->cost.fixed_ns = 0;
}

/* All its time, where no byte moved. */
static void set_without_bytes(struct graph_transfer *transfer)
{
	gint64 time_ns = transfer->end_ns - transfer->begin_ns;

	if (transfer->work_ns <= 0 || time_ns <= 0) {
		transfer->work_ns = 0;
		transfer->fixed_ns = (gdouble)MAX(time_ns, 0);
	}
}

/* Fit the lines, and begin with what they say of the transfers from `first` on. */
static void set_known_parts(TachoGraph *graph, guint32 first, guint32 first_group)
{
	g_autoptr(GHashTable) fits =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	gdouble small_ns = small_collective_ns(graph->timeline);
	struct group_transfers of_group;

	group_transfers_init(&of_group, graph);
	for (guint32 i = first_group; i < graph->groups->len; i++) {
		struct graph_group *group = graph_group_at(graph, i);

		group->max_fixed_ns = max_fixed_ns(small_ns, group->n_ranks);
		fit_group(graph, &of_group, i);
	}
	/* all fits first, for setting parts changes the times that they are made of */
	for (guint32 i = first; i < graph->transfers->len; i++)
		own_fit(graph, &of_group, fits, graph_transfer_at(graph, i));
	for (guint32 i = first; i < graph->transfers->len; i++) {
		struct graph_transfer *transfer = graph_transfer_at(graph, i);

		set_known_part(graph, own_fit(graph, &of_group, fits, transfer), transfer);
	}
	group_transfers_release(&of_group);
}

/* What computing makes segments wait shows in the parts, which depend on it in turn. */
static void split_core_waits(TachoGraph *graph, const struct traffic *traffic, guint32 first,
			     guint32 first_group)
{
	g_autofree struct moved *moved = g_new(struct moved, MAX(graph->transfers->len, 1u));
	guint n_rounds = 0;

	do
		split_times(graph, traffic, first, moved);
	while (n_rounds++ < MAX_CORE_ROUNDS && core_waits_find(graph, moved, first, first_group));
}

void builder_cost_transfers(struct graph_builder *builder, guint32 first, guint32 first_group)
{
	TachoGraph *graph = builder->graph;
	struct traffic *traffic = traffic_new(builder);

	find_time_alone(graph, traffic, first);
	set_known_parts(graph, first, first_group);
	split_core_waits(graph, traffic, first, first_group);
	traffic_free(traffic);
	for (guint32 i = first; i < graph->transfers->len; i++) {
		struct graph_transfer *transfer = graph_transfer_at(graph, i);

		set_without_bytes(transfer);
		graph_set_transfer(graph, i, transfer->fixed_ns, transfer->work_ns);
	}
	for (guint32 i = first_group; i < graph->groups->len; i++)
		take_wire_cost(graph, i);
}
