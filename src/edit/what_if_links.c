/* what_if_links: changes of what collectives run over, and how. */
#include <string.h>

#include "edit/collective_plan.h"
#include "edit/change_internal.h"

static const gchar *name_of(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	return tacho_timeline_string(graph->timeline, transfer->name);
}

/* What moving bytes takes from computing: a part goes with the bytes a second. */
static void scale_taken(TachoGraph *graph, gdouble factor)
{
	gdouble added = graph->taken_by_bytes * (factor - 1);

	graph->taken_share = MIN(graph->taken_share + added, GRAPH_MAX_TAKEN);
	graph->taken_by_bytes = MIN(graph->taken_by_bytes + added, GRAPH_MAX_TAKEN);
}

static void scale_taken_by_guests(TachoGraph *graph, gdouble factor)
{
	for (guint i = 0; i < graph->guests->len; i++) {
		struct graph_guest *guest = &g_array_index(graph->guests, struct graph_guest, i);
		gdouble added = guest->taken_by_bytes * (factor - 1);

		guest->taken_share = MIN(guest->taken_share + added, GRAPH_MAX_TAKEN);
		guest->taken_by_bytes = MIN(guest->taken_by_bytes + added, GRAPH_MAX_TAKEN);
	}
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
	for (guint32 i = 0; i < graph->groups->len; i++) {
		struct graph_group *group = graph_group_at(graph, i);

		group->cost.ns_per_byte /= factor;
		for (guint32 j = 0; j < group->plan.topology.n_levels; j++)
			group->plan.topology.levels[j].ns_per_byte /= factor;
	}
	scale_taken(graph, factor);
	scale_taken_by_guests(graph, factor);
}

/* The largest factor by which a group's bytes move faster at `ns_per_byte`; 1: not known. */
static gdouble bandwidth_factor(const TachoGraph *graph, gboolean of_guests, gdouble ns_per_byte)
{
	gdouble factor = 0;

	for (guint32 i = 0; i < graph->groups->len; i++)
		if (graph_group_at(graph, i)->is_guest == of_guests)
			factor = MAX(factor,
				     graph_group_at(graph, i)->cost.ns_per_byte / ns_per_byte);
	return factor > 0 ? factor : 1;
}

static void set_group_bandwidth(struct graph_group *group, gdouble ns_per_byte)
{
	group->cost.ns_per_byte = ns_per_byte;
	for (guint32 i = 0; i < group->plan.topology.n_levels; i++)
		group->plan.topology.levels[i].ns_per_byte = ns_per_byte;
}

static void set_bandwidth(TachoGraph *graph, gdouble bits_per_second)
{
	gdouble ns_per_byte = 8e9 / bits_per_second;

	scale_taken(graph, bandwidth_factor(graph, FALSE, ns_per_byte));
	scale_taken_by_guests(graph, bandwidth_factor(graph, TRUE, ns_per_byte));
	for (guint32 i = 0; i < graph->groups->len; i++)
		set_group_bandwidth(graph_group_at(graph, i), ns_per_byte);
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);
		struct collective_plan plan = group_plan(graph_group_at(graph, transfer->group));

		if (!transfer->is_removed)
			graph_set_transfer(graph, i, transfer->fixed_ns,
					   collective_time(&plan, name_of(graph, transfer),
							   transfer->bytes, transfer->n_ranks)
						   .work_ns);
	}
}

gboolean parse_bandwidth(struct change *change, const gchar *text, GError **error)
{
	struct quantity *value = &change->value.quantity;

	if (!quantity_parse(text, UNITS_RATE, value) || value->form == QUANTITY_PLAIN ||
	    value->form == QUANTITY_ADDED || value->number <= 0)
		return change_refuse(error, change,
				     "write a bandwidth as '10x' or '10gbit', from 0.000001x to "
				     "1000000x, or 1kbit and more");
	return TRUE;
}

gboolean apply_bandwidth(TachoGraph *graph, const struct change *change, GError **error)
{
	if (graph->transfers->len == 0)
		return change_refuse(error, change, "the steps have no collective");
	if (change->value.quantity.form == QUANTITY_FACTOR)
		scale_bandwidth(graph, change->value.quantity.number);
	else
		set_bandwidth(graph, change->value.quantity.number);
	return TRUE;
}

static gdouble changed_latency_ns(gdouble now_ns, struct quantity value)
{
	if (value.form == QUANTITY_ADDED)
		return now_ns + value.number;
	if (value.form == QUANTITY_FACTOR)
		return now_ns * value.number;
	return value.number;
}

/* Change the latency of all links of the group. */
static void change_group_latency(TachoGraph *graph, guint32 index, struct quantity value)
{
	struct graph_group *group = graph_group_at(graph, index);
	struct collective_plan before = group_plan(group), after;
	gdouble now_ns = group_latency_ns(group);

	for (guint32 i = 0; i < group->plan.topology.n_levels; i++) {
		struct topology_level *level = &group->plan.topology.levels[i];

		if (level->latency_ns >= 0)
			level->latency_ns = changed_latency_ns(level->latency_ns, value);
	}
	group->added_latency_ns += changed_latency_ns(now_ns, value) - now_ns;
	after = group_plan(group);
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);
		const gchar *name = name_of(graph, transfer);

		if (transfer->group != index || transfer->is_removed)
			continue;
		graph_set_transfer(
			graph, i,
			transfer->fixed_ns +
				collective_time(&after, name, transfer->bytes, transfer->n_ranks)
					.fixed_ns -
				collective_time(&before, name, transfer->bytes, transfer->n_ranks)
					.fixed_ns,
			transfer->work_ns);
	}
}

gboolean parse_latency(struct change *change, const gchar *text, GError **error)
{
	struct quantity *value = &change->value.quantity;

	if (!quantity_parse(text, UNITS_TIME, value) || value->form == QUANTITY_PLAIN)
		return change_refuse(
			error, change,
			"write a latency as '+1ms', '1ms' or '2x', up to a day, or 1000000x");
	return TRUE;
}

gboolean apply_latency(TachoGraph *graph, const struct change *change, GError **error)
{
	if (graph->transfers->len == 0)
		return change_refuse(error, change, "the steps have no collective");
	for (guint32 i = 0; i < graph->groups->len; i++)
		change_group_latency(graph, i, change->value.quantity);
	return TRUE;
}

/* --- topology, ranks, algorithm --------------------------------------------------------------- */

static gboolean is_of_all_ranks(const TachoGraph *graph, guint32 group)
{
	const struct graph_group *row = graph_group_at(graph, group);

	if (row->is_guest)
		return FALSE;
	if (row->is_resized)
		return TRUE;
	if (row->is_hops)
		return FALSE;
	for (guint32 i = 0; i < graph->transfers->len; i++)
		if (graph_transfer_at(graph, i)->group == group)
			return row->n_ranks >= graph->timeline->ranks->len;
	return FALSE;
}

/* Ranks of a group that holds all of them; 0: there is none with a collective. */
static guint32 n_ranks_now(const TachoGraph *graph)
{
	for (guint32 i = 0; i < graph->groups->len; i++)
		if (is_of_all_ranks(graph, i))
			return graph_group_at(graph, i)->n_ranks;
	return 0;
}

static gboolean has_common_group(const TachoGraph *graph, const struct change *change,
				 GError **error)
{
	if (graph->timeline->ranks->len < 2)
		return change_refuse(error, change,
				     "a recording of one rank has no collectives that tell how "
				     "ranks communicate");
	if (n_ranks_now(graph) == 0)
		return change_refuse(error, change,
				     "no group of all ranks has a collective in the steps, so it "
				     "is not known which groups would change");
	return TRUE;
}

static gdouble slowest_ns_per_byte(const struct graph_group *group)
{
	struct collective_plan plan = group_plan(group);
	gdouble slowest = 0;

	for (guint32 i = 0; i < plan.topology.n_levels; i++)
		slowest = MAX(slowest, plan.topology.levels[i].ns_per_byte);
	return slowest;
}

gboolean parse_topology(struct change *change, const gchar *text, GError **error)
{
	change->name = g_strdup(text);
	return *text || change_refuse(error, change, "write topology=FILE");
}

gboolean apply_topology(TachoGraph *graph, const struct change *change, GError **error)
{
	gdouble factor = 0;

	if (!has_common_group(graph, change, error))
		return FALSE;
	graph_fold_hops(graph);
	if (topology_is_full(change->topology, n_ranks_now(graph)))
		return change_refuse(error, change, "the topology has no room for %u ranks",
				     n_ranks_now(graph));
	for (guint32 i = 0; i < graph->groups->len; i++) {
		struct graph_group *group = graph_group_at(graph, i);
		struct collective_plan plan = group->plan;
		gdouble before = slowest_ns_per_byte(group);

		if (!is_of_all_ranks(graph, i))
			continue;
		plan.topology = *change->topology;
		group_replan(graph, i, &plan, group->n_ranks);
		if (slowest_ns_per_byte(group) > 0)
			factor = MAX(factor, before / slowest_ns_per_byte(group));
	}
	if (factor > 0)
		scale_taken(graph, factor);
	return TRUE;
}

/* Keep the first `n_ranks` of the recorded ranks. */
static void remove_ranks(TachoGraph *graph, guint32 n_ranks)
{
	g_autofree guint8 *is_removed = g_new0(guint8, MAX(graph->nodes->len, 1u));

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		guint32 rank = graph_lane_at(graph, graph_node_at(graph, i)->lane)->rank_index;

		is_removed[i] = rank >= n_ranks && rank < graph->timeline->ranks->len;
	}
	graph_remove_nodes(graph, is_removed);
}

static void note_ranks(TachoGraph *graph, guint32 n_ranks, gboolean has_topology)
{
	guint32 n_recorded = graph->timeline->ranks->len;

	if (n_ranks <= n_recorded)
		return;
	graph_note(graph,
		   "the %u ranks are copies of the %u recorded; the prediction does not model that "
		   "among more ranks the last one comes later",
		   n_ranks, n_recorded);
	if (!has_topology)
		graph_note(graph, "no topology was given, so all links are assumed to be like the "
				  "recorded ones");
}

gboolean parse_ranks(struct change *change, const gchar *text, GError **error)
{
	return quantity_parse_count(text, 2, TOPOLOGY_MAX_RANKS, &change->value.count) ||
	       change_refuse(error, change, "write ranks=N, with N from 2 to %u",
			     TOPOLOGY_MAX_RANKS);
}

gboolean apply_ranks(TachoGraph *graph, const struct change *change, GError **error)
{
	guint32 n_ranks = change->value.count;
	gboolean has_topology = FALSE;

	if (!has_common_group(graph, change, error))
		return FALSE;
	if (graph->sets->len > 0)
		return change_refuse(error, change, "give ranks=N before changes of single ranks");
	graph_fold_hops(graph);
	for (guint32 i = 0; i < graph->groups->len; i++) {
		if (is_of_all_ranks(graph, i)) {
			if (topology_is_full(&graph_group_at(graph, i)->plan.topology, n_ranks))
				return change_refuse(
					error, change,
					"the topology has no room for that many ranks");
		} else if (n_ranks < graph->timeline->ranks->len &&
			   graph_group_at(graph, i)->n_ranks > 0 &&
			   !graph_group_at(graph, i)->is_guest &&
			   !graph_group_at(graph, i)->is_hops) {
			return change_refuse(error, change,
					     "some groups have only some of the ranks, and fewer "
					     "ranks would break them up");
		}
	}
	for (guint32 i = 0; i < graph->groups->len; i++)
		if (is_of_all_ranks(graph, i)) {
			struct collective_plan plan = graph_group_at(graph, i)->plan;

			group_replan(graph, i, &plan, n_ranks);
			graph_group_at(graph, i)->is_resized = TRUE;
			has_topology |= plan.topology.n_levels > 0;
		}
	if (n_ranks < graph->timeline->ranks->len)
		remove_ranks(graph, n_ranks);
	note_ranks(graph, n_ranks, has_topology);
	return TRUE;
}

static const struct {
	const gchar *name;
	enum collective_algorithm algorithm;
} algorithms[] = {
	{ "ring", COLLECTIVE_RING },
	{ "tree", COLLECTIVE_TREE },
	{ "hierarchical", COLLECTIVE_HIERARCHICAL },
	{ "ps", COLLECTIVE_PS },
};

gboolean parse_algorithm(struct change *change, const gchar *text, GError **error)
{
	const gchar *colon = strchr(text, ':');
	gsize length = colon ? (gsize)(colon - text) : strlen(text);

	change->value.n_servers = 1;
	for (guint i = 0; i < G_N_ELEMENTS(algorithms); i++) {
		if (strlen(algorithms[i].name) != length ||
		    strncmp(algorithms[i].name, text, length) != 0)
			continue;
		change->value.algorithm = algorithms[i].algorithm;
		if (!colon || (change->value.algorithm == COLLECTIVE_PS &&
			       quantity_parse_count(colon + 1, 1, TOPOLOGY_MAX_RANKS,
						    &change->value.n_servers)))
			return TRUE;
		break;
	}
	return change_refuse(error, change,
			     "write algorithm=ring, tree, hierarchical, ps or ps:SERVERS");
}

gboolean apply_algorithm(TachoGraph *graph, const struct change *change, GError **error)
{
	if (!has_common_group(graph, change, error))
		return FALSE;
	graph_fold_hops(graph);
	for (guint32 i = 0; i < graph->groups->len; i++)
		if (is_of_all_ranks(graph, i) &&
		    change->value.algorithm == COLLECTIVE_HIERARCHICAL &&
		    graph_group_at(graph, i)->plan.topology.n_levels < 2)
			return change_refuse(error, change,
					     "this algorithm needs a topology of two levels or "
					     "more; give topology=FILE before it");
	for (guint32 i = 0; i < graph->groups->len; i++) {
		struct collective_plan plan = graph_group_at(graph, i)->plan;

		if (!is_of_all_ranks(graph, i))
			continue;
		plan.algorithm = change->value.algorithm;
		plan.n_servers = change->value.n_servers;
		group_replan(graph, i, &plan, graph_group_at(graph, i)->n_ranks);
	}
	return TRUE;
}
