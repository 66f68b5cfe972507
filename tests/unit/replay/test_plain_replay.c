/* Graphs that chance has drawn, whose resources are shared in every way: src/replay gives the times that the plainest replay
 * gives, and a trial from the middle of one the same as a whole one. */
#include "plain_replay.h"
#include "random_graph.h"
#include "replay/replay_trial.h"

enum {
	N_GRAPHS = 250,
	N_TRIALS = 4,
	MOST_APART_NS =
		16, /* each node's end is rounded, others wait for it, and paces change by it */
};

/* Who let a node begin ended when it began; without anybody, it began at once. */
static void check_causes(const TachoReplay *replay)
{
	for (guint32 i = 0; i < replay->n_nodes; i++) {
		guint32 cause = replay->cause[i];

		g_assert_cmpint(replay->begin_ns[i], ==,
				cause == TACHO_NONE ? 0 : replay->end_ns[cause]);
		g_assert_cmpint(replay->begin_ns[i], <=, replay->end_ns[i]);
	}
}

static void assert_near(const TachoReplay *replay, const gint64 *ends_ns, guint32 seed)
{
	for (guint32 i = 0; i < replay->n_nodes; i++)
		if (ABS(replay->end_ns[i] - ends_ns[i]) > MOST_APART_NS) {
			g_autofree gchar *node = graph_describe_node(replay->graph, i);

			g_error("graph %u: node %u (%s) ends at %" G_GINT64_FORMAT
				" instead of %" G_GINT64_FORMAT,
				seed, i, node, replay->end_ns[i], ends_ns[i]);
		}
}

static void check_trials(TachoGraph *graph)
{
	struct trial_base *base = trial_base_new(graph, NULL);
	struct replay_trial *trial = replay_trial_new(base);
	gsize n = graph->n_frozen;

	for (guint i = 0; i < N_TRIALS; i++) {
		guint32 at = (guint32)(n * i / N_TRIALS);
		struct trial_edit edit = { .node = at,
					   .duration_ns = 2 * graph->duration_ns[at] + 50 };
		gint64 before_ns = graph->duration_ns[at];
		const TachoReplay *tried = replay_trial_borrow_replay(trial);
		g_autoptr(TachoReplay) whole = NULL;

		if (graph_node_at(graph, at)->kind == TACHO_NODE_TRANSFER)
			continue;
		g_assert_true(replay_trial_play(trial, &edit, 1, NULL));
		g_assert_cmpuint(replay_trial_n_played(trial), >, 0);
		g_assert_cmpuint(replay_trial_n_played(trial), <=, n);
		graph->duration_ns[at] = edit.duration_ns;
		whole = tacho_replay_run(graph, NULL);
		graph->duration_ns[at] = before_ns;
		g_assert_cmpmem(whole->begin_ns, n * sizeof(gint64), tried->begin_ns,
				n * sizeof(gint64));
		g_assert_cmpmem(whole->end_ns, n * sizeof(gint64), tried->end_ns,
				n * sizeof(gint64));
		g_assert_cmpfloat(replay_median_step_ns(whole), ==, replay_trial_step_ns(trial));
	}
	replay_trial_free(trial);
	trial_base_free(base);
}

static void test_same(void)
{
	guint n_shared = 0;

	for (guint32 seed = 1; seed <= N_GRAPHS; seed++) {
		g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
		g_autoptr(TachoGraph) graph = random_graph_new(timeline, seed);
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoReplay) replay = tacho_replay_run(graph, &error);
		g_autofree gint64 *ends_ns = plain_replay_ends(graph);

		g_assert_no_error(error);
		n_shared += graph->is_shared;
		check_causes(replay);
		assert_near(replay, ends_ns, seed);
		check_trials(graph);
	}
	g_assert_cmpuint(n_shared, >, N_GRAPHS / 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/plain_replay/same", test_same);
	return g_test_run();
}
