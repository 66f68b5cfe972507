#include "plain_replay.h"

#include <math.h>
#include <string.h>

enum state {
	WAITING, /* for others to end */
	QUEUED,	 /* for a worker */
	COMING,	 /* for its time, to go on a shared resource */
	RUNNING, /* on one */
	DONE,
};

struct piece {
	enum state state;
	guint32 n_waiting;
	gint64 begin_ns, end_ns;
	gdouble rest_ns; /* of its work, while it runs */
};

struct plain {
	const TachoGraph *graph;
	struct piece *pieces;
	GArray **free_ns;	/* of each pool: since when each free worker is, gint64 */
	guint32 *taken;		/* of each pool: how many were taken up */
	gint64 *engine_free_ns; /* of each pool */
	gdouble now_ns;
};

static const struct graph_pool *pool_of(const struct plain *plain, guint32 node)
{
	guint32 pool = graph_node_at(plain->graph, node)->pool;

	return pool == TACHO_NONE ? NULL
				  : &g_array_index(plain->graph->pools, struct graph_pool, pool);
}

static const struct graph_transfer *transfer_of(const struct plain *plain, guint32 node)
{
	return graph_transfer_at(plain->graph, graph_node_at(plain->graph, node)->transfer);
}

static guint32 rank_of(const struct plain *plain, guint32 node)
{
	return graph_lane_at(plain->graph, graph_node_at(plain->graph, node)->lane)->rank_index;
}

/* --- what is shared --------------------------------------------------------------------------- */

static gboolean is_transfer(const struct plain *plain, guint32 node)
{
	return graph_node_at(plain->graph, node)->kind == TACHO_NODE_TRANSFER;
}

static gboolean is_on_cores(const struct plain *plain, guint32 node)
{
	guint8 kind = graph_node_at(plain->graph, node)->kind;

	return graph_has_cores(plain->graph) &&
	       (kind == TACHO_NODE_OP || kind == TACHO_NODE_KERNEL || kind == TACHO_NODE_HOST);
}

static gboolean is_on_device(const struct plain *plain, guint32 node)
{
	guint8 kind = graph_node_at(plain->graph, node)->kind;

	return graph_takes_from_device(plain->graph, 0) &&
	       (kind == TACHO_NODE_DEVICE || kind == TACHO_NODE_CAST);
}

/* A collective on a stream, without the parts of other ranks. */
static gboolean is_lone_part(const struct plain *plain, guint32 node)
{
	const struct graph_node *row = graph_node_at(plain->graph, node);

	return graph_takes_from_device(plain->graph, 0) && row->kind == TACHO_NODE_PART &&
	       graph_lane_is_stream(plain->graph, graph_lane_at(plain->graph, row->lane));
}

static gboolean is_copied(const struct plain *plain, guint32 node)
{
	return graph_node_at(plain->graph, node)->kind == TACHO_NODE_COPY && pool_of(plain, node);
}

static gboolean has_worker(const struct plain *plain, guint32 node)
{
	const struct graph_pool *pool = pool_of(plain, node);

	return pool && !pool->is_engine && pool->n_workers > 1;
}

/* It wakes workers. */
static gboolean is_call(const struct plain *plain, guint32 node)
{
	return graph_node_at(plain->graph, node)->kind == TACHO_NODE_OP && has_worker(plain, node);
}

static gboolean is_shared(const struct plain *plain, guint32 node)
{
	if (is_transfer(plain, node))
		return transfer_of(plain, node)->work_ns > 0;
	return plain->graph->duration_ns[node] > 0 &&
	       (is_on_cores(plain, node) || is_call(plain, node) || is_on_device(plain, node) ||
		is_lone_part(plain, node) || is_copied(plain, node));
}

/* --- how fast --------------------------------------------------------------------------------- */

static gboolean uses_link(const struct plain *plain, guint32 node, guint32 link)
{
	const struct graph_group *group =
		graph_group_at(plain->graph, transfer_of(plain, node)->group);

	for (guint32 i = 0; i < group->n_links; i++)
		if (g_array_index(plain->graph->group_links, guint32, group->first_link + i) ==
		    link)
			return TRUE;
	return FALSE;
}

static gboolean moves(const struct plain *plain, guint32 node)
{
	return plain->pieces[node].state == RUNNING && is_transfer(plain, node);
}

/* Transfers on the busiest of its links. Others of its group, where that is of devices, do not count. */
static guint32 n_sharing(const struct plain *plain, guint32 node)
{
	guint32 group = transfer_of(plain, node)->group, most = 1;
	const struct graph_group *row = graph_group_at(plain->graph, group);
	gboolean follows = row->is_device && !row->is_hops;

	for (guint32 link = 0; link < plain->graph->links->len; link++) {
		guint32 n = 0;

		if (!uses_link(plain, node, link))
			continue;
		for (guint32 i = 0; i < plain->graph->n_frozen; i++)
			n += moves(plain, i) && uses_link(plain, i, link) &&
			     (i == node || !follows || transfer_of(plain, i)->group != group);
		most = MAX(most, n);
	}
	return most;
}

static guint32 host_of(const struct plain *plain, guint32 rank)
{
	return g_array_index(plain->graph->timeline->ranks, TachoRank, rank).host;
}

/* Whether the rank comes to collectives of the group. */
static gboolean comes_to(const struct plain *plain, guint32 rank, guint32 group)
{
	for (guint32 i = 0; i < plain->graph->n_frozen; i++)
		if (graph_node_at(plain->graph, i)->kind == TACHO_NODE_QUEUE &&
		    rank_of(plain, i) == rank && transfer_of(plain, i)->group == group)
			return TRUE;
	return FALSE;
}

/* Pieces that run on the cores of the rank: its own, or where their number is given, its host's. */
static guint32 n_on_cores(const struct plain *plain, guint32 rank)
{
	guint32 n = 0;

	for (guint32 i = 0; i < plain->graph->n_frozen; i++)
		n += plain->pieces[i].state == RUNNING && is_on_cores(plain, i) &&
		     (plain->graph->n_cores > 0
			      ? host_of(plain, rank_of(plain, i)) == host_of(plain, rank)
			      : rank_of(plain, i) == rank);
	return n;
}

/* A rank of the group has no core left. */
static gboolean waits_for_cores(const struct plain *plain, guint32 group)
{
	for (guint32 rank = 0; rank < plain->graph->timeline->ranks->len; rank++)
		if (n_on_cores(plain, rank) >= MAX(plain->graph->n_cores, 1u) &&
		    comes_to(plain, rank, group))
			return TRUE;
	return FALSE;
}

/* In two messages under way of each, waits hide behind the bytes of the others: 2 n - 1 messages between two waits. */
static gdouble link_pace(const struct plain *plain, guint32 node)
{
	const struct graph_transfer *transfer = transfer_of(plain, node);
	gdouble n = n_sharing(plain, node);
	gdouble core_ns = graph_core_wait_ns(plain->graph, transfer), waits_ns = transfer->fixed_ns;

	if (core_ns > 0 && waits_for_cores(plain, transfer->group))
		waits_ns += core_ns;
	waits_ns /= 2 * n - 1;

	return transfer->work_ns / (transfer->work_ns + waits_ns) / n;
}

/* Whether the rank comes to collectives of the group, or sends or receives in it. */
static gboolean takes_part(const struct plain *plain, guint32 rank, guint32 group)
{
	const struct graph_group *row = graph_group_at(plain->graph, group);

	return comes_to(plain, rank, group) || row->sender == rank + 1 || row->receiver == rank + 1;
}

/* Whether bytes of the rank move: of its host's transfers, or of its devices'. */
static gboolean is_moving(const struct plain *plain, guint32 rank, gboolean is_device)
{
	for (guint32 i = 0; i < plain->graph->n_frozen && is_device; i++)
		if (plain->pieces[i].state == RUNNING && is_lone_part(plain, i) &&
		    rank_of(plain, i) == rank)
			return TRUE;
	for (guint32 i = 0; i < plain->graph->n_frozen; i++)
		if (moves(plain, i) &&
		    graph_group_at(plain->graph, transfer_of(plain, i)->group)->is_device ==
			    is_device &&
		    takes_part(plain, rank, transfer_of(plain, i)->group))
			return TRUE;
	return FALSE;
}

static gdouble core_pace(const struct plain *plain, guint32 node)
{
	const TachoGraph *graph = plain->graph;
	gdouble taken = MIN(graph->taken_share, GRAPH_MAX_TAKEN), cores = graph->n_cores;
	guint32 host = host_of(plain, rank_of(plain, node)), n_moving = 0;

	if (graph->n_cores == 0)
		return is_moving(plain, rank_of(plain, node), FALSE) ? 1 - taken : 1;
	for (guint32 rank = 0; rank < graph->timeline->ranks->len; rank++)
		n_moving += host_of(plain, rank) == host && is_moving(plain, rank, FALSE);
	cores = MAX(cores - taken * n_moving, cores * (1 - GRAPH_MAX_TAKEN));
	return MIN(1.0, cores / n_on_cores(plain, rank_of(plain, node)));
}

static gdouble pace(const struct plain *plain, guint32 node)
{
	if (is_transfer(plain, node))
		return link_pace(plain, node);
	if (is_on_cores(plain, node))
		return core_pace(plain, node);
	return is_on_device(plain, node) && is_moving(plain, rank_of(plain, node), TRUE)
		       ? 1 - graph_kernel_taken(plain->graph, graph_node_at(plain->graph, node))
		       : 1;
}

/* --- what takes no time ----------------------------------------------------------------------- */

static void finish(struct plain *plain, guint32 node, gint64 end_ns)
{
	const TachoGraph *graph = plain->graph;

	plain->pieces[node].state = DONE;
	plain->pieces[node].end_ns = end_ns;
	for (guint32 i = graph->succ_first[node]; i < graph->succ_first[node + 1]; i++) {
		struct piece *next = &plain->pieces[graph->succ[i]];

		next->n_waiting--;
		next->begin_ns = MAX(next->begin_ns, end_ns);
	}
	if (graph_node_at(graph, node)->kind == TACHO_NODE_COMPLETE && has_worker(plain, node))
		g_array_append_val(plain->free_ns[graph_node_at(graph, node)->pool], end_ns);
}

static gboolean arrive(struct plain *plain, guint32 node)
{
	struct piece *piece = &plain->pieces[node];

	if (piece->state != WAITING || piece->n_waiting > 0)
		return FALSE;
	if (is_shared(plain, node))
		piece->state = COMING;
	else if (graph_node_at(plain->graph, node)->kind == TACHO_NODE_QUEUE &&
		 has_worker(plain, node))
		piece->state = QUEUED;
	else
		finish(plain, node, piece->begin_ns + plain->graph->duration_ns[node]);
	return TRUE;
}

/* The next of the pool, if it has come, by the worker that has been free longest. */
static gboolean take_up(struct plain *plain, guint32 pool)
{
	const TachoGraph *graph = plain->graph;
	GArray *free_ns = plain->free_ns[pool];
	guint32 at = graph->pool_first[pool] + plain->taken[pool];
	guint longest = 0;
	struct piece *piece;

	if (g_array_index(graph->pools, struct graph_pool, pool).n_workers < 2 ||
	    free_ns->len == 0 || at == graph->pool_first[pool + 1])
		return FALSE;
	piece = &plain->pieces[graph->pool_node[at]];
	if (piece->state != QUEUED)
		return FALSE;
	for (guint i = 1; i < free_ns->len; i++)
		if (g_array_index(free_ns, gint64, i) < g_array_index(free_ns, gint64, longest))
			longest = i;
	piece->begin_ns = MAX(piece->begin_ns, g_array_index(free_ns, gint64, longest));
	g_array_remove_index(free_ns, longest);
	plain->taken[pool]++;
	finish(plain, graph->pool_node[at],
	       piece->begin_ns + graph->duration_ns[graph->pool_node[at]]);
	return TRUE;
}

static void settle(struct plain *plain)
{
	gboolean has_moved = TRUE;

	while (has_moved) {
		has_moved = FALSE;
		for (guint32 i = 0; i < plain->graph->n_frozen; i++)
			has_moved |= arrive(plain, i);
		for (guint32 i = 0; i < plain->graph->pools->len; i++)
			has_moved |= take_up(plain, i);
	}
}

/* --- the clock -------------------------------------------------------------------------------- */

/* When the piece has its next event; INFINITY: none. */
static gdouble event_ns(const struct plain *plain, guint32 node)
{
	const struct piece *piece = &plain->pieces[node];

	if (piece->state == COMING)
		return (gdouble)piece->begin_ns;
	if (piece->state == RUNNING)
		return plain->now_ns + MAX(piece->rest_ns, 0.0) / pace(plain, node);
	return INFINITY;
}

static void pass_time(struct plain *plain, gdouble time_ns)
{
	g_autofree gdouble *paces = g_new0(gdouble, plain->graph->n_frozen + 1);

	for (guint32 i = 0; i < plain->graph->n_frozen; i++)
		if (plain->pieces[i].state == RUNNING)
			paces[i] = pace(plain, i);
	for (guint32 i = 0; i < plain->graph->n_frozen; i++)
		plain->pieces[i].rest_ns -= paces[i] * (time_ns - plain->now_ns);
	plain->now_ns = time_ns;
}

/* All that has nothing left; whether there was any. */
static gboolean end_pieces(struct plain *plain)
{
	gboolean has_ended = FALSE;

	for (guint32 i = 0; i < plain->graph->n_frozen; i++)
		if (plain->pieces[i].state == RUNNING && plain->pieces[i].rest_ns <= 0.01) {
			finish(plain, i, llround(plain->now_ns));
			has_ended = TRUE;
		}
	return has_ended;
}

/* The workers that the call finds free, what it queues left aside, of all: only who is free takes that up. */
static gint64 call_ns(const struct plain *plain, guint32 node)
{
	const TachoGraph *graph = plain->graph;
	guint32 pool = graph_node_at(graph, node)->pool, transfer = TACHO_NONE, at;

	for (guint i = 0; i < graph->calls->len; i++)
		if (g_array_index(graph->calls, struct graph_call, i).node == node)
			transfer = g_array_index(graph->calls, struct graph_call, i).transfer;
	for (at = graph->pool_first[pool];
	     graph_node_at(graph, graph->pool_node[at])->transfer != transfer;)
		at++;
	if (plain->pieces[graph->pool_node[at]].state != DONE)
		return 0;
	return graph->duration_ns[node] * (plain->free_ns[pool]->len + 1) /
	       pool_of(plain, node)->n_workers;
}

static void begin_piece(struct plain *plain, guint32 node)
{
	struct piece *piece = &plain->pieces[node];

	if (is_copied(plain, node)) {
		gint64 *free_ns = &plain->engine_free_ns[graph_node_at(plain->graph, node)->pool];

		piece->begin_ns = MAX(piece->begin_ns, *free_ns);
		*free_ns = piece->begin_ns + plain->graph->duration_ns[node];
		finish(plain, node, *free_ns);
		return;
	}
	if (is_call(plain, node) && !is_on_cores(plain, node)) {
		finish(plain, node, piece->begin_ns + call_ns(plain, node));
		return;
	}
	piece->state = RUNNING;
	if (is_call(plain, node)) {
		piece->rest_ns = (gdouble)call_ns(plain, node);
		return;
	}
	piece->rest_ns = is_transfer(plain, node) ? transfer_of(plain, node)->work_ns
						  : (gdouble)plain->graph->duration_ns[node];
}

static void play(struct plain *plain)
{
	for (;;) {
		gdouble soonest_ns = INFINITY;

		settle(plain);
		for (guint32 i = 0; i < plain->graph->n_frozen; i++)
			soonest_ns = MIN(soonest_ns, event_ns(plain, i));
		if (soonest_ns == INFINITY)
			return;
		pass_time(plain, soonest_ns);
		if (end_pieces(plain))
			continue;
		for (guint32 i = 0; i < plain->graph->n_frozen; i++)
			if (plain->pieces[i].state == COMING &&
			    (gdouble)plain->pieces[i].begin_ns <= soonest_ns) {
				begin_piece(plain, i);
				break;
			}
	}
}

gint64 *plain_replay_ends(const TachoGraph *graph)
{
	guint32 n = graph->n_frozen, n_pools = graph->pools->len;
	g_autofree struct piece *pieces = g_new0(struct piece, n + 1);
	g_autofree guint32 *taken = g_new0(guint32, n_pools + 1);
	g_autofree gint64 *engine_free_ns = g_new0(gint64, n_pools + 1);
	g_autofree GArray **free_ns = g_new0(GArray *, n_pools + 1);
	struct plain plain = { graph, pieces, free_ns, taken, engine_free_ns, 0 };
	gint64 *ends_ns = g_new(gint64, n + 1);

	for (guint32 i = 0; i < n; i++)
		pieces[i] = (struct piece){
			.end_ns = -1, .n_waiting = graph->pred_first[i + 1] - graph->pred_first[i]
		};
	for (guint32 i = 0; i < n_pools; i++) {
		free_ns[i] = g_array_new(FALSE, TRUE, sizeof(gint64));
		g_array_set_size(free_ns[i],
				 g_array_index(graph->pools, struct graph_pool, i).n_workers);
	}
	play(&plain);
	for (guint32 i = 0; i < n; i++)
		ends_ns[i] = pieces[i].end_ns;
	for (guint32 i = 0; i < n_pools; i++)
		g_array_unref(free_ns[i]);
	return ends_ns;
}
