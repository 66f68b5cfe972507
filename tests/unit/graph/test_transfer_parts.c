/* What of a transfer's time its bytes take, and what they take from computing beside it, on jobs whose figures can be computed by
 * hand. Times are microseconds. */
#include <tacho/correlate.h>

#include "graph/graph_internal.h"
#include "predicted.h"
#include "timeline_text.h"

/* Between two sizes, 1 and 2 MB, lie 50 us: as a line says it, 100 us of either are no bytes. The first step, which is left out, has
 * another collective, of `bytes`, which takes 10 us. */
#define TWO_SIZES(rank, host, bytes)                                                               \
	"rank " rank " host=" host " thread 100" rank " main\n"                                    \
	"  annotation ProfilerStep#0 0..200\n"                                                     \
	"    op a 0..100\n"                                                                        \
	"    collective gloo:all_reduce 100..110 bytes=" bytes " end_tid=9\n"                      \
	"    op b 110..200\n"                                                                      \
	"  annotation ProfilerStep#1 200..1000\n"                                                  \
	"    op a 200..300\n"                                                                      \
	"    collective gloo:all_reduce 300..450 bytes=1000000 end_tid=9\n"                        \
	"    op c 450..500\n"                                                                      \
	"    collective gloo:all_reduce 500..700 bytes=2000000 end_tid=9\n"                        \
	"    op d 700..1000\n"
#define JOB_WITH(bytes) "unit us\n" TWO_SIZES("0", "a", bytes) TWO_SIZES("1", "b", bytes)

/* A small one takes 10 us, so each of the two rounds of a ring takes no more beside its bytes: 20 us of each. */
static void test_most_beside_bytes(void)
{
	assert_predicted(JOB_WITH("1024"), "bandwidth=2x", 800 - (130 + 180) / 2.0);
	assert_predicted(JOB_WITH("5000"), "bandwidth=2x", 800 - (50 + 100) / 2.0);
}

/* Ten steps, in each of which mm runs alone for 1 ms, below `first`, and for 1.5 ms beside an all-reduce, below `second`. */
static gdouble taken_share(const gchar *first, const gchar *second)
{
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoGraph) graph = NULL;

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %u host=h%u thread %u main\n", rank, rank,
				       1000 + rank);
		for (guint i = 0; i < 10; i++) {
			guint at = 3000 * i;

			g_string_append_printf(
				text,
				"  annotation ProfilerStep#%u %u..%u\n"
				"    op %s %u..%u\n      op mm %u..%u\n"
				"    collective gloo:all_reduce %u..%u bytes=1000000 end_tid=9\n"
				"    op %s %u..%u\n      op mm %u..%u\n",
				i, at, at + 3000, first, at, at + 1000, at, at + 1000, at + 1000,
				at + 2600, second, at + 1000, at + 2500, at + 1000, at + 2500);
		}
	}
	timeline = correlated(text->str);
	graph = tacho_graph_build(timeline, -1, -1, NULL);
	g_assert_nonnull(graph);
	return graph->taken_share;
}

/* One operation below others is another kind of work, which may well take longer. */
static void test_kinds_of_work(void)
{
	g_assert_cmpfloat_with_epsilon(taken_share("forward", "forward"), 1 - 1 / 1.5, 0.01);
	g_assert_cmpfloat(taken_share("forward", "backward"), ==, 0);
}

/* What a thread begins when the steps are over is no part of them. */
static void test_threads_of_steps(void)
{
	static const gchar *const texts[] = {
		"unit us\nrank 0 thread 1000 main\n  annotation ProfilerStep#0 0..100\n"
		"    op a 0..100\nthread 1001 other\n    op b 100..120\n",
		"unit us\nrank 0 thread 1000 main\n  annotation ProfilerStep#0 0..100\n"
		"    op a 0..100\nthread 1001 other\n    op b 99..120\n",
	};

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(TachoTimeline) timeline = correlated(texts[i]);
		g_autoptr(TachoGraph) graph = tacho_graph_build(timeline, -1, -1, NULL);
		guint n = 0;

		g_assert_nonnull(graph);
		for (guint32 j = 0; j < graph->lanes->len; j++) {
			guint32 track = graph_lane_at(graph, j)->track;

			n += track != TACHO_NONE &&
			     tacho_timeline_track(timeline, track)->tid == 1001;
		}
		g_assert_cmpuint(n, ==, i); /* only what began before */
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/transfer_parts/most_beside_bytes", test_most_beside_bytes);
	g_test_add_func("/transfer_parts/kinds_of_work", test_kinds_of_work);
	g_test_add_func("/transfer_parts/threads_of_steps", test_threads_of_steps);
	return g_test_run();
}
