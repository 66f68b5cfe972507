/* graph_split: see the header.
 *
 * (1) What is told apart is whole sets of copies, for ranks of one may work with each other. Those of which the same
 *     ranks are meant stay together.
 * (2) A set of its own has copies of all that belongs to the ranks of the set it was played with: lanes, links, workers,
 *     groups of some of the ranks with their transfers, nodes, edges between these, gradients, memory. Its edges to
 *     what is of all ranks are to that itself.
 * (3) Only the last set may lack ranks; where it gets nodes of its own, those that it lacks have none. */
#include "graph/graph_split.h"

#include "base/for_each.h"
#include "graph/rank_copies.h"
#include "trace/none_rows.h"

/* One played set that becomes two. */
struct split {
	TachoGraph *graph;
	guint32 n_recorded, n_asked;
	guint32 from, to; /* sets, as played */
	guint32 first_member; /* of those that are asked for: what `to` stands for, with others like it */
	guint32 *lanes, *links, *groups, *pools, *transfers,
		*nodes; /* copies; TACHO_NONE: has none */
};

/* --- what has copies -------------------------------------------------------------------------- */

static gboolean has_copy_of_rank(const struct split *split, guint32 rank_index)
{
	return rank_index != TACHO_NONE && rank_index / split->n_recorded == split->from &&
	       split->first_member * split->n_recorded + rank_index % split->n_recorded <
		       split->n_asked;
}

static guint32 rank_of_copy(const struct split *split, guint32 rank_index)
{
	return split->to * split->n_recorded + rank_index % split->n_recorded;
}

/* Groups of some of the ranks of the set have copies; those of all ranks do not. */
static gboolean has_copy_of_group(const struct split *split, guint32 group)
{
	const struct graph_group *row = graph_group_at(split->graph, group);

	return !row->is_resized && row->set == split->from;
}

static gboolean has_copy_of_node(const struct split *split, const struct graph_node *node)
{
	guint32 rank_index = graph_lane_at(split->graph, node->lane)->rank_index;

	if (rank_index != TACHO_NONE)
		return has_copy_of_rank(split, rank_index);
	return node->transfer != TACHO_NONE &&
	       has_copy_of_group(split, graph_transfer_at(split->graph, node->transfer)->group);
}

/* The node is of the set, so that what is connected with it should have a copy, too. */
static gboolean is_of_set(const struct split *split, const struct graph_node *node)
{
	guint32 rank_index = graph_lane_at(split->graph, node->lane)->rank_index;

	return rank_index != TACHO_NONE ? rank_index / split->n_recorded == split->from
					: has_copy_of_node(split, node);
}

static gboolean has_room(const TachoGraph *graph, GError **error)
{
	if (2 * ((guint64)graph->nodes->len + graph->edges->len) < GRAPH_MAX_NODES &&
	    2 * (guint64)graph->lanes->len <= GRAPH_MAX_LANES)
		return TRUE;
	g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_SIZE,
		    "there are more than %u nodes and edges; choose fewer steps", GRAPH_MAX_NODES);
	return FALSE;
}

/* No rank of the set that it lacks works with one that it has. */
static gboolean check(const struct split *split, GError **error)
{
	const TachoGraph *graph = split->graph;

	FOR_EACH(const struct graph_edge, edge, graph->edges) {
		const struct graph_node *from = graph_node_at(graph, edge->from);
		const struct graph_node *to = graph_node_at(graph, edge->to);

		if (is_of_set(split, from) && is_of_set(split, to) &&
		    has_copy_of_node(split, from) != has_copy_of_node(split, to)) {
			g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF,
				    "the last of %u ranks cannot be changed by itself: %u ranks "
				    "were recorded, some of them work only with some of the "
				    "others, and the number asked for is not a multiple",
				    split->n_asked, split->n_recorded);
			return FALSE;
		}
	}
	return TRUE;
}

/* --- tables ----------------------------------------------------------------------------------- */

static void copy_lanes(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint32 n = graph->lanes->len;

	split->lanes = none_rows_new(n);
	for (guint32 i = 0; i < n; i++) {
		struct graph_lane lane = *graph_lane_at(graph, i);

		if (!has_copy_of_rank(split, lane.rank_index))
			continue;
		lane.rank_index = rank_of_copy(split, lane.rank_index);
		lane.set = split->to;
		split->lanes[i] = graph->lanes->len;
		g_array_append_val(graph->lanes, lane);
	}
}

static void copy_links(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint32 n = graph->links->len;

	split->links = none_rows_new(n);
	for (guint32 i = 0; i < n; i++) {
		struct graph_link link = g_array_index(graph->links, struct graph_link, i);

		if (link.set != split->from)
			continue;
		link.set = split->to;
		split->links[i] = graph->links->len;
		g_array_append_val(graph->links, link);
	}
}

/* The links of `from`, or the copies of them, or both. */
static void list_group_links(struct split *split, const struct graph_group *from,
			     struct graph_group *to, gboolean with_own, gboolean with_copies)
{
	GArray *group_links = split->graph->group_links;
	guint32 first = group_links->len;

	for (guint32 i = 0; i < from->n_links; i++) {
		guint32 link = g_array_index(group_links, guint32, from->first_link + i);
		guint32 copy = split->links[link];

		if (with_own || copy == TACHO_NONE)
			g_array_append_val(group_links, link);
		if (with_copies && copy != TACHO_NONE)
			g_array_append_val(group_links, copy);
	}
	to->first_link = first;
	to->n_links = group_links->len - first;
}

/* What is of all ranks goes over the links of both; groups of some ranks have copies. */
static void copy_groups(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint32 n = graph->groups->len;

	split->groups = none_rows_new(n);
	for (guint32 i = 0; i < n; i++) {
		struct graph_group group = *graph_group_at(graph, i);

		if (has_copy_of_group(split, i)) {
			list_group_links(split, &group, &group, FALSE, TRUE);
			group.set = split->to;
			split->groups[i] = graph->groups->len;
			g_array_append_val(graph->groups, group);
		} else if (group.is_resized) {
			list_group_links(split, &group, graph_group_at(graph, i), TRUE, TRUE);
		}
	}
}

static guint32 copy_or_self(const guint32 *copies, guint32 row)
{
	return copies[row] == TACHO_NONE ? row : copies[row];
}

static void copy_pools(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint32 n = graph->pools->len;

	split->pools = none_rows_new(n);
	for (guint32 i = 0; i < n; i++) {
		struct graph_pool pool = g_array_index(graph->pools, struct graph_pool, i);

		if (!has_copy_of_rank(split, pool.rank_index))
			continue;
		pool.rank_index = rank_of_copy(split, pool.rank_index);
		if (!pool.is_engine)
			pool.group = copy_or_self(split->groups, pool.group);
		split->pools[i] = graph->pools->len;
		g_array_append_val(graph->pools, pool);
	}
}

/* Their nodes are not there yet. */
static void copy_transfers(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint32 n = graph->transfers->len;

	split->transfers = none_rows_new(n);
	for (guint32 i = 0; i < n; i++) {
		struct graph_transfer transfer = *graph_transfer_at(graph, i);

		if (!has_copy_of_group(split, transfer.group))
			continue;
		transfer.group = split->groups[transfer.group];
		split->transfers[i] = graph->transfers->len;
		g_array_append_val(graph->transfers, transfer);
	}
}

/* --- nodes, and what refers to them ----------------------------------------------------------- */

static void copy_nodes(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint32 n = graph->nodes->len;

	split->nodes = none_rows_new(n);
	for (guint32 i = 0; i < n; i++) {
		struct graph_node node = *graph_node_at(graph, i);

		if (!has_copy_of_node(split, &node))
			continue;
		node.lane = copy_or_self(split->lanes, node.lane);
		if (node.transfer != TACHO_NONE)
			node.transfer = copy_or_self(split->transfers, node.transfer);
		if (node.pool != TACHO_NONE)
			node.pool = split->pools[node.pool];
		split->nodes[i] = graph_add_node(graph, node);
	}
}

static void point_transfers(struct split *split, guint32 n_before)
{
	TachoGraph *graph = split->graph;

	for (guint32 i = 0; i < n_before; i++) {
		struct graph_transfer *copy;

		if (split->transfers[i] == TACHO_NONE)
			continue;
		copy = graph_transfer_at(graph, split->transfers[i]);
		copy->node = copy_or_self(split->nodes, copy->node);
		if (copy->is_hop)
			copy->whole = copy_or_self(split->transfers, copy->whole);
	}
}

static void copy_edges(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint n_edges = graph->edges->len;

	for (guint i = 0; i < n_edges; i++) {
		struct graph_edge edge = g_array_index(graph->edges, struct graph_edge, i);

		if (split->nodes[edge.from] != TACHO_NONE || split->nodes[edge.to] != TACHO_NONE)
			graph_add_edge(graph, copy_or_self(split->nodes, edge.from),
				       copy_or_self(split->nodes, edge.to), edge.kind);
	}
}

static void copy_passes(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint n = graph->passes->len;

	for (guint i = 0; i < n; i++) {
		struct graph_pass pass = g_array_index(graph->passes, struct graph_pass, i);
		guint32 first = graph->gradients->len;

		if (!has_copy_of_rank(split, pass.rank_index))
			continue;
		for (guint32 j = 0; j < pass.n_gradients; j++) {
			struct graph_gradient gradient = g_array_index(
				graph->gradients, struct graph_gradient, pass.first_gradient + j);

			gradient.ready_node = copy_or_self(split->nodes, gradient.ready_node);
			if (gradient.copy_node != TACHO_NONE)
				gradient.copy_node = copy_or_self(split->nodes, gradient.copy_node);
			g_array_append_val(graph->gradients, gradient);
		}
		pass.rank_index = rank_of_copy(split, pass.rank_index);
		pass.first_gradient = first;
		pass.finish_node = copy_or_self(split->nodes, pass.finish_node);
		g_array_append_val(graph->passes, pass);
	}
}

static void copy_calls(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint n = graph->calls->len;

	for (guint i = 0; i < n; i++) {
		struct graph_call call = g_array_index(graph->calls, struct graph_call, i);

		if (split->nodes[call.node] == TACHO_NONE)
			continue;
		call.transfer = copy_or_self(split->transfers, call.transfer);
		call.node = split->nodes[call.node];
		g_array_append_val(graph->calls, call);
	}
}

static void copy_blocks(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint n = graph->blocks->len;

	for (guint i = 0; i < n; i++) {
		struct graph_block block = g_array_index(graph->blocks, struct graph_block, i);

		if (!has_copy_of_rank(split, block.rank_index))
			continue;
		block.rank_index = rank_of_copy(split, block.rank_index);
		if (block.begin.node != TACHO_NONE)
			block.begin.node = copy_or_self(split->nodes, block.begin.node);
		if (block.end.node != TACHO_NONE)
			block.end.node = copy_or_self(split->nodes, block.end.node);
		g_array_append_val(graph->blocks, block);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static void split_release(struct split *split)
{
	g_free(split->lanes);
	g_free(split->links);
	g_free(split->groups);
	g_free(split->pools);
	g_free(split->transfers);
	g_free(split->nodes);
}

static void split_set(struct split *split)
{
	TachoGraph *graph = split->graph;
	guint32 n_transfers = graph->transfers->len;

	graph->n_played = (split->to + 1) * split->n_recorded;
	copy_lanes(split);
	copy_links(split);
	copy_groups(split);
	copy_pools(split);
	copy_transfers(split);
	copy_nodes(split);
	point_transfers(split, n_transfers);
	copy_edges(split);
	copy_passes(split);
	copy_calls(split);
	copy_blocks(split);
	if (graph->companion)
		graph->companion->class->split(graph->companion, split->n_recorded, split->from,
					       split->to);
	split_release(split);
}

/* Whether the same ranks of both sets are meant. A rank that one of the sets lacks is not. */
static gboolean is_like(const struct split *split, const guint8 *is_meant, guint32 set,
			guint32 other)
{
	for (guint32 i = 0; i < split->n_recorded; i++) {
		guint32 a = set * split->n_recorded + i, b = other * split->n_recorded + i;

		if (a < split->n_asked && b < split->n_asked && !is_meant[a] != !is_meant[b])
			return FALSE;
	}
	return TRUE;
}

static guint32 n_sets_asked(const struct split *split)
{
	return (MAX(split->n_asked, 1u) - 1) / split->n_recorded + 1;
}

/* A set that is played. */
struct played_set {
	guint32 came_from;    /* of those played before: what it was a part of */
	guint32 first_member; /* of those asked for */
};

static struct played_set *list_played(const struct split *split, guint32 n_before)
{
	struct played_set *played = g_new0(struct played_set, n_sets_asked(split));

	for (guint32 i = 0; i < n_before; i++)
		played[i].came_from = i;
	for (guint32 set = n_sets_asked(split); set-- > 0;)
		played[g_array_index(split->graph->sets, guint32, set)].first_member = set;
	return played;
}

/* Find the sets that are not like the first they are played with, and which they are like; a set of its own each
 * time there is none. */
static gboolean split_sets(struct split *split, const guint8 *is_meant, GError **error)
{
	TachoGraph *graph = split->graph;
	guint32 n_sets = n_sets_asked(split),
		n_before = graph_n_own_ranks(graph) / split->n_recorded;
	g_autofree struct played_set *played_sets = list_played(split, n_before);

	for (guint32 set = 0; set < n_sets; set++) {
		guint32 played = g_array_index(graph->sets, guint32, set), to;
		guint32 n_played = graph_n_own_ranks(graph) / split->n_recorded;

		if (is_like(split, is_meant, set, played_sets[played].first_member))
			continue;
		for (to = n_before; to < n_played; to++)
			if (played_sets[to].came_from == played &&
			    is_like(split, is_meant, set, played_sets[to].first_member))
				break;
		if (to == n_played) {
			split->from = played;
			split->to = to;
			split->first_member = set;
			if (!has_room(graph, error))
				return FALSE;
			split_set(split);
			played_sets[to] = (struct played_set){ played, set };
		}
		g_array_index(graph->sets, guint32, set) = to;
	}
	return TRUE;
}

/* The last set is to have nodes of its own, but lacks ranks that work with others of it. */
static gboolean check_last(struct split *split, const guint8 *is_meant, GError **error)
{
	const GArray *sets = split->graph->sets;
	guint32 last = n_sets_asked(split) - 1;

	split->from = g_array_index(sets, guint32, last);
	split->first_member = last;
	for (guint32 set = 0; set < last; set++)
		if (g_array_index(sets, guint32, set) == split->from &&
		    is_like(split, is_meant, last, set))
			return TRUE;
	return check(split, error);
}

static void list_sets(const struct split *split)
{
	guint32 first = 0;

	while (split->graph->sets->len < n_sets_asked(split))
		g_array_append_val(split->graph->sets, first);
}

/* A rank that is played stands for ranks of which all are meant, or none. */
static guint8 *flags_of_played(const struct split *split, const guint8 *is_meant)
{
	guint8 *flags = g_new0(guint8, MAX(graph_n_own_ranks(split->graph), 1u));

	for (guint32 i = 0; i < split->n_asked; i++)
		if (is_meant[i])
			flags[rank_copies_played(split->graph, i)] = 1;
	return flags;
}

guint8 *graph_split(TachoGraph *graph, const guint8 *is_meant, GError **error)
{
	struct split split = { .graph = graph,
			       .n_recorded = MAX(graph->timeline->ranks->len, 1u),
			       .n_asked = rank_copies_n_asked(graph) };
	guint32 n_nodes = graph->nodes->len;
	gboolean is_done = TRUE;

	if (split.n_asked > split.n_recorded && graph->guests->len > 0) {
		g_set_error(
			error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF,
			"changes of single copies of ranks must come before jobs=, not after it");
		return NULL;
	}
	if (split.n_asked > split.n_recorded) {
		list_sets(&split);
		is_done =
			check_last(&split, is_meant, error) && split_sets(&split, is_meant, error);
	}
	if (graph->nodes->len > n_nodes)
		graph_renumber(graph);
	return is_done ? flags_of_played(&split, is_meant) : NULL;
}
