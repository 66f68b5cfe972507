#include "replay/rank_fold.h"

#include <stdlib.h>

#include "base/hash_mix.h"

/* Nodes of a rank that tell most ranks apart.
 * Source: a rule: ranks that are not alike differ in the first durations. If wrong, more ranks are compared whole; times stay. */
#define N_FIRST 32

struct rank_fold {
	const TachoGraph *graph;
	guint32 n_ranks, n_folded;
	guint32 *first, *nodes; /* of rank r, in order: nodes[first[r]] up to nodes[first[r + 1]] */
	guint32 *position;	/* of a node among its rank's */
	guint32 *played_for_rank; /* the rank that is played for it: itself, mostly */
};

/* --- which may be alike ----------------------------------------------------------------------- */

/* A hash of each rank's first nodes. */
static guint64 *hash_ranks(const TachoGraph *graph, guint32 n_ranks)
{
	guint64 *hashes = g_new0(guint64, MAX(n_ranks, 1u));
	g_autofree guint32 *n_seen = g_new0(guint32, MAX(n_ranks, 1u));
	guint32 n_done = 0;

	for (guint32 i = 0; i < graph->n_frozen && n_done < n_ranks; i++) {
		guint32 rank = graph_rank_index(graph, i);

		if (rank >= n_ranks || n_seen[rank] == N_FIRST)
			continue;
		hashes[rank] = hash_mix(hash_mix(hashes[rank], graph_node_at(graph, i)->kind),
					(guint64)graph->duration_ns[i]);
		n_done += ++n_seen[rank] == N_FIRST;
	}
	return hashes;
}

static gint compare_hashes(const void *a, const void *b)
{
	guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;

	return (x > y) - (x < y);
}

static gboolean has_equal(const guint64 *hashes, guint32 n)
{
	g_autofree guint64 *sorted = g_memdup2(hashes, n * sizeof(*hashes));

	qsort(sorted, n, sizeof(*sorted), compare_hashes);
	for (guint32 i = 1; i < n; i++)
		if (sorted[i] == sorted[i - 1])
			return TRUE;
	return FALSE;
}

/* --- which are -------------------------------------------------------------------------------- */

static void list_nodes(struct rank_fold *fold)
{
	const TachoGraph *graph = fold->graph;

	fold->first = g_new0(guint32, (gsize)fold->n_ranks + 2);
	fold->nodes = g_new(guint32, MAX(graph->n_frozen, 1u));
	fold->position = g_new(guint32, MAX(graph->n_frozen, 1u));
	for (guint32 i = 0; i < graph->n_frozen; i++)
		if (graph_rank_index(graph, i) < fold->n_ranks)
			fold->first[graph_rank_index(graph, i) + 2]++;
	for (guint32 i = 2; i <= fold->n_ranks; i++)
		fold->first[i] += fold->first[i - 1];
	for (guint32 i = 0; i < graph->n_frozen; i++) {
		guint32 rank = graph_rank_index(graph, i);

		if (rank >= fold->n_ranks)
			continue;
		fold->nodes[fold->first[rank + 1]++] = i;
	}
	for (guint32 rank = 0; rank < fold->n_ranks; rank++)
		for (guint32 i = fold->first[rank]; i < fold->first[rank + 1]; i++)
			fold->position[fold->nodes[i]] = i - fold->first[rank];
}

/* Whether pools of two ranks are alike: as many workers, or engines of the same ordinal. */
static gboolean are_pools_alike(const TachoGraph *graph, guint32 a, guint32 b)
{
	const struct graph_pool *x, *y;

	if (a == TACHO_NONE || b == TACHO_NONE)
		return a == b;
	x = &g_array_index(graph->pools, struct graph_pool, a);
	y = &g_array_index(graph->pools, struct graph_pool, b);
	return x->n_workers == y->n_workers && x->is_engine == y->is_engine &&
	       (!x->is_engine || x->group == y->group);
}

/* Each neighbour of `a` is that of `b`: of no rank, or in the same place of their own. */
static gboolean are_neighbours_alike(const struct rank_fold *fold, guint32 a, guint32 b,
				     const guint32 *first, const guint32 *others)
{
	guint32 n = first[a + 1] - first[a];

	if (first[b + 1] - first[b] != n)
		return FALSE;
	for (guint32 i = 0; i < n; i++) {
		guint32 x = others[first[a] + i], y = others[first[b] + i];

		if (x == y && graph_rank_index(fold->graph, x) == TACHO_NONE)
			continue;
		if (graph_rank_index(fold->graph, x) != graph_rank_index(fold->graph, a) ||
		    graph_rank_index(fold->graph, y) != graph_rank_index(fold->graph, b) ||
		    fold->position[x] != fold->position[y])
			return FALSE;
	}
	return TRUE;
}

/* Moving bytes takes as much from both. */
static gboolean is_taken_alike(const TachoGraph *graph, const struct graph_node *x,
			       const struct graph_node *y)
{
	return (x->kind != TACHO_NODE_DEVICE && x->kind != TACHO_NODE_CAST) ||
	       !graph_has_class_shares(graph) ||
	       graph_kernel_taken(graph, x) == graph_kernel_taken(graph, y);
}

static gboolean are_nodes_alike(const struct rank_fold *fold, guint32 a, guint32 b)
{
	const TachoGraph *graph = fold->graph;
	const struct graph_node *x = graph_node_at(graph, a), *y = graph_node_at(graph, b);

	return x->kind == y->kind && graph->duration_ns[a] == graph->duration_ns[b] &&
	       is_taken_alike(graph, x, y) && x->transfer == y->transfer &&
	       are_pools_alike(graph, x->pool, y->pool) &&
	       are_neighbours_alike(fold, a, b, graph->pred_first, graph->pred) &&
	       are_neighbours_alike(fold, a, b, graph->succ_first, graph->succ);
}

static guint32 n_nodes_of(const struct rank_fold *fold, guint32 rank)
{
	return fold->first[rank + 1] - fold->first[rank];
}

static gboolean are_alike(const struct rank_fold *fold, guint32 a, guint32 b)
{
	guint32 n = n_nodes_of(fold, a);

	if (n == 0 || n_nodes_of(fold, b) != n)
		return FALSE;
	for (guint32 i = 0; i < n; i++)
		if (!are_nodes_alike(fold, fold->nodes[fold->first[a] + i],
				     fold->nodes[fold->first[b] + i]))
			return FALSE;
	return TRUE;
}

static void find_alike(struct rank_fold *fold, const guint64 *hashes)
{
	fold->played_for_rank = g_new(guint32, fold->n_ranks);
	for (guint32 rank = 0; rank < fold->n_ranks; rank++) {
		fold->played_for_rank[rank] = rank;
		for (guint32 other = 0; other < rank; other++)
			if (fold->played_for_rank[other] == other &&
			    hashes[other] == hashes[rank] && are_alike(fold, other, rank)) {
				fold->played_for_rank[rank] = other;
				fold->n_folded += n_nodes_of(fold, rank);
				break;
			}
	}
}

struct rank_fold *rank_fold_new(const TachoGraph *graph)
{
	guint32 n_ranks = graph->timeline->ranks->len;
	g_autofree guint64 *hashes = NULL;
	struct rank_fold *fold;

	if (graph->n_cores > 0 || graph->n_played > 0 || n_ranks < 2)
		return NULL;
	hashes = hash_ranks(graph, n_ranks);
	if (!has_equal(hashes, n_ranks))
		return NULL;
	fold = g_new0(struct rank_fold, 1);
	fold->graph = graph;
	fold->n_ranks = n_ranks;
	list_nodes(fold);
	find_alike(fold, hashes);
	if (fold->n_folded == 0)
		g_clear_pointer(&fold, rank_fold_free);
	return fold;
}

void rank_fold_free(struct rank_fold *fold)
{
	if (!fold)
		return;
	g_free(fold->first);
	g_free(fold->nodes);
	g_free(fold->position);
	g_free(fold->played_for_rank);
	g_free(fold);
}

gboolean rank_fold_has(const struct rank_fold *fold, guint32 node)
{
	guint32 rank = graph_rank_index(fold->graph, node);

	return rank < fold->n_ranks && fold->played_for_rank[rank] != rank;
}

guint32 rank_fold_n_nodes(const struct rank_fold *fold)
{
	return fold->n_folded;
}

static void fill_in_node(const struct rank_fold *fold, TachoReplay *replay, guint32 rank,
			 guint32 played_rank, guint32 position)
{
	guint32 node = fold->nodes[fold->first[rank] + position];
	guint32 played = fold->nodes[fold->first[played_rank] + position];
	guint32 cause = replay->cause[played];

	replay->begin_ns[node] = replay->begin_ns[played];
	replay->end_ns[node] = replay->end_ns[played];
	if (cause != TACHO_NONE && graph_rank_index(fold->graph, cause) == played_rank)
		cause = fold->nodes[fold->first[rank] + fold->position[cause]];
	replay->cause[node] = cause;
}

void rank_fold_fill_in(const struct rank_fold *fold, TachoReplay *replay)
{
	for (guint32 rank = 0; rank < fold->n_ranks; rank++)
		for (guint32 i = 0;
		     fold->played_for_rank[rank] != rank && i < n_nodes_of(fold, rank); i++)
			fill_in_node(fold, replay, rank, fold->played_for_rank[rank], i);
}
