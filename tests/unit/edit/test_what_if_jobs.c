/* Another job beside the recorded one, on timelines whose results can be computed by hand. Times are
 * microseconds. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "predicted.h"
#include "replay/replay_internal.h"
#include "run_builder.h"
#include "timeline_text.h"

/* An all-reduce of 9 us, all of it bytes, from 51 on. */
#define JOB_OF_TWO(host_a, host_b)                                                                 \
	"unit us\n"                                                                                \
	"rank 0 host=" host_a " thread 1000 main\n"                                                \
	"  annotation ProfilerStep#0 0..100\n"                                                     \
	"    op a 0..50\n"                                                                         \
	"    op c10d::allreduce_ 50..51\n"                                                         \
	"    op b 60..100\n"                                                                       \
	"    collective gloo:all_reduce 51..60 bytes=1024 end_tid=9\n"                             \
	"rank 1 host=" host_b " thread 1001 main\n"                                                \
	"  annotation ProfilerStep#0 0..100\n"                                                     \
	"    op a 0..50\n"                                                                         \
	"    op c10d::allreduce_ 50..51\n"                                                         \
	"    op b 60..100\n"                                                                       \
	"    collective gloo:all_reduce 51..60 bytes=1024 end_tid=9\n"

static const gchar one_host[] = JOB_OF_TWO("h0", "h0");
static const gchar two_hosts[] = JOB_OF_TWO("h0", "h1");
static const gchar other_host[] = JOB_OF_TWO("far", "far");

/* Computes, and nothing else. */
static const gchar loner[] = "unit us\n"
			     "rank 0 thread 1000 main\n"
			     "  annotation ProfilerStep#0 0..100\n"
			     "    op a 0..100\n"
			     "  annotation ProfilerStep#1 100..200\n"
			     "    op a 100..200\n";

/* The timeline as a run of a temporary folder, which is to be removed. */
static gchar *write_run(const gchar *text)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GError) error = NULL;
	gchar *folder = g_dir_make_tmp("job-XXXXXX", &error);

	g_assert_no_error(error);
	run_builder_write_timeline(timeline, folder);
	return folder;
}

/* `text` beside `other`: how long both their steps take, and how many of the other's are over before the
 * end; in `format` the %s is where the other is. */
static void assert_beside(const gchar *text, const gchar *other, const gchar *format,
			  gdouble expected_us, gdouble other_us, guint n_steps)
{
	g_autofree gchar *folder = write_run(other);
	g_auto(GStrv) parts = g_strsplit(format, "%s", 2);
	g_autofree gchar *what_ifs = g_strjoinv(folder, parts);
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_ifs, &error);

	run_builder_remove(folder);
	g_assert_no_error(error);
	g_assert_nonnull(prediction->jobs);
	g_assert_cmpuint(tacho_table_n_rows(prediction->jobs), ==, 1);
	g_test_message("%s: %.3f us, other %.3f us", format, prediction->predicted_step_ms * 1000,
		       tacho_table_cell_number(prediction->jobs, 0, "predicted_step_ms") * 1000);
	g_assert_cmpfloat_with_epsilon(prediction->predicted_step_ms * 1000, expected_us, 0.01);
	g_assert_cmpfloat(tacho_table_cell_number(prediction->jobs, 0, "steps"), ==, n_steps);
	if (n_steps > 0)
		g_assert_cmpfloat_with_epsilon(
			tacho_table_cell_number(prediction->jobs, 0, "predicted_step_ms") * 1000,
			other_us, 0.01);
	else
		g_assert_true(
			isnan(tacho_table_cell_number(prediction->jobs, 0, "predicted_step_ms")));
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(prediction->jobs, 0, "alone_step_ms") * 1000, 100, 0.01);
}

static void test_link(void)
{
	/* both all-reduces begin at 51, and have half of the link each */
	assert_beside(one_host, one_host, "jobs=%s", 109, 109, 1);
	assert_beside(two_hosts, two_hosts, "jobs=%s", 109, 109, 1);
	/* from 56 on: 5 us of 9 are through by then, the other 4 take 8 */
	assert_beside(one_host, one_host, "jobs=%s@5us", 104, 0, 0);
	/* never at the same time; the other's end is 20 us behind */
	assert_beside(one_host, one_host, "jobs=%s@20us", 100, 0, 0);
	/* one host is as good as another that no name tells apart */
	assert_beside(one_host, other_host, "jobs=%s", 109, 109, 1);
	/* each waits 9 us beside its bytes, so of its time alone the link is half the other's: 1.5 times the bytes, and the waits */
	assert_beside(one_host, one_host, "jobs=%s;latency=+2.25us", 51 + 13.5 + 9 + 40,
		      51 + 13.5 + 9 + 40, 1);
	/* within a host nothing goes over its link to others */
	assert_beside(two_hosts, one_host, "jobs=%s", 100, 100, 1);
}

static void test_changes(void)
{
	/* links are faster for both, wherever it is said */
	assert_beside(one_host, one_host, "jobs=%s;bandwidth=2x", 100, 100, 1);
	assert_beside(one_host, one_host, "bandwidth=2x;jobs=%s", 100, 100, 1);
	assert_beside(one_host, one_host, "jobs=%s;scale:collective~reduce=2", 118, 109, 1);
	/* work is this job's: its b takes 120, the other's second step begins at 109 and ends at 209 */
	assert_beside(one_host, one_host, "jobs=%s;scale:op~^b$=3", 51 + 18 + 120, 109, 1);
	assert_beside(one_host, one_host, "jobs=%s;straggler:1=2;straggler:0=2", 102 + 9 + 80, 100,
		      1);
	/* the other goes on, four steps of which the first alone shares the link */
	assert_beside(one_host, one_host, "jobs=%s;scale:op~^b$=10", 51 + 18 + 400, 100, 4);
	/* other parts: of this job. A ring of four passes 1536 bytes in twelve segments, of which two are under way, 256 bytes; one of
	 * two has 512, and so two thirds of the link */
	assert_beside(one_host, one_host, "jobs=%s;ranks=4", 51 + 9 + 13.5 + 40, 51 + 13.5 + 40, 1);
}

static void test_cores(void)
{
	assert_beside(loner, loner, "cores=1;jobs=%s", 200, 200, 1);
	assert_beside(loner, loner, "cores=2;jobs=%s", 100, 100, 1);
	assert_beside(loner, loner, "jobs=%s", 100, 100, 1);
}

/* One rank begins an hour after the other, who would have to go on until then: that is known after two rounds, of 100 us
 * each, and not tried out by ever more of them. */
static void test_ranks_apart(void)
{
	static const gchar apart[] = "unit us\n"
				     "rank 0 host=h0 thread 1000 main\n"
				     "  annotation ProfilerStep#0 0..100\n"
				     "    op a 0..100\n"
				     "rank 1 host=h0 thread 1001 main\n"
				     "  annotation ProfilerStep#0 3600000000..3600000100\n"
				     "    op a 3600000000..3600000100\n";
	g_autofree gchar *folder = write_run(apart);
	g_autofree gchar *what_if = g_strconcat("jobs=", folder, NULL);

	assert_refused(apart, what_if, "would be repeated 33554432 times");
	run_builder_remove(folder);
}

static void test_refusals(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("job-XXXXXX", NULL);
	g_autofree gchar *empty = g_strconcat("jobs=", folder, NULL);

	assert_refused(one_host, "jobs=", "write jobs=RUN");
	assert_refused(one_host, "jobs=/nowhere/at/all", "/nowhere/at/all");
	assert_refused(one_host, "jobs=/nowhere@5ms", "/nowhere: ");
	assert_refused(one_host, "jobs=/nowhere@home", "there is no '/nowhere@home'");
	assert_refused(one_host, empty, folder);
	g_rmdir(folder);
}

/* A guest's kernel of 100 us beside 50 us of its bytes, which take a fifth of its device. */
static void test_device(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = graph_new(timeline);
	struct graph_guest guest = { .n_ranks = 1, .n_steps = 1, .device_taken_share = 0.2 };
	struct graph_lane lane = { .track = TACHO_NONE };
	struct graph_group group = { .n_ranks = 1, .is_device = TRUE, .job = 1 };
	struct graph_transfer transfer = { .n_ranks = 1, .is_device = TRUE };
	struct graph_node node = { .kind = TACHO_NODE_DEVICE,
				   .duration_ns = 100000,
				   .slice = TACHO_NONE,
				   .step = TACHO_NONE,
				   .transfer = TACHO_NONE,
				   .pool = TACHO_NONE };
	g_autoptr(TachoReplay) replay = NULL;
	g_autoptr(GError) error = NULL;
	guint32 kernel, queue;

	g_array_append_val(graph->guests, guest);
	g_array_append_val(graph->lanes, lane);
	g_array_append_val(graph->groups, group);
	graph_add_group_link(graph, 0, 0, "local");
	kernel = graph_add_node(graph, node);
	node.transfer = 0;
	node.kind = TACHO_NODE_QUEUE;
	node.duration_ns = 0;
	queue = graph_add_node(graph, node);
	node.kind = TACHO_NODE_TRANSFER;
	transfer.node = graph_add_node(graph, node);
	g_array_append_val(graph->transfers, transfer);
	graph_set_transfer(graph, 0, 0, 50000);
	graph_add_edge(graph, queue, transfer.node, TACHO_EDGE_TRANSFER);
	g_assert_true(graph_freeze(graph, &error));
	replay = tacho_replay_run(graph, &error);
	g_assert_no_error(error);
	g_assert_cmpint(tacho_replay_end_ns(replay, transfer.node), ==, 50000);
	g_assert_cmpint(tacho_replay_end_ns(replay, kernel), ==, 110000);
}

/* What is said of the other, and what is not. */
static void test_telling(void)
{
	g_autofree gchar *folder = write_run(other_host);
	g_autofree gchar *what_ifs = g_strconcat("jobs=", folder, NULL);
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_host);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_ifs, &error);
	g_autoptr(TachoTimeline) picture = NULL;
	g_autoptr(TachoTable) sensitivity = NULL;

	run_builder_remove(folder);
	g_assert_no_error(error);
	g_assert_true(has_note(prediction, "host far of the other job is treated as h0"));
	g_assert_cmpstr(tacho_table_cell_text(prediction->jobs, 0, "run"), ==, folder);
	/* threads and links of this job: two and one */
	g_assert_cmpuint(tacho_table_n_rows(prediction->utilisation), ==, 3);
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(prediction->utilisation, 2, "busy_ms") * 1000, 18, 0.01);
	picture = tacho_replay_timeline(prediction->replay);
	g_assert_cmpuint(picture->ranks->len, ==, 2);
	sensitivity = tacho_replay_sensitivity(prediction->graph, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < tacho_table_n_rows(sensitivity); i++)
		if (strcmp(tacho_table_cell_text(sensitivity, i, "name"), "bandwidth") == 0)
			/* 9 us of this job's bytes, and as many of the other's before it has them */
			g_assert_cmpfloat_with_epsilon(
				tacho_table_cell_number(sensitivity, i, "felt_pct"), 200, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/what_if_jobs/link", test_link);
	g_test_add_func("/what_if_jobs/changes", test_changes);
	g_test_add_func("/what_if_jobs/cores", test_cores);
	g_test_add_func("/what_if_jobs/device", test_device);
	g_test_add_func("/what_if_jobs/refusals", test_refusals);
	g_test_add_func("/what_if_jobs/ranks_apart", test_ranks_apart);
	g_test_add_func("/what_if_jobs/telling", test_telling);
	return g_test_run();
}
