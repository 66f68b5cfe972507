/* Changes are read without a graph, once, and made in as many graphs as are wanted. */
#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "edit/change.h"
#include "timeline_text.h"

static const gchar job[] = "unit us\n"
			   "rank 0 thread 1000 main\n"
			   "  annotation ProfilerStep#0 0..100\n"
			   "    op aten::mul 0..40\n"
			   "    op aten::mm 40..100\n";

static void expect_understood(const gchar *text)
{
	struct change change;
	g_autoptr(GError) error = NULL;

	g_assert_true(change_parse(&change, text, &error));
	g_assert_no_error(error);
	g_assert_cmpstr(change.text, ==, text);
	change_release(&change);
}

static void expect_refused(const gchar *text)
{
	struct change change;
	g_autoptr(GError) error = NULL;

	g_assert_false(change_parse(&change, text, &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF);
	g_assert_nonnull(strstr(error->message, text));
	change_release(&change);
}

static void test_read(void)
{
	static const gchar *const understood[] = {
		"bandwidth=10gbit",
		"latency=+1ms",
		"topology=no such file",
		"ranks=8",
		"algorithm=ps:4",
		"bucket_mb=25",
		"fusion=3,4",
		"compress=fp16",
		"partition_mb=4",
		"accumulate=4",
		"recompute:0:op~mm",
		"device=H100:T4",
		"device:0-3=T4",
		"precision=fp16",
		"precision:1=bf16",
		"precision:0:op~m=int8",
		"scale:op~mm=2x",
		"scale:loader=0.5",
		"drop:kernel~gemm",
		"drop:wait",
		"fuse:op~mm",
		"workers=8:4",
		"batch=2x",
		"straggler:0,4-7=1.5",
		"cores=4",
		"jobs=no such run@5ms",
		"durations=median",
	};
	static const gchar *const refused[] = {
		"bandwidth=10",	  "latency=5",	   "topology=",		 "ranks=1",
		"algorithm=star", "bucket_mb=0",   "fusion=0",		 "compress=int8",
		"partition_mb=0", "accumulate=0",  "recompute:kernel~x", "device=Abacus",
		"device:T4",	  "precision=fp7", "precision:op~mm",	 "scale:op~mm",
		"scale:wait=2x",  "drop:0:wait",   "drop:colour~red",	 "fuse:op~(",
		"workers=-1",	  "batch=64",	   "straggler:=2",	 "cores=0",
		"jobs=",	  "durations=max", "nonsense=1",	 "scale:0:collective~.=2x",
	};

	for (guint i = 0; i < G_N_ELEMENTS(understood); i++)
		expect_understood(understood[i]);
	for (guint i = 0; i < G_N_ELEMENTS(refused); i++)
		expect_refused(refused[i]);
}

static void test_parts(void)
{
	struct change change;

	g_assert_true(change_parse(&change, "scale:0,4-7:op~mm=2x", NULL));
	g_assert_cmpuint(change.ranks->len, ==, 2);
	g_assert_cmpuint(g_array_index(change.ranks, struct rank_range, 1).last, ==, 7);
	g_assert_cmpstr(change.kind, ==, "op");
	g_assert_cmpstr(g_regex_get_pattern(change.regex), ==, "mm");
	g_assert_cmpfloat(change.value.factor, ==, 2);
	g_assert_cmpint(change_phase(&change), ==, CHANGE_WORK);
	g_assert_cmpint(change_needs(&change), ==, CHANGE_NEEDS_NOTHING);
	change_release(&change);
	g_assert_true(change_parse(&change, "jobs=a@b@5ms", NULL));
	g_assert_cmpstr(change.name, ==, "a@b");
	g_assert_cmpint(change.value.offset_ns, ==, 5000000);
	g_assert_cmpint(change_needs(&change), ==, CHANGE_NEEDS_JOB);
	change_release(&change);
	g_assert_true(change_parse(&change, "accumulate=4", NULL));
	g_assert_cmpint(change_phase(&change), ==, CHANGE_PASSES);
	change_release(&change);
}

static gint64 end_ns(const TachoGraph *graph)
{
	g_autoptr(TachoReplay) replay = tacho_replay_run(graph, NULL);
	gint64 end = 0;

	for (guint32 i = 0; i < tacho_graph_n_nodes(graph); i++)
		end = MAX(end, tacho_replay_end_ns(replay, i));
	return end;
}

static void test_several_graphs(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(job);
	struct change change;

	g_assert_true(change_parse(&change, "scale:op~mm=0.5", NULL));
	for (guint i = 0; i < 2; i++) {
		g_autoptr(TachoGraph) graph = tacho_graph_build(timeline, 0, 0, NULL);

		g_assert_cmpint(end_ns(graph), ==, 100000);
		g_assert_true(change_apply(graph, &change, NULL));
		g_assert_true(change_apply(graph, &change, NULL)); /* once more on top */
		g_assert_true(graph_freeze(graph, NULL));
		g_assert_cmpint(end_ns(graph), ==, 55000);
	}
	change_release(&change);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/change/read", test_read);
	g_test_add_func("/change/parts", test_parts);
	g_test_add_func("/change/several_graphs", test_several_graphs);
	return g_test_run();
}
