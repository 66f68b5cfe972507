/* what_if_links: changes of what collectives run over, and how. */
#include <string.h>

#include "base/for_each.h"
#include "edit/collective_plan.h"
#include "edit/change_internal.h"
#include "trace/operation.h"

/* What is far from a recording: so many times the bandwidth or the ranks, or as much less bandwidth.
 * Source: a rule: the kit changes the bandwidth by 2 (validate/kinds.py), docs/validation.md by up to 4, and beyond these nothing is
 * known of errors, which grow. If wrong, a note is missing, or said of what is known. */
#define FAR_BANDWIDTH 10.0
#define FAR_RANKS     8

static enum collective_operation operation_of(const TachoGraph *graph,
					      const struct graph_transfer *transfer)
{
	return operation_of_name(graph->timeline, transfer->name);
}

/* What moving the bytes of a job, or of other jobs beside it, takes from computing in all: a part of that goes with the bytes,
 * so where transfers take less time, a larger share is taken for that long. The share is not cut off here (the replay does,
 * graph_taken_share()), so that what one change adds another one takes back. */
struct moving {
	TachoGraph *graph;
	gdouble own_ns, guests_ns; /* of all transfers, alone on their links */
};

static void sum_moving(const TachoGraph *graph, gdouble *ret_own_ns, gdouble *ret_guests_ns)
{
	*ret_own_ns = *ret_guests_ns = 0;
	FOR_EACH(const struct graph_transfer, transfer, graph->transfers) {
		gboolean is_guest = graph_group_at(graph, transfer->group)->job > 0;

		if (!transfer->is_removed)
			*(is_guest ? ret_guests_ns : ret_own_ns) +=
				transfer->fixed_ns + transfer->work_ns +
				graph_core_wait_ns(graph, transfer);
	}
}

static void moving_begin(struct moving *moving, TachoGraph *graph)
{
	moving->graph = graph;
	sum_moving(graph, &moving->own_ns, &moving->guests_ns);
}

static void add_taken(gdouble *share, gdouble *by_bytes, gdouble before_ns, gdouble after_ns)
{
	gdouble added = before_ns > 0 && after_ns > 0 ? *by_bytes * (before_ns / after_ns - 1) : 0;

	*share += added;
	*by_bytes += added;
}

static void moving_end(const struct moving *moving)
{
	TachoGraph *graph = moving->graph;
	gdouble own_ns, guests_ns;

	sum_moving(graph, &own_ns, &guests_ns);
	add_taken(&graph->taken_share, &graph->taken_by_bytes, moving->own_ns, own_ns);
	FOR_EACH(struct graph_guest, guest, graph->guests)
		add_taken(&guest->taken_share, &guest->taken_by_bytes, moving->guests_ns,
			  guests_ns);
}

/* Where collectives of other sizes do not tell what of a transfer is bytes, all of it counts as such. */
static enum node_origin origin_of_work(const struct graph_group *group)
{
	return group->cost.n_sizes > 1 || group->wire_ns_per_byte > 0 ? ORIGIN_SCALED
								      : ORIGIN_GUESSED;
}

static gdouble hidden_ns(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	return group_hidden_ns(graph_group_at(graph, transfer->group),
			       operation_of(graph, transfer), transfer->bytes, transfer->n_ranks);
}

/* Add to what transfers wait what their bytes hide of the latency; -1: take it away. So what one change of links does is undone, and
 * done anew with the links as they are then. */
static void add_hidden(TachoGraph *graph, gint sign)
{
	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers)
		if (!transfer->is_removed && hidden_ns(graph, transfer) > 0)
			graph_change_transfer(
				graph, i, transfer->fixed_ns + sign * hidden_ns(graph, transfer),
				transfer->work_ns, ORIGIN_MODELLED);
}

/* What later edits (bucket_mb) make new transfers from must change with the old ones. */
static void scale_bandwidth(TachoGraph *graph, gdouble factor)
{
	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers)
		if (!transfer->is_removed)
			graph_change_transfer(
				graph, i, transfer->fixed_ns, transfer->work_ns / factor,
				origin_of_work(graph_group_at(graph, transfer->group)));
	FOR_EACH(struct graph_group, group, graph->groups) {
		group->cost.ns_per_byte /= factor;
		for (guint32 j = 0; j < group->plan.topology.n_levels; j++)
			group->plan.topology.levels[j].ns_per_byte /= factor;
	}
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

	for (guint32 i = 0; i < graph->groups->len; i++)
		set_group_bandwidth(graph_group_at(graph, i), ns_per_byte);
	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers) {
		struct collective_plan plan = group_plan(graph_group_at(graph, transfer->group));

		if (!transfer->is_removed)
			graph_change_transfer(graph, i, transfer->fixed_ns,
					      collective_time(&plan, operation_of(graph, transfer),
							      transfer->bytes, transfer->n_ranks)
						      .work_ns,
					      ORIGIN_MODELLED);
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

/* How many times as fast its links are now, of the first group that has a bandwidth. */
static gdouble times_as_fast(const TachoGraph *graph, const struct change *change)
{
	if (change->value.quantity.form == QUANTITY_FACTOR)
		return change->value.quantity.number;
	for (guint32 i = 0; i < graph->groups->len; i++)
		if (graph_group_at(graph, i)->cost.ns_per_byte > 0)
			return graph_group_at(graph, i)->cost.ns_per_byte *
			       change->value.quantity.number / 8e9;
	return 1;
}

static void note_far(TachoGraph *graph, const struct change *change, gdouble times)
{
	if (times >= FAR_BANDWIDTH || times <= 1 / FAR_BANDWIDTH)
		graph_note(graph,
			   "'%s' is far from what was recorded: the interval is that of changes of "
			   "the bandwidth by 2, and the prediction may be further off",
			   change->text);
}

gboolean apply_bandwidth(TachoGraph *graph, const struct change *change, GError **error)
{
	struct moving moving;

	if (graph->transfers->len == 0)
		return change_refuse(error, change, "the steps have no collective");
	note_far(graph, change, times_as_fast(graph, change));
	moving_begin(&moving, graph);
	add_hidden(graph, 1);
	if (change->value.quantity.form == QUANTITY_FACTOR)
		scale_bandwidth(graph, change->value.quantity.number);
	else
		set_bandwidth(graph, change->value.quantity.number);
	add_hidden(graph, -1);
	moving_end(&moving);
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
	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers) {
		enum collective_operation operation = operation_of(graph, transfer);

		if (transfer->group != index || transfer->is_removed || transfer->is_pipelined)
			continue;
		graph_change_transfer(graph, i,
				      transfer->fixed_ns +
					      collective_time(&after, operation, transfer->bytes,
							      transfer->n_ranks)
						      .fixed_ns -
					      collective_time(&before, operation, transfer->bytes,
							      transfer->n_ranks)
						      .fixed_ns,
				      transfer->work_ns, ORIGIN_MODELLED);
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
	struct moving moving;

	if (graph->transfers->len == 0)
		return change_refuse(error, change, "the steps have no collective");
	moving_begin(&moving, graph);
	add_hidden(graph, 1);
	for (guint32 i = 0; i < graph->groups->len; i++)
		change_group_latency(graph, i, change->value.quantity);
	add_hidden(graph, -1);
	moving_end(&moving);
	return TRUE;
}

/* --- topology, ranks, algorithm --------------------------------------------------------------- */

static gboolean is_of_all_ranks(const TachoGraph *graph, guint32 group)
{
	const struct graph_group *row = graph_group_at(graph, group);

	if (row->job > 0)
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

gboolean parse_topology(struct change *change, const gchar *text, GError **error)
{
	change->name = g_strdup(text);
	return *text || change_refuse(error, change, "write topology=FILE");
}

/* It says nothing of links, and nothing was said of them before. */
static gboolean is_as_it_is(const TachoGraph *graph, const struct topology *topology)
{
	const struct topology_level *level = &topology->levels[0];

	for (guint32 i = 0; i < graph->groups->len; i++)
		if (graph_group_at(graph, i)->plan.topology.n_levels > 0)
			return FALSE;
	return topology->n_levels == 1 && level->size == 0 && level->ns_per_byte <= 0 &&
	       level->latency_ns < 0;
}

gboolean apply_topology(TachoGraph *graph, const struct change *change, GError **error)
{
	struct moving moving;

	if (!has_common_group(graph, change, error))
		return FALSE;
	if (is_as_it_is(graph, change->topology))
		return TRUE;
	graph_fold_hops(graph);
	if (topology_is_full(change->topology, n_ranks_now(graph)))
		return change_refuse(error, change, "the topology has no room for %u ranks",
				     n_ranks_now(graph));
	moving_begin(&moving, graph);
	FOR_EACH_AT(struct graph_group, group, i, graph->groups) {
		struct collective_plan plan = group->plan;

		if (!is_of_all_ranks(graph, i))
			continue;
		plan.topology = *change->topology;
		group_replan(graph, i, &plan, group->n_ranks);
	}
	moving_end(&moving);
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
	if (n_ranks >= FAR_RANKS * n_recorded)
		graph_note(graph, "that is far from what was recorded: nothing was measured of how "
				  "far such predictions are off");
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
	if (n_ranks == n_ranks_now(graph))
		return TRUE;
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
			   graph_group_at(graph, i)->job == 0 &&
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
