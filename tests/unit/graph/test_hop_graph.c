/* Collectives that were recorded hop by hop: rings, trees, servers. What is expected was worked out by hand, in
 * microseconds, from the traces in tests/data: each step is 1000 forward and 2000 backward, of which one rank takes
 * 200 more; a hop takes 100 on its link. */
#include <math.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "foreign_traces.h"
#include "graph/graph_internal.h"
#include "timeline_text.h"

static const gchar ring[] = TACHO_TEST_DATA "/byteprofile_ring";
static const gchar tree[] = TACHO_TEST_DATA "/byteprofile_tree";
static const gchar servers[] = TACHO_TEST_DATA "/byteps_servers";

static TachoTimeline *open_trial(const gchar *path)
{
	TachoTimeline *timeline = foreign_open(path);

	tacho_correlate(timeline);
	return timeline;
}

static TachoPrediction *predict(TachoTimeline *timeline, const gchar *what_if)
{
	g_autoptr(GError) error = NULL;
	TachoPrediction *prediction =
		tacho_predict(timeline, &what_if, what_if ? 1 : 0, -1, -1, &error);

	g_assert_no_error(error);
	return prediction;
}

/* The mean over the ranks of the step with the change. */
static void assert_step_us(const gchar *path, const gchar *what_if, gdouble expected_us)
{
	g_autoptr(TachoTimeline) timeline = open_trial(path);
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_if);

	if (fabs(prediction->predicted_step_ms * 1000 - expected_us) > 0.05)
		g_error("%s: %.3f us instead of %.3f", what_if ? what_if : "as measured",
			prediction->predicted_step_ms * 1000, expected_us);
}

/* Hops and all else begin in the replay when they did. */
static void assert_as_measured(const gchar *path, guint n_hops)
{
	g_autoptr(TachoTimeline) timeline = open_trial(path);
	g_autoptr(TachoPrediction) prediction = predict(timeline, NULL);
	const TachoGraph *graph = prediction->graph;
	guint n = 0;

	for (guint32 i = 0; i < tacho_graph_n_nodes(graph); i++)
		g_assert_cmpint(tacho_replay_begin_ns(prediction->replay, i), ==,
				graph_node_at(graph, i)->begin_ns);
	for (guint32 i = 0; i < graph->transfers->len; i++)
		n += graph_transfer_at(graph, i)->is_hop;
	g_assert_cmpuint(n, ==, n_hops);
	g_assert_cmpfloat_with_epsilon(prediction->baseline_step_ms, prediction->measured_step_ms,
				       1e-9);
}

/* 3 ranks, 4 steps, 2 channels on one link, which each has half of. */
static void test_ring(void)
{
	assert_as_measured(ring, 3 * 4 * 2);
	assert_step_us(ring, NULL, 3650);
	/* the last rank comes at 3220; four hops of 50 */
	assert_step_us(ring, "bandwidth=2x", 3220 + 4 * 50 + 30);
	/* rank 0 comes at 2 x 3000 + 2 x 20; then four hops; it takes twice the 30 after that, too */
	assert_step_us(ring, "straggler:0=2", 6040 + 400 + (60 + 30 + 30) / 3.0);
	/* the hops take twice as long; for the small collective nobody waits */
	assert_step_us(ring, "scale:collective~allreduce=2", 3220 + 800 + 30);
}

/* One hop later than its sender: the ranks that are early do what they can. */
static void test_ring_is_no_barrier(void)
{
	g_autoptr(TachoTimeline) timeline = open_trial(ring);
	g_autoptr(TachoPrediction) prediction = predict(timeline, "straggler:2=2");
	gint64 first_ns = G_MAXINT64, last_ns = 0;

	for (guint32 i = 0; i < prediction->graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(prediction->graph, i);

		if (!transfer->is_hop)
			continue;
		first_ns = MIN(first_ns, tacho_replay_begin_ns(prediction->replay, transfer->node));
		last_ns = MAX(last_ns, tacho_replay_end_ns(prediction->replay, transfer->node));
	}
	/* from rank 0 to rank 1, before rank 2 has come; it holds those up by a step of 2 (1000 + 2200 + 20) */
	g_assert_cmpint(first_ns, <, 4200 * 1000);
	g_assert_cmpint(last_ns, ==, (2 * 3220 + 400) * 1000);
}

/* A change that is of a whole collective takes it as a whole. */
static void test_fold(void)
{
	/* as recorded 2 (n - 1) / n of the bytes go over each link in 400; a tree takes 2 */
	assert_step_us(ring, "algorithm=tree", 3220 + 400 * 2 / (4 / 3.0) + 30);
	assert_step_us(ring, "ranks=6", 3220 + 400 * (10 / 6.0) / (4 / 3.0) + 30);
}

/* Root 0, below it 1 and 2: 2 is late. Both hops down share the root's link. */
static void test_tree(void)
{
	assert_as_measured(tree, 4);
	assert_step_us(tree, NULL, 3450);
	/* up at 3270; the root goes on 10 later and 120 after that, the others at 3320 and 30 */
	assert_step_us(tree, "bandwidth=2x", (3400 + 3350 + 3350) / 3.0);
}

/* 2 workers, 2 parts, a server that takes 20 for each push: push at 3300 and 3400, pulled at 3420 and 3520. */
static void test_servers(void)
{
	assert_as_measured(servers, 2 * 2 * 2 + 2);
	assert_step_us(servers, NULL, 3550);
	/* pushed at 3250 and 3300, summed up at 3270 and 3320, pulled at 3320 and 3370 */
	assert_step_us(servers, "bandwidth=2x", 3370 + 30);
	/* pushed at 3201 and 3202, but the server sums up one after the other: till 3221 and 3241 */
	assert_step_us(servers, "bandwidth=100x", 3242 + 30);
	/* worker 1 comes at 2 x (3200 - 2) + 2: pushed, summed, and pulled as before; twice the 30 after it */
	assert_step_us(servers, "straggler:1=2", 6398 + 320 + (60 + 30) / 2.0);
}

/* A server's process stands beside the workers, and has no part in steps. */
static void test_server_is_no_rank(void)
{
	g_autoptr(TachoTimeline) timeline = open_trial(servers);
	guint n_main = 0;

	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpuint(timeline->processes->len, ==, 3);
	for (guint i = 0; i < 3; i++)
		n_main += g_array_index(timeline->processes, TachoProcess, i).is_main != FALSE;
	g_assert_cmpuint(n_main, ==, 2);
}

/* Two ranks with an all-reduce of two rounds, whose hops have so many bytes. */
static void append_rank(GString *text, guint rank, guint first_bytes, guint second_bytes)
{
	const guint bytes[] = { first_bytes, second_bytes };

	g_string_append_printf(text,
			       "rank %u host=h%u thread 100%u main\n"
			       "  annotation ProfilerStep#0 0..100\n"
			       "    op a 0..20\n"
			       "    collective gloo:all_reduce 20..60 bytes=1000 end_tid=9\n"
			       "    op b 60..100\n"
			       "  thread 200%u side\n",
			       rank, rank, rank, rank);
	for (guint step = 0; step < 2; step++)
		g_string_append_printf(
			text,
			"    hop ring gloo:all_reduce peer=%u step=%u bytes=%u event out %u..%u\n"
			"    hop ring gloo:all_reduce peer=%u step=%u bytes=%u receive event in "
			"%u..%u\n",
			1 - rank, step, bytes[step], 22 + 12 * step, 30 + 14 * step, 1 - rank, step,
			bytes[step], 24 + 12 * step, 32 + 18 * step);
}

/* What is said of the sizes of hops. */
static void check_note(guint first_bytes, guint second_bytes, const gchar *words)
{
	static const gchar *const notes[] = { "does not have the bytes of the hops",
					      "all hops have about the same size" };
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;
	g_autofree gchar *all = NULL;

	append_rank(text, 0, first_bytes, second_bytes);
	append_rank(text, 1, first_bytes, second_bytes);
	timeline = correlated(text->str);
	prediction = predict(timeline, NULL);
	g_ptr_array_add(prediction->notes, NULL);
	all = g_strjoinv("\n", (gchar **)prediction->notes->pdata);
	g_ptr_array_set_size(prediction->notes, (gint)prediction->notes->len - 1);
	g_test_message("%s", all);
	g_assert_nonnull(strstr(all, "1 collectives are played hop by hop, as they were recorded"));
	for (guint i = 0; i < G_N_ELEMENTS(notes); i++)
		g_assert_true((strstr(all, notes[i]) != NULL) == (g_strcmp0(words, notes[i]) == 0));
}

static void test_notes(void)
{
	check_note(0, 0, "does not have the bytes of the hops");
	check_note(500, 500, "all hops have about the same size");
	check_note(500, 2000, NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/hop-graph/ring", test_ring);
	g_test_add_func("/hop-graph/notes", test_notes);
	g_test_add_func("/hop-graph/ring-is-no-barrier", test_ring_is_no_barrier);
	g_test_add_func("/hop-graph/fold", test_fold);
	g_test_add_func("/hop-graph/tree", test_tree);
	g_test_add_func("/hop-graph/servers", test_servers);
	g_test_add_func("/hop-graph/server-is-no-rank", test_server_is_no_rank);
	return g_test_run();
}
