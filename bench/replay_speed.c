/* replay_speed: nodes a second of a replay, on a made-up job of 8 ranks with 50,000 operations each
 * and an all-reduce every 250, waited for 200 operations later.
 *
 *     ordered    one worker a rank, one group: no resource is shared
 *     links      two workers a rank, so transfers share the links
 *     cores      the same, and the 8 ranks have 6 cores
 *
 * Medians of some rounds, with the fastest and slowest. Making and freezing the graph is not in
 * them, and stands beside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tacho/replay.h>

#include "graph/graph_internal.h"

#define N_RANKS		   8
#define N_OPS		   50000 /* a rank */
#define OPS_PER_COLLECTIVE 250
#define OPS_TO_WAIT	   200
#define OP_NS		   20000
#define TRANSFER_NS	   3000000
#define N_ROUNDS	   15

static struct graph_node node_at(TachoNodeKind kind, guint32 lane, gint64 begin_ns)
{
	struct graph_node node = { .kind = kind,
				   .lane = lane,
				   .begin_ns = begin_ns,
				   .slice = TACHO_NONE,
				   .step = TACHO_NONE,
				   .transfer = TACHO_NONE,
				   .pool = TACHO_NONE };

	return node;
}

static void add_ranks(TachoTimeline *timeline, TachoGraph *graph, guint32 n_workers)
{
	struct graph_group group = { .n_ranks = N_RANKS };

	g_array_append_val(graph->groups, group);
	graph_add_group_link(graph, 0, 0, "local");
	for (guint32 rank = 0; rank < N_RANKS; rank++) {
		TachoRank row = { .rank = (gint32)rank };
		struct graph_lane lane = { .rank_index = rank, .track = TACHO_NONE };
		struct graph_pool pool = { rank, 0, n_workers };

		g_array_append_val(timeline->ranks, row);
		g_array_append_val(graph->lanes, lane);
		g_array_append_val(graph->pools, pool);
	}
}

/* An all-reduce after operation `op` of each rank; `ops` are their first nodes. */
static void add_collective(TachoGraph *graph, const guint32 *ops, guint32 op)
{
	gint64 begin_ns = (gint64)(op + 1) * OP_NS;
	struct graph_transfer transfer = { .n_ranks = N_RANKS };
	struct graph_node node = node_at(TACHO_NODE_TRANSFER, 0, begin_ns);

	node.transfer = graph->transfers->len;
	transfer.node = graph_add_node(graph, node);
	g_array_append_val(graph->transfers, transfer);
	graph_set_transfer(graph, node.transfer, 0, TRANSFER_NS);
	for (guint32 rank = 0; rank < N_RANKS; rank++) {
		struct graph_node part = node_at(TACHO_NODE_QUEUE, rank, begin_ns);
		guint32 queue, complete;

		part.transfer = node.transfer;
		part.pool = rank;
		queue = graph_add_node(graph, part);
		part.kind = TACHO_NODE_COMPLETE;
		part.begin_ns += TRANSFER_NS;
		complete = graph_add_node(graph, part);
		graph_add_edge(graph, ops[rank] + op, queue, TACHO_EDGE_QUEUE);
		graph_add_edge(graph, queue, transfer.node, TACHO_EDGE_TRANSFER);
		graph_add_edge(graph, transfer.node, complete, TACHO_EDGE_TRANSFER);
		if (op + OPS_TO_WAIT < N_OPS)
			graph_add_edge(graph, complete, ops[rank] + op + OPS_TO_WAIT,
				       TACHO_EDGE_WAIT);
	}
}

static TachoGraph *make_graph(TachoTimeline *timeline, guint32 n_workers, guint32 n_cores)
{
	TachoGraph *graph = graph_new(timeline);
	guint32 ops[N_RANKS];
	guint32 state = 1;

	add_ranks(timeline, graph, n_workers);
	for (guint32 rank = 0; rank < N_RANKS; rank++) {
		ops[rank] = graph->nodes->len;
		for (guint32 op = 0; op < N_OPS; op++) {
			struct graph_node node = node_at(TACHO_NODE_OP, rank, (gint64)op * OP_NS);

			state = state * 1664525 + 1013904223; /* Numerical Recipes' generator */
			node.duration_ns = OP_NS / 2 + (state >> 8) % OP_NS;
			graph_add_node(graph, node);
			if (op > 0)
				graph_add_edge(graph, ops[rank] + op - 1, ops[rank] + op,
					       TACHO_EDGE_PROGRAM);
		}
	}
	for (guint32 op = OPS_PER_COLLECTIVE - 1; op < N_OPS; op += OPS_PER_COLLECTIVE)
		add_collective(graph, ops, op);
	graph->n_cores = n_cores;
	graph_renumber(graph);
	return graph;
}

static gint compare_times(const void *a, const void *b)
{
	gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

static gboolean measure(const gchar *what, guint32 n_workers, guint32 n_cores)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = make_graph(timeline, n_workers, n_cores);
	g_autoptr(GError) error = NULL;
	gint64 times_us[N_ROUNDS], freeze_us = g_get_monotonic_time();
	gdouble n;

	if (!graph_freeze(graph, &error)) {
		fprintf(stderr, "%s: %s\n", what, error->message);
		return FALSE;
	}
	freeze_us = g_get_monotonic_time() - freeze_us;
	for (guint i = 0; i < N_ROUNDS; i++) {
		gint64 begin_us = g_get_monotonic_time();
		g_autoptr(TachoReplay) replay = tacho_replay_run(graph, &error);

		if (!replay) {
			fprintf(stderr, "%s: %s\n", what, error->message);
			return FALSE;
		}
		times_us[i] = MAX(g_get_monotonic_time() - begin_us, 1);
	}
	qsort(times_us, N_ROUNDS, sizeof(*times_us), compare_times);
	n = tacho_graph_n_nodes(graph);
	printf("%-8s %10.0f %10.2f %10.1f %8.1f %8.1f %10.2f\n", what, n,
	       (gdouble)times_us[N_ROUNDS / 2] / 1e3, n / (gdouble)times_us[N_ROUNDS / 2],
	       n / (gdouble)times_us[N_ROUNDS - 1], n / (gdouble)times_us[0],
	       (gdouble)freeze_us / 1e3);
	return TRUE;
}

int main(void)
{
	printf("%-8s %10s %10s %10s %8s %8s %10s\n", "", "nodes", "ms", "M nodes/s", "slowest",
	       "fastest", "freeze ms");
	return measure("ordered", 1, 0) && measure("links", 2, 0) && measure("cores", 2, 6)
		       ? EXIT_SUCCESS
		       : EXIT_FAILURE;
}
