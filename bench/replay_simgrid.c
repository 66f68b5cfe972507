/* replay_simgrid: what SimGrid can be asked of a graph, and what it and a replay then take.
 *
 * SimGrid shares cores and links as a replay does where a transfer has no waits, and knows no workers that take
 * up what comes. So (1) transfers here are bytes alone; (2) a collective depends on the one as many before it
 * as a pool has workers, which is the same where all take equally long and begin in order.
 * Each round is a process of its own, for SimGrid is one a process and keeps the memory. */
#include "replay_simgrid.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tacho/replay.h>

#include "simgrid_player.h"

#define N_SIMGRID_ROUNDS 3

struct round {
	struct simgrid_times simgrid;
	gdouble replay_s, end_ns;
};

static gint compare_numbers(const void *a, const void *b)
{
	gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

	return (x > y) - (x < y);
}

static guint32 place_of(const TachoGraph *graph, guint32 node)
{
	const struct graph_node *row = graph_node_at(graph, node);

	if (row->kind == TACHO_NODE_TRANSFER)
		return SIMGRID_ON_WIRE;
	if (row->kind == TACHO_NODE_OP)
		return graph_lane_at(graph, row->lane)->rank_index;
	return SIMGRID_NOWHERE;
}

/* The COMPLETE node of a rank that came to a collective by a QUEUE node. */
static guint32 completion_of(const TachoGraph *graph, guint32 queue)
{
	guint32 pool = graph_node_at(graph, queue)->pool;
	guint32 transfer = graph_transfer_at(graph, graph_node_at(graph, queue)->transfer)->node;

	for (guint32 j = graph->succ_first[transfer]; j < graph->succ_first[transfer + 1]; j++)
		if (graph_node_at(graph, graph->succ[j])->pool == pool)
			return graph->succ[j];
	return TACHO_NONE;
}

/* What several workers of a pool come to is not in the frozen edges. */
static void add_worker_edges(const TachoGraph *graph, GArray *from, GArray *to)
{
	for (guint32 pool = 0; pool < graph->pools->len; pool++) {
		guint32 n_workers = g_array_index(graph->pools, struct graph_pool, pool).n_workers;

		for (guint32 i = graph->pool_first[pool] + n_workers;
		     i < graph->pool_first[pool + 1] && n_workers > 1; i++) {
			guint32 before = completion_of(graph, graph->pool_node[i - n_workers]);

			g_array_append_val(from, before);
			g_array_append_val(to, graph->pool_node[i]);
		}
	}
}

static struct simgrid_times play_simgrid(const TachoGraph *graph)
{
	g_autoptr(GArray) from = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autoptr(GArray) to = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autofree guint32 *place = g_new(guint32, graph->n_frozen);
	struct simgrid_work work = { .n_nodes = graph->n_frozen,
				     .n_ranks = graph->timeline->ranks->len,
				     .n_cores = graph->n_cores,
				     .duration_ns = graph->duration_ns,
				     .place = place };

	for (guint32 i = 0; i < graph->n_frozen; i++) {
		place[i] = place_of(graph, i);
		for (guint32 j = graph->succ_first[i]; j < graph->succ_first[i + 1]; j++) {
			g_array_append_val(from, i);
			g_array_append_val(to, graph->succ[j]);
		}
	}
	add_worker_edges(graph, from, to);
	work.n_edges = from->len;
	work.from = (const uint32_t *)from->data;
	work.to = (const uint32_t *)to->data;
	return simgrid_play(&work);
}

static struct round play_both(const TachoGraph *graph)
{
	g_autoptr(GError) error = NULL;
	gint64 begin_us = g_get_monotonic_time();
	g_autoptr(TachoReplay) replay = tacho_replay_run(graph, &error);
	struct round round = { .replay_s = (gdouble)(g_get_monotonic_time() - begin_us) / 1e6 };

	if (!replay) {
		fprintf(stderr, "%s\n", error->message);
		exit(EXIT_FAILURE);
	}
	for (guint32 i = 0; i < graph->n_frozen; i++)
		round.end_ns = MAX(round.end_ns, (gdouble)tacho_replay_end_ns(replay, i));
	round.simgrid = play_simgrid(graph);
	return round;
}

static struct round play_in_child(const TachoGraph *graph)
{
	struct round round = { 0 };
	int ends[2], status = 0;
	pid_t child;

	if (pipe(ends) < 0 || (child = fork()) < 0) {
		perror("bench_replay");
		exit(EXIT_FAILURE);
	}
	if (child == 0) {
		round = play_both(graph);
		_exit(write(ends[1], &round, sizeof(round)) == sizeof(round) ? 0 : 1);
	}
	close(ends[1]);
	if (read(ends[0], &round, sizeof(round)) != sizeof(round) ||
	    waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "SimGrid's process failed (status %d)\n", status);
		exit(EXIT_FAILURE);
	}
	close(ends[0]);
	return round;
}

void replay_beside_simgrid(const gchar *what, const struct job_shape *shape)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, shape);
	g_autoptr(GError) error = NULL;
	gdouble replay_s[N_SIMGRID_ROUNDS], play_s[N_SIMGRID_ROUNDS], n;
	struct round round = { 0 };

	for (guint32 i = 0; i < graph->transfers->len; i++)
		graph_set_transfer(graph, i, 0, (gdouble)shape->transfer_ns);
	if (!graph_freeze(graph, &error)) {
		fprintf(stderr, "cannot freeze: %s\n", error->message);
		exit(EXIT_FAILURE);
	}
	fflush(stdout);
	for (guint i = 0; i < N_SIMGRID_ROUNDS; i++) {
		round = play_in_child(graph);
		replay_s[i] = round.replay_s;
		play_s[i] = round.simgrid.play_s;
	}
	qsort(replay_s, N_SIMGRID_ROUNDS, sizeof(*replay_s), compare_numbers);
	qsort(play_s, N_SIMGRID_ROUNDS, sizeof(*play_s), compare_numbers);
	n = graph->n_frozen / 1e6;
	printf("%-8s %10.2f %14.3f %10.0f %+14.6f\n", what, n / replay_s[N_SIMGRID_ROUNDS / 2],
	       n / play_s[N_SIMGRID_ROUNDS / 2],
	       play_s[N_SIMGRID_ROUNDS / 2] / replay_s[N_SIMGRID_ROUNDS / 2],
	       100 * (round.simgrid.end_ns / round.end_ns - 1));
}
