/* Changes tried by playing only what they reach give, to the bit, what a whole replay gives. */
#include <string.h>

#include "base/quantile.h"
#include "job_graph.h"
#include "replay/replay_trial.h"

#define N_TRIALS 40
#define N_EDITS	 5

static const struct job_shape ordered = {
	.n_ranks = 4,
	.ranks_per_host = 4,
	.n_ops = 400,
	.n_steps = 3,
	.op_ns = 20000,
	.ops_per_collective = 20,
	.ops_to_wait = 15,
	.n_workers = 1,
	.transfer_ns = 150000,
	.seed = 1,
};

static struct trial_edit random_edit(const TachoGraph *graph)
{
	guint32 node = (guint32)g_test_rand_int_range(0, (gint)graph->nodes->len);
	gdouble factor = g_test_rand_double_range(0, 2);
	struct trial_edit edit = { .node = node };

	if (graph_node_at(graph, node)->kind == TACHO_NODE_TRANSFER) {
		const struct graph_transfer *transfer =
			graph_transfer_at(graph, graph_node_at(graph, node)->transfer);

		edit.fixed_ns = transfer->fixed_ns * factor;
		edit.work_ns = transfer->work_ns * factor;
	} else {
		edit.duration_ns = (gint64)((gdouble)graph->duration_ns[node] * factor);
	}
	return edit;
}

/* The same edits, made in the graph. */
static void edit_graph(TachoGraph *graph, const struct trial_edit *edits, guint n_edits)
{
	for (guint i = 0; i < n_edits; i++) {
		struct graph_node *node = graph_node_at(graph, edits[i].node);

		if (node->kind == TACHO_NODE_TRANSFER)
			graph_set_transfer(graph, node->transfer, edits[i].fixed_ns,
					   edits[i].work_ns);
		else
			node->duration_ns = edits[i].duration_ns;
	}
}

static void assert_same_replay(const TachoReplay *a, const TachoReplay *b)
{
	gsize n = a->n_nodes;

	g_assert_cmpuint(a->n_nodes, ==, b->n_nodes);
	g_assert_cmpmem(a->begin_ns, n * sizeof(gint64), b->begin_ns, n * sizeof(gint64));
	g_assert_cmpmem(a->end_ns, n * sizeof(gint64), b->end_ns, n * sizeof(gint64));
	g_assert_cmpmem(a->cause, n * sizeof(guint32), b->cause, n * sizeof(guint32));
}

/* The whole replay of a graph made and edited for this. */
static void assert_as_whole(const struct job_shape *shape, struct replay_trial *trial,
			    const struct trial_edit *edits, guint n_edits)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, shape);
	g_autoptr(TachoReplay) whole = NULL;
	g_autoptr(GArray) steps = NULL;
	g_autoptr(GError) error = NULL;

	edit_graph(graph, edits, n_edits);
	g_assert_true(graph_freeze(graph, &error));
	whole = tacho_replay_run(graph, &error);
	g_assert_no_error(error);
	assert_same_replay(replay_trial_borrow_replay(trial), whole);
	steps = replay_step_times(whole);
	g_assert_cmpfloat(quantile(steps, 0.5), ==, replay_trial_step_ns(trial));
}

static void check_shape(const struct job_shape *shape, gboolean is_shared)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, shape);
	struct trial_base *base;
	struct replay_trial *trial;
	guint32 n_played = 0;

	g_assert_true(graph_freeze(graph, NULL));
	g_assert_true(graph->is_shared == is_shared);
	base = trial_base_new(graph, NULL);
	g_assert_nonnull(base);
	trial = replay_trial_new(base);
	for (guint round = 0; round < N_TRIALS; round++) {
		struct trial_edit edits[N_EDITS];
		guint n_edits = round % (N_EDITS + 1);

		for (guint i = 0; i < n_edits; i++)
			edits[i] = random_edit(graph);
		g_assert_true(replay_trial_play(trial, edits, n_edits, NULL));
		assert_as_whole(shape, trial, edits, n_edits);
		n_played += replay_trial_n_played(trial);
	}
	g_assert_cmpuint(n_played, <, N_TRIALS * graph->nodes->len * 9 / 10);
	replay_trial_free(trial);
	trial_base_free(base);
}

static void test_ordered(void)
{
	check_shape(&ordered, FALSE);
}

static void test_links(void)
{
	struct job_shape shape = ordered;

	shape.n_workers = 2;
	check_shape(&shape, TRUE);
	shape.ranks_per_host = 2;
	check_shape(&shape, TRUE);
}

static void test_cores(void)
{
	struct job_shape shape = ordered;

	shape.n_workers = 2;
	shape.n_cores = 3;
	check_shape(&shape, TRUE);
	shape.taken_share = 0.2;
	check_shape(&shape, TRUE);
	shape.n_cores = 0;
	check_shape(&shape, TRUE);
	shape.core_wait_ns = 4000;
	check_shape(&shape, TRUE);
	shape.n_cores = 2;
	check_shape(&shape, TRUE);
}

/* Numbers that are not in order, so that positions are looked up. */
static void test_unsorted(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, &ordered);
	g_autoptr(GError) error = NULL;
	struct trial_base *base;
	struct replay_trial *trial;

	for (guint32 i = 0; i < graph->nodes->len; i++)
		graph_node_at(graph, i)->begin_ns = -graph_node_at(graph, i)->begin_ns;
	graph->pools->len = 0; /* whose order is by when queued */
	for (guint32 i = 0; i < graph->nodes->len; i++)
		graph_node_at(graph, i)->pool = TACHO_NONE;
	graph_renumber(graph);
	g_assert_true(graph_freeze(graph, &error));
	g_assert_nonnull(graph->order);
	base = trial_base_new(graph, NULL);
	trial = replay_trial_new(base);
	for (guint round = 0; round < N_TRIALS; round++) {
		struct trial_edit edit = random_edit(graph);
		gint64 before_ns = graph->duration_ns[edit.node];
		g_autoptr(TachoReplay) whole = NULL;

		if (graph_node_at(graph, edit.node)->kind == TACHO_NODE_TRANSFER)
			continue;
		g_assert_true(replay_trial_play(trial, &edit, 1, NULL));
		graph->duration_ns[edit.node] = edit.duration_ns;
		whole = tacho_replay_run(graph, NULL);
		graph->duration_ns[edit.node] = before_ns;
		assert_same_replay(replay_trial_borrow_replay(trial), whole);
	}
	replay_trial_free(trial);
	trial_base_free(base);
}

/* All cores at once find what one finds. */
static void test_many(void)
{
	for (guint32 n_workers = 1; n_workers <= 2; n_workers++) {
		g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
		struct job_shape shape = ordered;
		g_autoptr(TachoGraph) graph = NULL;
		struct trial_edit edits[N_TRIALS];
		struct trial_change changes[N_TRIALS];
		struct trial_base *base;
		struct replay_trial *trial;

		shape.n_workers = n_workers;
		graph = job_graph_new(timeline, &shape);
		g_assert_true(graph_freeze(graph, NULL));
		base = trial_base_new(graph, NULL);
		for (guint i = 0; i < N_TRIALS; i++) {
			edits[i] = random_edit(graph);
			changes[i] = (struct trial_change){ &edits[i], 1, 0 };
		}
		replay_trials_run(base, changes, N_TRIALS);
		trial = replay_trial_new(base);
		for (guint i = N_TRIALS; i-- > 0;) {
			g_assert_true(replay_trial_play(trial, &edits[i], 1, NULL));
			g_assert_cmpfloat(replay_trial_step_ns(trial), ==, changes[i].step_ns);
		}
		replay_trial_free(trial);
		trial_base_free(base);
	}
}

/* What was never made is freed, too. */
static void test_nothing(void)
{
	trial_base_free(NULL);
	replay_trial_free(NULL);
	tacho_replay_free(NULL);
	tacho_graph_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/replay_trial/ordered", test_ordered);
	g_test_add_func("/replay_trial/links", test_links);
	g_test_add_func("/replay_trial/cores", test_cores);
	g_test_add_func("/replay_trial/unsorted", test_unsorted);
	g_test_add_func("/replay_trial/many", test_many);
	g_test_add_func("/replay_trial/nothing", test_nothing);
	return g_test_run();
}
