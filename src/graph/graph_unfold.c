/* graph_unfold: see the header.
 *
 * (1) What belongs to a rank has as many copies as ranks that it is played for, one in each set of copies that its own
 *     stands for (rank_copies.h); the last set may lack ranks. What all ranks share, the transfers of a group of all of
 *     them, is there once.
 * (2) Copies of a node stand side by side, in the order of sets, and nodes in the order that they had. So
 *     an order that was topological is, and where work and what it waits for are near, they stay near.
 * (3) An edge between two ranks is between their copies of one set, so that a set lacks no rank that another of it works
 *     with; else it is refused. To what is there once, all copies lead; from it, one goes to each.
 * (4) So where a node's copies and their edges go is known from sums over the nodes before, and all cores fill in. */
#include "graph/graph_unfold.h"

#include <string.h>

#include "base/for_each.h"
#include "base/huge_pages.h"
#include "base/worker_pool.h"
#include "graph/rank_copies.h"

/* Nodes that a worker fills in at a time.
 * Source: a rule: their copies take longer than giving out work. If wrong, unfolding is slower; its result is the same. */
#define CHUNK 4096

/* Where the copies of each row of a table are: row i's from first[i] on; n + 1 entries. */
struct copies {
	guint32 *first;
};

struct unfolding {
	const TachoGraph *from;
	TachoGraph *to;
	guint32 n_recorded, n_ranks, n_sets;
	struct copies members; /* of each set that is played, those that it stands for ... */
	guint32 *member;       /* ... their numbers */
	guint8 *is_common;     /* of each node: there once */
	struct copies nodes, lanes, links, pools, groups, transfers, queued;
	struct copies preds, succs; /* of all copies of a node together */
	gboolean lacks_partners;    /* in the last set */
};

static guint32 n_of(const struct copies *copies, guint32 row)
{
	return copies->first[row + 1] - copies->first[row];
}

/* The number of the `copy`-th set that the played one stands for. */
static guint32 member_of(const struct unfolding *unfolding, guint32 set, guint32 copy)
{
	return unfolding->member[unfolding->members.first[set] + copy];
}

/* How many copies rank r has in the sets s that its own stands for: s * R + r is below n_ranks. */
static guint32 n_copies_of_rank(const struct unfolding *unfolding, guint32 rank_index)
{
	guint32 set = rank_index / unfolding->n_recorded, n = n_of(&unfolding->members, set);
	guint32 rest = unfolding->n_ranks % unfolding->n_recorded;
	gboolean has_last = member_of(unfolding, set, n - 1) == unfolding->n_sets - 1;

	return rest == 0 || !has_last || rank_index % unfolding->n_recorded < rest ? n : n - 1;
}

/* The rank that copy `copy` of a played one is. */
static guint32 rank_of_copy(const struct unfolding *unfolding, guint32 rank_index, guint32 copy)
{
	return member_of(unfolding, rank_index / unfolding->n_recorded, copy) *
		       unfolding->n_recorded +
	       rank_index % unfolding->n_recorded;
}

/* --- how many, and where ---------------------------------------------------------------------- */

static guint32 set_played_for(const TachoGraph *graph, guint32 set)
{
	return graph->sets->len ? g_array_index(graph->sets, guint32, set) : 0;
}

static void copies_init(struct copies *copies, guint32 n)
{
	copies->first = g_new0(guint32, (gsize)n + 1);
}

/* From counts in first[1..n] to sums. FALSE: too many. */
static gboolean add_up(struct copies *copies, guint32 n)
{
	guint64 sum = 0;

	for (guint32 i = 1; i <= n; i++) {
		sum += copies->first[i];
		if (sum >= GRAPH_MAX_NODES)
			return FALSE;
		copies->first[i] = (guint32)sum;
	}
	return TRUE;
}

/* Which sets each that is played stands for, in their order. */
static void list_members(struct unfolding *unfolding)
{
	const TachoGraph *from = unfolding->from;
	guint32 n_played = MAX(graph_n_own_ranks(from) / unfolding->n_recorded, 1u);
	g_autofree guint32 *next = g_new0(guint32, n_played);

	copies_init(&unfolding->members, n_played);
	unfolding->member = g_new(guint32, unfolding->n_sets);
	for (guint32 i = 0; i < unfolding->n_sets; i++)
		unfolding->members.first[set_played_for(from, i) + 1]++;
	add_up(&unfolding->members, n_played);
	for (guint32 i = 0; i < unfolding->n_sets; i++) {
		guint32 set = set_played_for(from, i);

		unfolding->member[unfolding->members.first[set] + next[set]++] = i;
	}
}

static guint32 n_copies_of_group(const struct unfolding *unfolding, guint32 group)
{
	const struct graph_group *row = graph_group_at(unfolding->from, group);

	return row->is_resized ? 1 : n_of(&unfolding->members, row->set);
}

static gboolean place_tables(struct unfolding *unfolding)
{
	const TachoGraph *from = unfolding->from;

	copies_init(&unfolding->groups, from->groups->len);
	copies_init(&unfolding->lanes, from->lanes->len);
	copies_init(&unfolding->links, from->links->len);
	copies_init(&unfolding->pools, from->pools->len);
	copies_init(&unfolding->transfers, from->transfers->len);
	copies_init(&unfolding->queued, from->pools->len);
	for (guint32 i = 0; i < from->groups->len; i++)
		unfolding->groups.first[i + 1] = n_copies_of_group(unfolding, i);
	for (guint32 i = 0; i < from->lanes->len; i++) {
		guint32 rank = graph_lane_at(from, i)->rank_index;

		unfolding->lanes.first[i + 1] =
			rank == TACHO_NONE ? 1 : n_copies_of_rank(unfolding, rank);
	}
	for (guint32 i = 0; i < from->links->len; i++)
		unfolding->links.first[i + 1] = n_of(
			&unfolding->members, g_array_index(from->links, struct graph_link, i).set);
	FOR_EACH_AT(const struct graph_pool, pool, i, from->pools) {
		guint32 n = n_copies_of_rank(unfolding, pool->rank_index);

		unfolding->pools.first[i + 1] = n;
		unfolding->queued.first[i + 1] =
			n * (from->pool_first[i + 1] - from->pool_first[i]);
	}
	for (guint32 i = 0; i < from->transfers->len; i++)
		unfolding->transfers.first[i + 1] =
			n_copies_of_group(unfolding, graph_transfer_at(from, i)->group);
	return add_up(&unfolding->groups, from->groups->len) &&
	       add_up(&unfolding->lanes, from->lanes->len) &&
	       unfolding->lanes.first[from->lanes->len] <= GRAPH_MAX_LANES &&
	       add_up(&unfolding->links, from->links->len) &&
	       add_up(&unfolding->pools, from->pools->len) &&
	       add_up(&unfolding->queued, from->pools->len) &&
	       add_up(&unfolding->transfers, from->transfers->len);
}

static gboolean place_nodes(struct unfolding *unfolding)
{
	const TachoGraph *from = unfolding->from;

	unfolding->is_common = g_new0(guint8, MAX(from->n_frozen, 1u));
	copies_init(&unfolding->nodes, from->n_frozen);
	for (guint32 i = 0; i < from->n_frozen; i++) {
		const struct graph_node *node = graph_node_at(from, i);
		guint32 *count = &unfolding->nodes.first[i + 1];

		*count = n_of(&unfolding->lanes, node->lane);
		if (graph_lane_at(from, node->lane)->rank_index != TACHO_NONE)
			continue;
		if (node->transfer != TACHO_NONE)
			*count = n_of(&unfolding->transfers, node->transfer);
		unfolding->is_common[i] =
			node->transfer == TACHO_NONE ||
			graph_group_at(from, graph_transfer_at(from, node->transfer)->group)
				->is_resized;
	}
	return add_up(&unfolding->nodes, from->n_frozen);
}

/* How many edges all copies of `node` have to those of `other`. */
static guint64 n_edges_between(struct unfolding *unfolding, guint32 node, guint32 other)
{
	guint32 n = n_of(&unfolding->nodes, node), n_other = n_of(&unfolding->nodes, other);

	if (!unfolding->is_common[node] && !unfolding->is_common[other] && n != n_other)
		unfolding->lacks_partners = TRUE;
	return MAX(n, n_other);
}

static gboolean place_edges(struct unfolding *unfolding, struct copies *copies,
			    const guint32 *first, const guint32 *others)
{
	guint32 n = unfolding->from->n_frozen;

	copies_init(copies, n);
	for (guint32 i = 0; i < n; i++) {
		guint64 sum = 0;

		for (guint32 j = first[i]; j < first[i + 1]; j++)
			sum += n_edges_between(unfolding, i, others[j]);
		if (sum >= GRAPH_MAX_NODES)
			return FALSE;
		copies->first[i + 1] = (guint32)sum;
	}
	return add_up(copies, n);
}

/* --- the tables ------------------------------------------------------------------------------- */

/* The copy of a group, transfer or other row that belongs to set `set`. */
static guint32 copy_of(const struct copies *copies, guint32 row, guint32 set)
{
	return copies->first[row] + MIN(set, n_of(copies, row) - 1);
}

static void copy_lanes(struct unfolding *unfolding)
{
	for (guint32 i = 0; i < unfolding->from->lanes->len; i++)
		for (guint32 copy = 0; copy < n_of(&unfolding->lanes, i); copy++) {
			struct graph_lane lane = *graph_lane_at(unfolding->from, i);

			if (lane.rank_index != TACHO_NONE) {
				lane.rank_index = rank_of_copy(unfolding, lane.rank_index, copy);
				lane.set = lane.rank_index / unfolding->n_recorded;
			}
			g_array_append_val(unfolding->to->lanes, lane);
		}
}

static void copy_links(struct unfolding *unfolding)
{
	for (guint32 i = 0; i < unfolding->from->links->len; i++)
		for (guint32 copy = 0; copy < n_of(&unfolding->links, i); copy++) {
			struct graph_link link =
				g_array_index(unfolding->from->links, struct graph_link, i);

			link.set = member_of(unfolding, link.set, copy);
			g_array_append_val(unfolding->to->links, link);
		}
}

static void copy_pools(struct unfolding *unfolding)
{
	for (guint32 i = 0; i < unfolding->from->pools->len; i++)
		for (guint32 copy = 0; copy < n_of(&unfolding->pools, i); copy++) {
			struct graph_pool pool =
				g_array_index(unfolding->from->pools, struct graph_pool, i);

			pool.rank_index = rank_of_copy(unfolding, pool.rank_index, copy);
			if (!pool.is_engine)
				pool.group = copy_of(&unfolding->groups, pool.group, copy);
			g_array_append_val(unfolding->to->pools, pool);
		}
}

/* The links of one set, or for a group of all ranks of all sets. */
static void copy_group_links(struct unfolding *unfolding, const struct graph_group *from,
			     struct graph_group *to, guint32 copy)
{
	to->first_link = unfolding->to->group_links->len;
	for (guint32 i = 0; i < from->n_links; i++) {
		guint32 link =
			g_array_index(unfolding->from->group_links, guint32, from->first_link + i);
		guint32 first = from->is_resized ? 0 : copy;
		guint32 end = from->is_resized ? n_of(&unfolding->links, link) : copy + 1;

		for (guint32 j = first; j < end; j++) {
			guint32 link_copy = unfolding->links.first[link] + j;

			g_array_append_val(unfolding->to->group_links, link_copy);
		}
	}
	to->n_links = unfolding->to->group_links->len - to->first_link;
}

static void copy_groups(struct unfolding *unfolding)
{
	for (guint32 i = 0; i < unfolding->from->groups->len; i++)
		for (guint32 copy = 0; copy < n_of(&unfolding->groups, i); copy++) {
			const struct graph_group *from = graph_group_at(unfolding->from, i);
			struct graph_group group = *from;

			copy_group_links(unfolding, from, &group, copy);
			if (!group.is_resized)
				group.set = member_of(unfolding, from->set, copy);
			g_array_append_val(unfolding->to->groups, group);
		}
}

static void copy_transfers(struct unfolding *unfolding)
{
	for (guint32 i = 0; i < unfolding->from->transfers->len; i++)
		for (guint32 set = 0; set < n_of(&unfolding->transfers, i); set++) {
			struct graph_transfer transfer = *graph_transfer_at(unfolding->from, i);

			transfer.node = copy_of(&unfolding->nodes, transfer.node, set);
			transfer.group = copy_of(&unfolding->groups, transfer.group, set);
			g_array_append_val(unfolding->to->transfers, transfer);
		}
}

static void copy_queues(struct unfolding *unfolding)
{
	const TachoGraph *from = unfolding->from;
	TachoGraph *to = unfolding->to;
	guint32 n_pools = from->pools->len, n = 0, pool = 0;

	to->pool_first = g_new0(guint32, (gsize)to->pools->len + 1);
	to->pool_node = g_new(guint32, MAX(unfolding->queued.first[n_pools], 1u));
	for (guint32 i = 0; i < n_pools; i++)
		for (guint32 set = 0; set < n_of(&unfolding->pools, i); set++) {
			for (guint32 j = from->pool_first[i]; j < from->pool_first[i + 1]; j++)
				to->pool_node[n++] =
					unfolding->nodes.first[from->pool_node[j]] + set;
			to->pool_first[++pool] = n;
		}
}

/* --- nodes and edges -------------------------------------------------------------------------- */

static void copy_node(struct unfolding *unfolding, guint32 index)
{
	const struct graph_node *from = graph_node_at(unfolding->from, index);
	guint32 first = unfolding->nodes.first[index], n = n_of(&unfolding->nodes, index);

	for (guint32 set = 0; set < n; set++) {
		struct graph_node *node = graph_node_at(unfolding->to, first + set);

		*node = *from;
		node->lane = copy_of(&unfolding->lanes, from->lane, set);
		if (from->transfer != TACHO_NONE)
			node->transfer = copy_of(&unfolding->transfers, from->transfer, set);
		if (from->pool != TACHO_NONE)
			node->pool = copy_of(&unfolding->pools, from->pool, set);
		unfolding->to->duration_ns[first + set] = unfolding->from->duration_ns[index];
	}
}

/* The edges of the node's copies to those of `others`, at to[] from copies->first[node] on; where each copy's
 * begin, in to_first[]. */
static void copy_edges(const struct unfolding *unfolding, guint32 node, const struct copies *copies,
		       const guint32 *first, const guint32 *others, guint32 *to_first, guint32 *to)
{
	guint32 n = n_of(&unfolding->nodes, node), at = copies->first[node];

	for (guint32 set = 0; set < n; set++) {
		to_first[unfolding->nodes.first[node] + set] = at;
		for (guint32 j = first[node]; j < first[node + 1]; j++) {
			guint32 other = others[j], begin = unfolding->nodes.first[other];
			guint32 n_other = n_of(&unfolding->nodes, other);

			if (unfolding->is_common[other])
				to[at++] = begin;
			else if (unfolding->is_common[node])
				for (guint32 i = 0; i < n_other; i++)
					to[at++] = begin + i;
			else
				to[at++] = begin + set;
		}
	}
}

static void fill_in(guint chunk, gpointer data)
{
	struct unfolding *unfolding = data;
	const TachoGraph *from = unfolding->from;
	TachoGraph *to = unfolding->to;
	guint32 first = chunk * CHUNK, end = MIN(first + CHUNK, from->n_frozen);

	for (guint32 i = first; i < end; i++) {
		copy_node(unfolding, i);
		copy_edges(unfolding, i, &unfolding->preds, from->pred_first, from->pred,
			   to->pred_first, to->pred);
		copy_edges(unfolding, i, &unfolding->succs, from->succ_first, from->succ,
			   to->succ_first, to->succ);
	}
}

static void copy_order(struct unfolding *unfolding)
{
	guint32 n = 0;

	if (!unfolding->from->order)
		return;
	unfolding->to->order = g_new(guint32, MAX(unfolding->to->n_frozen, 1u));
	for (guint32 i = 0; i < unfolding->from->n_frozen; i++) {
		guint32 node = unfolding->from->order[i];

		for (guint32 set = 0; set < n_of(&unfolding->nodes, node); set++)
			unfolding->to->order[n++] = unfolding->nodes.first[node] + set;
	}
}

static void copy_nodes(struct unfolding *unfolding)
{
	const TachoGraph *from = unfolding->from;
	TachoGraph *to = unfolding->to;
	guint32 n = unfolding->nodes.first[from->n_frozen];
	guint32 n_edges = unfolding->preds.first[from->n_frozen];

	g_array_set_size(to->nodes, n);
	huge_pages_want(to->nodes->data, n * sizeof(struct graph_node));
	to->n_frozen = n;
	to->duration_ns = HUGE_PAGES_NEW(gint64, MAX(n, 1u));
	to->pred_first = HUGE_PAGES_NEW(guint32, (gsize)n + 1);
	to->succ_first = HUGE_PAGES_NEW(guint32, (gsize)n + 1);
	to->pred = HUGE_PAGES_NEW(guint32, MAX(n_edges, 1u));
	to->succ = HUGE_PAGES_NEW(guint32, MAX(n_edges, 1u));
	to->pred_first[n] = to->succ_first[n] = n_edges;
	worker_pool_run((from->n_frozen + CHUNK - 1) / CHUNK, fill_in, unfolding);
	copy_order(unfolding);
}

/* --- the whole -------------------------------------------------------------------------------- */

static TachoGraph *new_unfolded(const TachoGraph *graph, guint32 n_ranks, guint32 n_sets)
{
	TachoGraph *to = graph_new(graph->timeline);

	to->n_played = n_ranks;
	for (guint32 i = 0; i < n_sets; i++)
		g_array_append_val(to->sets, i);
	to->origin_ns = graph->origin_ns;
	g_array_append_vals(to->steps, graph->steps->data, graph->steps->len);
	if (graph->lags->len > 0) /* of the recorded ranks: copies have theirs */
		g_array_append_vals(to->lags, graph->lags->data, graph->lags->len);
	to->whole_ns = graph->whole_ns;
	to->taken_share = graph->taken_share;
	to->taken_by_bytes = graph->taken_by_bytes;
	to->device_taken_share = graph->device_taken_share;
	memcpy(to->class_more_taken, graph->class_more_taken, sizeof(to->class_more_taken));
	to->n_cores = graph->n_cores;
	to->is_shared = graph->is_shared;
	return to;
}

static void release(struct unfolding *unfolding)
{
	g_free(unfolding->is_common);
	g_free(unfolding->members.first);
	g_free(unfolding->member);
	g_free(unfolding->nodes.first);
	g_free(unfolding->lanes.first);
	g_free(unfolding->links.first);
	g_free(unfolding->pools.first);
	g_free(unfolding->groups.first);
	g_free(unfolding->transfers.first);
	g_free(unfolding->queued.first);
	g_free(unfolding->preds.first);
	g_free(unfolding->succs.first);
}

/* Whether there is memory for the nodes and what a replay of them takes; what is asked for alone is not used, and so
 * costs nothing. */
static gboolean has_room(const struct unfolding *unfolding)
{
	guint32 last = unfolding->from->n_frozen;
	gsize n = unfolding->nodes.first[last], n_edges = unfolding->preds.first[last];
	gsize node_bytes = 2 * sizeof(struct graph_node) + 4 * sizeof(gint64) + 4 * sizeof(guint32);
	gpointer room = g_try_malloc(n * node_bytes + n_edges * 2 * sizeof(guint32));

	g_free(room);
	return room != NULL;
}

/* Where everything goes. */
static gboolean place(struct unfolding *unfolding, GError **error)
{
	const TachoGraph *from = unfolding->from;

	if (!place_tables(unfolding) || !place_nodes(unfolding) ||
	    !place_edges(unfolding, &unfolding->preds, from->pred_first, from->pred) ||
	    !place_edges(unfolding, &unfolding->succs, from->succ_first, from->succ)) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_SIZE,
			    "there are more than %u nodes and edges for %u ranks; choose fewer "
			    "steps or ranks",
			    GRAPH_MAX_NODES, unfolding->n_ranks);
		return FALSE;
	}
	if (!has_room(unfolding)) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_SIZE,
			    "there is not enough memory for the %u pieces of work of %u ranks; "
			    "choose fewer steps or ranks",
			    unfolding->nodes.first[from->n_frozen], unfolding->n_ranks);
		return FALSE;
	}
	if (unfolding->lacks_partners) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF,
			    "%u ranks cannot be played each by itself: %u ranks were recorded, "
			    "some of them work only with some of the others, and the number asked "
			    "for is not a multiple",
			    unfolding->n_ranks, unfolding->n_recorded);
		return FALSE;
	}
	return TRUE;
}

static void fill_tables(struct unfolding *unfolding)
{
	copy_lanes(unfolding);
	copy_links(unfolding);
	copy_pools(unfolding);
	copy_groups(unfolding);
	copy_transfers(unfolding);
	copy_queues(unfolding);
	copy_nodes(unfolding);
}

TachoGraph *graph_unfold(const TachoGraph *graph, GError **error)
{
	struct unfolding unfolding = { .from = graph,
				       .n_recorded = MAX(graph->timeline->ranks->len, 1u) };

	if (graph->guests->len > 0) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF,
			    "--unfolded cannot be combined with jobs=; leave one of them out");
		return NULL;
	}
	unfolding.n_ranks = MAX(rank_copies_n_asked(graph), 1u);
	unfolding.n_sets = (unfolding.n_ranks - 1) / unfolding.n_recorded + 1;
	list_members(&unfolding);
	if (place(&unfolding, error)) {
		unfolding.to = new_unfolded(graph, unfolding.n_ranks, unfolding.n_sets);
		fill_tables(&unfolding);
	}
	release(&unfolding);
	return unfolding.to;
}
