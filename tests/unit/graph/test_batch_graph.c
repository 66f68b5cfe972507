/* Kernels of several sends and receives: what becomes of a job when something of it changes is what its own rules say. */
#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "exchange_jobs.h"
#include "graph/graph_internal.h"
#include "timeline_text.h"

enum { MAX_RANKS = 8 };

static const gint64 usual_us[MAX_RANKS] = { 500, 700, 300, 900, 400, 600, 800, 350 };

/* A job of so many ranks, whose ranks compute so long. */
typedef void (*MakeJob)(struct exchange *job, guint n_ranks, const gint64 *compute_us);

static void make_ring(struct exchange *job, guint n_ranks, const gint64 *compute_us)
{
	exchange_ring(job, n_ranks, 6, compute_us);
}

static void make_both_ways(struct exchange *job, guint n_ranks, const gint64 *compute_us)
{
	exchange_both_ways(job, n_ranks, 6, compute_us);
}

static void make_pipeline(struct exchange *job, guint n_ranks, const gint64 *compute_us)
{
	exchange_pipeline(job, n_ranks, 8, compute_us);
}

static void make_two_stages(struct exchange *job, guint n_ranks, const gint64 *compute_us)
{
	g_assert_cmpuint(n_ranks, ==, 2);
	exchange_two_stages(job, 8, compute_us);
}

static TachoGraph *build(struct exchange *job, TachoTimeline **ret_timeline)
{
	g_autofree gchar *text = NULL;
	g_autoptr(GError) error = NULL;
	TachoGraph *graph;

	exchange_play(job);
	text = exchange_text(job);
	*ret_timeline = timeline_from_text(text);
	tacho_correlate(*ret_timeline);
	graph = tacho_graph_build(*ret_timeline, -1, -1, &error);
	g_assert_no_error(error);
	return graph;
}

/* When the last of the rank's device is over. */
static void last_us(const TachoGraph *graph, const gchar *what_if, gint64 *ret_last_us)
{
	g_autoptr(TachoGraph) copy = graph_copy(graph);
	g_autoptr(TachoReplay) replay = NULL;
	g_autoptr(GError) error = NULL;

	g_assert_true(what_if ? tacho_graph_what_if(copy, what_if, &error)
			      : graph_freeze(copy, &error));
	g_assert_no_error(error);
	replay = tacho_replay_run(copy, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < MAX_RANKS; i++)
		ret_last_us[i] = 0;
	for (guint32 i = 0; i < tacho_graph_n_nodes(copy); i++) {
		const struct graph_node *node = graph_node_at(copy, i);
		gint32 rank = graph_node_rank(copy, i);

		if (node->kind == TACHO_NODE_COMPLETE || node->kind == TACHO_NODE_DEVICE ||
		    node->kind == TACHO_NODE_PART)
			ret_last_us[rank] =
				MAX(ret_last_us[rank], tacho_replay_end_ns(replay, i) / 1000);
	}
}

/* What the replay says of the changed job is what the changed job does. */
static void check_change(const TachoGraph *graph, const gchar *what_if, struct exchange *changed,
			 gint slack_pct)
{
	gint64 replayed_us[MAX_RANKS];

	exchange_play(changed);
	last_us(graph, what_if, replayed_us);
	for (guint rank = 0; rank < changed->n_ranks; rank++) {
		gint64 end_us = exchange_end_us(changed, rank);

		g_assert_cmpint(ABS(replayed_us[rank] - end_us) * 100, <=, end_us * slack_pct);
	}
	exchange_release(changed);
}

static void check_job(MakeJob make, guint n_ranks, gint slack_pct)
{
	struct exchange job;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoGraph) graph = NULL;

	make(&job, n_ranks, usual_us);
	graph = build(&job, &timeline);
	g_assert_cmpuint(graph->transfers->len, ==, timeline->collectives->len);
	check_change(graph, NULL, &job, 0);
	make(&job, n_ranks, usual_us);
	job.transfer_us /= 2;
	check_change(graph, "bandwidth=2x", &job, slack_pct);
	for (guint rank = 0; rank < n_ranks; rank++)
		for (guint is_slower = 0; is_slower < 2; is_slower++) {
			g_autofree gchar *what_if = g_strdup_printf("scale:kernel~compute%u=%s",
								    rank, is_slower ? "4" : "0.2");
			gint64 compute_us[MAX_RANKS];

			for (guint i = 0; i < n_ranks; i++)
				compute_us[i] = usual_us[i] *
						(i != rank   ? 5
						 : is_slower ? 20
							     : 1) /
						5;
			make(&job, n_ranks, compute_us);
			check_change(graph, what_if, &job, slack_pct);
		}
}

static void test_rings(void)
{
	for (guint n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks++)
		check_job(make_ring, n_ranks, 0);
	/* two transfers at once share the way out of a device, which these do not */
	for (guint n_ranks = 3; n_ranks <= 5; n_ranks++)
		check_job(make_both_ways, n_ranks, 10);
}

static void test_pipelines(void)
{
	check_job(make_two_stages, 2, 0);
	for (guint n_ranks = 2; n_ranks <= 4; n_ranks++)
		check_job(make_pipeline, n_ranks, 0);
}

/* The straggler of a ring holds its neighbours up at once, and those behind them one round later each. */
static void test_straggler(void)
{
	gint64 even_us[MAX_RANKS], late_us[MAX_RANKS];
	struct exchange job;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoGraph) graph = NULL;

	for (guint i = 0; i < MAX_RANKS; i++)
		even_us[i] = late_us[i] = 400;
	late_us[3] = 600;
	exchange_ring(&job, MAX_RANKS, 3, even_us);
	graph = build(&job, &timeline);
	exchange_release(&job);
	exchange_ring(&job, MAX_RANKS, 3, late_us);
	check_change(graph, "scale:kernel~compute3=1.5", &job, 0);
	exchange_ring(&job, MAX_RANKS, 3, late_us);
	check_change(graph, "straggler:3=1.5", &job, 0);
}

/* What was lost of one batch leaves it with the peers that it has. */
static void test_lacking_peer(void)
{
	struct exchange job;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoGraph) graph = NULL;

	exchange_ring(&job, 4, 4, usual_us);
	exchange_compute(&job, 0, 100);
	exchange_batch(&job, 0, 2, -1);
	for (guint rank = 1; rank < 4; rank++)
		exchange_compute(&job, rank, 3000);
	graph = build(&job, &timeline);
	g_assert_cmpuint(graph->transfers->len, ==, 4 * 4);
	check_change(graph, NULL, &job, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/batch-graph/rings", test_rings);
	g_test_add_func("/batch-graph/pipelines", test_pipelines);
	g_test_add_func("/batch-graph/straggler", test_straggler);
	g_test_add_func("/batch-graph/lacking-peer", test_lacking_peer);
	return g_test_run();
}
