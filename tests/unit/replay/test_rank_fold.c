/* Ranks that are alike are played once, and nothing changes by it. */
#include "job_graph.h"
#include "replay/rank_fold.h"
#include "replay/shared_run.h"

/* Six ranks, of which the last four do as the first two. */
static const struct job_shape six_ranks = {
	.n_ranks = 6,
	.ranks_per_host = 2,
	.n_ops = 300,
	.n_steps = 2,
	.op_ns = 20000,
	.ops_per_collective = 20,
	.ops_to_wait = 15,
	.n_workers = 2,
	.transfer_ns = 150000,
	.seed = 1,
	.n_distinct = 2,
};

static guint32 n_nodes_of(const TachoGraph *graph, guint32 rank)
{
	guint32 n = 0;

	for (guint32 i = 0; i < graph->n_frozen; i++)
		n += graph_lane_at(graph, graph_node_at(graph, i)->lane)->rank_index == rank;
	return n;
}

/* So many ranks' nodes are not played, and all have the times they have when all are. */
static void check(const TachoGraph *graph, guint32 n_folded_ranks)
{
	struct rank_fold *fold = rank_fold_new(graph);
	TachoReplay *all = replay_new(graph);
	struct shared_run *run = shared_run_new(all, NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) folded = tacho_replay_run(graph, &error);
	gsize n = graph->n_frozen;

	g_assert_no_error(error);
	g_assert_true(graph->is_shared);
	g_assert_cmpuint(fold ? rank_fold_n_nodes(fold) : 0, ==,
			 n_folded_ranks * n_nodes_of(graph, 0));
	g_assert_true(shared_run_play(run, &error));
	g_assert_cmpmem(all->begin_ns, n * sizeof(gint64), folded->begin_ns, n * sizeof(gint64));
	g_assert_cmpmem(all->end_ns, n * sizeof(gint64), folded->end_ns, n * sizeof(gint64));
	/* who is said to have been last may be another that is alike, but ended when the node began */
	for (guint32 i = 0; i < n; i++)
		if (folded->cause[i] != TACHO_NONE)
			g_assert_cmpint(folded->end_ns[folded->cause[i]], ==,
					all->end_ns[all->cause[i]]);
	shared_run_free(run);
	tacho_replay_free(all);
	rank_fold_free(fold);
}

static void test_job(void)
{
	static const struct {
		guint32 n_workers, n_cores, n_folded;
		gdouble taken_share;
	} shapes[] = { { 2, 0, 4, 0 }, { 1, 0, 4, 0.2 }, { 2, 0, 4, 0.2 }, { 2, 1, 0, 0.2 } };

	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
		g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
		struct job_shape shape = six_ranks;
		g_autoptr(TachoGraph) graph = NULL;

		shape.n_workers = shapes[i].n_workers;
		shape.n_cores = shapes[i].n_cores;
		shape.taken_share = shapes[i].taken_share;
		graph = job_graph_new(timeline, &shape);
		g_assert_true(graph_freeze(graph, NULL));
		check(graph, shapes[i].n_folded);
	}
}

/* What makes a rank another than those it was like takes it out: a slower rank, one longer operation, an edge. */
static void test_stragglers(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, &six_ranks);
	guint32 last = TACHO_NONE, early = TACHO_NONE;

	g_assert_true(tacho_graph_what_if(graph, "straggler:5=1.5", NULL));
	check(graph, 3);
	g_assert_true(tacho_graph_what_if(graph, "straggler:0=1.5", NULL));
	check(graph, 2); /* 2 and 4 are alike; 1 and 3 */
	for (guint32 i = 0; i < graph->nodes->len; i++)
		if (graph_node_at(graph, i)->kind == TACHO_NODE_OP &&
		    graph_node_at(graph, i)->lane == 4) {
			early = early == TACHO_NONE ? i : early;
			last = i;
		}
	graph_node_at(graph, last)->duration_ns++;
	g_assert_true(graph_freeze(graph, NULL));
	check(graph, 1);
	graph_node_at(graph, last)->duration_ns--;
	graph_add_edge(graph, early, last, TACHO_EDGE_THREAD);
	g_assert_true(graph_freeze(graph, NULL));
	check(graph, 1);
}

/* No two ranks do the same. */
static void test_distinct(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct job_shape shape = six_ranks;
	g_autoptr(TachoGraph) graph = NULL;

	shape.n_distinct = 0;
	graph = job_graph_new(timeline, &shape);
	g_assert_true(graph_freeze(graph, NULL));
	g_assert_null(rank_fold_new(graph));
	check(graph, 0);
}

/* Random graphs of ranks and their copies, with transfers between them and edges that come and go. */
static void test_random(void)
{
	for (guint round = 0; round < 30; round++) {
		g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
		struct job_shape shape = six_ranks;
		g_autoptr(TachoGraph) graph = NULL;
		struct rank_fold *fold;

		shape.seed = (guint32)g_test_rand_int_range(1, 1000);
		shape.n_distinct = (guint32)g_test_rand_int_range(1, 6);
		shape.taken_share = g_test_rand_bit() ? 0.3 : 0;
		shape.core_wait_ns = g_test_rand_bit() ? 5000 : 0;
		graph = job_graph_new(timeline, &shape);
		for (guint i = 0; i < 3; i++) {
			guint32 node = (guint32)g_test_rand_int_range(0, (gint)graph->nodes->len);

			if (graph_node_at(graph, node)->kind == TACHO_NODE_OP)
				graph_node_at(graph, node)->duration_ns +=
					g_test_rand_int_range(0, 100000);
		}
		g_assert_true(graph_freeze(graph, NULL));
		fold = rank_fold_new(graph);
		check(graph, fold ? rank_fold_n_nodes(fold) / n_nodes_of(graph, 0) : 0);
		rank_fold_free(fold);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rank_fold/job", test_job);
	g_test_add_func("/rank_fold/stragglers", test_stragglers);
	g_test_add_func("/rank_fold/distinct", test_distinct);
	g_test_add_func("/rank_fold/random", test_random);
	return g_test_run();
}
