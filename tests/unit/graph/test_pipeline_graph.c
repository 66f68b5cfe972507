/* Pipeline parallel devices: who receives goes on when the sender has come and the bytes have. Times in
 * microseconds, worked out by hand. */
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "graph/graph_internal.h"
#include "pipeline_text.h"
#include "timeline_text.h"

/* Two stages and two micro-batches; the launches are far ahead of the devices. F0 and F1 take 20 on the first stage,
 * and are sent on in 10 each, on a stream of its own that has waited for them. The second stage posts its
 * receives early, and waits in them. A gradient goes back the same way. The all-reduce is of another group. */
static const gchar *const stages =
	"unit us\n"
	"world 2\n"
	"rank 0 thread 1000 main\n"
	" mark process_group 0 first=1 text='ranks=0,1'\n"
	" mark process_group 0 first=2 text='ranks=0,1'\n"
	" annotation ProfilerStep#0 0..200\n"
	"  runtime lF0 0..1\n"
	"  runtime cudaStreamWaitEvent 1..2\n"
	"  runtime lS0 2..3\n"
	"  runtime lF1 4..5\n"
	"  runtime hipStreamWaitEvent 5..6\n"
	"  runtime lS1 6..7\n"
	"  runtime lR0 8..9\n"
	"  runtime lB0 10..11\n"
	"  runtime lAR 12..13\n"
	"  runtime cudaDeviceSynchronize 20..190\n"
	" stream 7 compute\n"
	"  kernel F0 10..30 launch=lF0\n"
	"  kernel F1 30..50 launch=lF1\n"
	"  kernel B0 120..150 launch=lB0\n"
	" stream 9 p2p\n"
	"  sync 'Stream Wait Event' 1..2 launch=cudaStreamWaitEvent waits_for=F0\n"
	"  collective send 30..40 bytes=1000 group=1 peer=1 launch=lS0\n"
	"  sync 'Stream Wait Event' 5..6 launch=hipStreamWaitEvent waits_for=F1\n"
	"  collective send 50..60 bytes=1000 group=1 peer=1 launch=lS1\n"
	"  collective recv 60..120 bytes=1000 group=1 peer=1 launch=lR0\n"
	" stream 11 dp\n"
	"  collective all_reduce 150..170 bytes=64 group=2 launch=lAR\n"
	"rank 1 thread 1001 main\n"
	" mark process_group 0 first=3 text='ranks=0,1'\n"
	" mark process_group 0 first=4 text='ranks=0,1'\n"
	" annotation ProfilerStep#0 0..200\n"
	"  runtime lR0 0..1\n"
	"  runtime lR1 2..3\n"
	"  runtime cudaDeviceSynchronize 4..190\n"
	" stream 9 p2p\n"
	"  collective recv 5..40 bytes=1000 group=3 peer=0 launch=lR0\n"
	"  collective recv 41..60 bytes=1000 group=3 peer=0 launch=lR1\n";

static TachoReplay *replay_with(TachoGraph *graph, const gchar *what_if)
{
	g_autoptr(GError) error = NULL;
	TachoReplay *replay;

	g_assert_true(what_if ? tacho_graph_what_if(graph, what_if, &error)
			      : graph_freeze(graph, &error));
	g_assert_no_error(error);
	replay = tacho_replay_run(graph, &error);
	g_assert_no_error(error);
	return replay;
}

static gint64 end_us(const TachoGraph *graph, const gchar *what_if, const gchar *name, guint nth,
		     gint32 rank)
{
	g_autoptr(TachoGraph) copy = graph_copy(graph);
	g_autoptr(TachoReplay) replay = replay_with(copy, what_if);

	for (guint32 i = 0; i < tacho_graph_n_nodes(copy); i++) {
		const struct graph_node *node = graph_node_at(copy, i);

		if ((node->kind == TACHO_NODE_COMPLETE || node->kind == TACHO_NODE_DEVICE) &&
		    graph_node_rank(copy, i) == rank &&
		    strcmp(tacho_timeline_string(copy->timeline, node->name), name) == 0 &&
		    nth-- == 0)
			return tacho_replay_end_ns(replay, i) / 1000;
	}
	g_assert_not_reached();
}

/* When the last of the rank's device is over. */
static gint64 last_us(const TachoGraph *graph, const gchar *what_if, gint32 rank)
{
	g_autoptr(TachoGraph) copy = graph_copy(graph);
	g_autoptr(TachoReplay) replay = replay_with(copy, what_if);
	gint64 last_us = 0;

	for (guint32 i = 0; i < tacho_graph_n_nodes(copy); i++) {
		const struct graph_node *node = graph_node_at(copy, i);

		if ((node->kind == TACHO_NODE_COMPLETE || node->kind == TACHO_NODE_DEVICE) &&
		    graph_node_rank(copy, i) == rank)
			last_us = MAX(last_us, tacho_replay_end_ns(replay, i) / 1000);
	}
	return last_us;
}

/* The second stage's half of the timeline that the tests differ in. */
static TachoGraph *build(TachoTimeline **ret_timeline, const gchar *rest)
{
	g_autofree gchar *text = g_strconcat(stages, rest, NULL);
	g_autoptr(GError) error = NULL;
	TachoGraph *graph;

	*ret_timeline = timeline_from_text(text);
	tacho_correlate(*ret_timeline);
	graph = tacho_graph_build(*ret_timeline, -1, -1, &error);
	g_assert_no_error(error);
	return graph;
}

static const gchar *const whole =
	"  collective send 110..120 bytes=1000 group=3 peer=0 launch=lR1\n"
	" stream 11 dp\n"
	"  collective all_reduce 130..170 bytes=64 group=4 launch=lR1\n";

static void test_rendezvous(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoGraph) graph = build(&timeline, whole);

	g_assert_cmpuint(graph->transfers->len, ==, 4);
	g_assert_cmpuint(graph->groups->len, ==, 3);
	g_assert_cmpint(end_us(graph, NULL, "recv", 0, 1), ==, 40);
	g_assert_cmpint(end_us(graph, NULL, "recv", 0, 0), ==, 120);
	/* F0 ends at 50 and F1 at 70: the sends begin then, and the receives end 10 later */
	g_assert_cmpint(end_us(graph, "scale:kernel~F0=2", "recv", 0, 1), ==, 60);
	g_assert_cmpint(end_us(graph, "scale:kernel~F0=2", "recv", 1, 1), ==, 80);
	/* what is sent takes 5; F1 is not sooner done for that */
	g_assert_cmpint(end_us(graph, "bandwidth=2x", "recv", 0, 1), ==, 35);
	g_assert_cmpint(end_us(graph, "bandwidth=2x", "recv", 1, 1), ==, 55);
}

/* The gradient that the second stage sends was lost: the first's receive is work of its own, as long as it was. */
static void test_unmatched(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoGraph) graph =
		build(&timeline, " stream 11 dp\n"
				 "  collective all_reduce 130..170 bytes=64 group=4 launch=lR1\n");
	gboolean is_told = FALSE;

	g_assert_cmpuint(graph->transfers->len, ==, 3);
	for (guint i = 0; i < timeline->problems->len; i++)
		is_told |=
			strstr(g_array_index(timeline->problems, TachoProblem, i).where,
			       "rank 0: recv at 0.000060 s has no counterpart on rank 1") != NULL;
	g_assert_true(is_told);
	g_assert_cmpint(end_us(graph, "scale:kernel~F0=2", "B0", 0, 0), ==, 20 + 150);
}

static TachoGraph *build_pipeline(const struct pipeline *pipeline, TachoTimeline **ret_timeline)
{
	g_autofree gchar *text = pipeline_text(pipeline, NULL);
	g_autoptr(GError) error = NULL;
	TachoGraph *graph;

	*ret_timeline = timeline_from_text(text);
	tacho_correlate(*ret_timeline);
	graph = tacho_graph_build(*ret_timeline, -1, -1, &error);
	g_assert_no_error(error);
	return graph;
}

/* Four stages whose batches tell no peers: who they are with follows from the times, and what becomes of the pipeline when
 * its first forward pass takes longer is what its own rules say. */
static void test_batches(void)
{
	struct pipeline pipeline = { .n_stages = 4,
				     .n_micro_batches = 6,
				     .seed = 1,
				     .forward_us = 5000,
				     .backward_us = 9000,
				     .transfer_us = 150 };
	struct pipeline changed = pipeline;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoGraph) graph = build_pipeline(&pipeline, &timeline);

	g_assert_cmpuint(graph->transfers->len, ==, (6 + 3) + (6 + 2) + (6 + 1));
	changed.first_factor = 3;
	for (guint stage = 0; stage < 4; stage++) {
		g_assert_cmpint(last_us(graph, NULL, (gint32)stage), ==,
				pipeline_end_us(&pipeline, stage));
		g_assert_cmpint(last_us(graph, "scale:kernel~F0=3", (gint32)stage), ==,
				pipeline_end_us(&changed, stage));
	}
}

/* Batches that all end together have no partners that anybody could tell: a note says how many. */
static void test_lone_batches(void)
{
	g_autoptr(GString) text = g_string_new("unit us\nworld 3\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(GError) error = NULL;
	gboolean is_told = FALSE;

	for (guint rank = 0; rank < 3; rank++)
		g_string_append_printf(text,
				       "rank %u thread %u main\n"
				       " annotation ProfilerStep#0 0..2000\n"
				       "  runtime l0 0..1\n"
				       "  runtime l1 2..3\n"
				       "  runtime cudaDeviceSynchronize 4..1990\n"
				       " stream 7 all\n"
				       "  collective SendRecv 100..800 launch=l0\n"
				       "  collective SendRecv 900..1800 launch=l1\n",
				       rank, rank + 1);
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	graph = tacho_graph_build(timeline, -1, -1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(graph->transfers->len, ==, 0);
	for (guint i = 0; i < graph->notes->len; i++)
		is_told |=
			g_str_has_prefix(graph->notes->pdata[i],
					 "6 batches of sends and receives have no known partners");
	g_assert_true(is_told);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pipeline-graph/rendezvous", test_rendezvous);
	g_test_add_func("/pipeline-graph/unmatched", test_unmatched);
	g_test_add_func("/pipeline-graph/batches", test_batches);
	g_test_add_func("/pipeline-graph/lone-batches", test_lone_batches);
	return g_test_run();
}
