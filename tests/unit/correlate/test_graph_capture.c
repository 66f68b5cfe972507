/* Which op captured the node of a graph that a kernel was launched for. */
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "timeline_text.h"

/* The op of the nth slice of that name. */
static const gchar *op_of(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	guint32 op = tacho_kernel_op(timeline, timeline_find(timeline, name, nth));

	return op == TACHO_NONE ? "" : tacho_slice_name(timeline, op);
}

static const TachoGraphWork *work_of(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	return tacho_slice_borrow_graph_work(timeline, timeline_find(timeline, name, nth));
}

/* A capture, and two launches of what it made. Work that was launched meanwhile is not of it, nor is a driver's
 * call inside one of the runtime. */
#define CAPTURE                                                                                    \
	"unit us\n"                                                                                \
	"rank 0 thread 1 main\n"                                                                   \
	"runtime cudaStreamBeginCapture_v2 0..1\n"                                                 \
	"op aten::mm 2..8\n"                                                                       \
	"  runtime cudaLaunchKernel 3..6\n"                                                        \
	"    runtime cuLaunchKernel 4..5\n"                                                        \
	"op aten::zero_ 10..14\n"                                                                  \
	"  runtime cudaMemsetAsync 11..12\n"                                                       \
	"op aten::relu 15..19\n"                                                                   \
	"  runtime cudaLaunchKernelExC 16..17\n"                                                   \
	"runtime cudaStreamEndCapture 20..21\n"
#define LAUNCH                                                                                     \
	"op replay 30..40\n"                                                                       \
	"  runtime cudaGraphLaunch 31..39\n"                                                       \
	"stream 7\n"                                                                               \
	"kernel gemm 50..60 launch=cudaGraphLaunch\n"                                              \
	"memset fill 60..61 launch=cudaGraphLaunch\n"                                              \
	"kernel relu 61..65 launch=cudaGraphLaunch\n"

static void test_by_order(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text(CAPTURE LAUNCH "thread 1 main\n"
						  "runtime cudaGraphLaunch 70..71\n"
						  "stream 7\n"
						  "kernel gemm 80..90 launch=cudaGraphLaunch\n"
						  "memset fill 90..91 launch=cudaGraphLaunch\n"
						  "kernel relu 91..95 launch=cudaGraphLaunch\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->graph_work->len, ==, 6);
	for (guint nth = 0; nth < 2; nth++) {
		g_assert_cmpstr(op_of(timeline, "gemm", nth), ==, "aten::mm");
		g_assert_cmpstr(op_of(timeline, "fill", nth), ==, "aten::zero_");
		g_assert_cmpstr(op_of(timeline, "relu", nth), ==, "aten::relu");
		g_assert_cmpuint(work_of(timeline, "relu", nth)->number, ==, 2);
		g_assert_cmpuint(work_of(timeline, "relu", nth)->graph, ==, 0);
		g_assert_false(work_of(timeline, "relu", nth)->is_exact);
	}
}

/* Without the capture the work stands for itself; its op is the one around the launch. */
static void test_uncaptured(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("unit us\nrank 0 thread 1 main\n" LAUNCH);

	g_assert_cmpuint(timeline->graph_work->len, ==, 3);
	g_assert_cmpuint(work_of(timeline, "gemm", 0)->capture, ==, TACHO_NONE);
	g_assert_cmpstr(op_of(timeline, "gemm", 0), ==, "replay");
	g_assert_cmpuint(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNCAPTURED_GRAPH)->count, ==,
		3);
}

/* On two streams the order of running is not that of the nodes. */
static void test_two_streams(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text(CAPTURE "op replay 30..40\n"
					   "  runtime cudaGraphLaunch 31..39\n"
					   "stream 7\n"
					   "kernel gemm 50..60 launch=cudaGraphLaunch\n"
					   "stream 8\n"
					   "memset fill 60..61 launch=cudaGraphLaunch\n"
					   "kernel relu 61..65 launch=cudaGraphLaunch\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(work_of(timeline, "gemm", 0)->capture, ==, TACHO_NONE);
}

/* Another number of nodes, or other kinds, are another graph's. */
static void test_other_graph(void)
{
	static const gchar *const texts[] = {
		CAPTURE "runtime cudaGraphLaunch 31..39\n"
			"stream 7\n"
			"kernel gemm 50..60 launch=cudaGraphLaunch\n"
			"kernel fill 60..61 launch=cudaGraphLaunch\n"
			"kernel relu 61..65 launch=cudaGraphLaunch\n",
		CAPTURE "runtime cudaGraphLaunch 31..39\n"
			"stream 7\n"
			"kernel gemm 50..60 launch=cudaGraphLaunch\n"
			"memset fill 60..61 launch=cudaGraphLaunch\n",
	};

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(TachoTimeline) timeline = timeline_from_text(texts[i]);

		tacho_correlate(timeline);
		g_assert_cmpuint(work_of(timeline, "gemm", 0)->capture, ==, TACHO_NONE);
	}
}

#define TWO_CAPTURES(op)                                                                           \
	"unit us\n"                                                                                \
	"rank 0 thread 1 main\n"                                                                   \
	"runtime hipStreamBeginCapture 0..1\n"                                                     \
	"op aten::mm 2..8\n"                                                                       \
	"  runtime hipLaunchKernel 3..6\n"                                                         \
	"runtime hipStreamEndCapture 20..21\n"                                                     \
	"runtime hipStreamBeginCapture 22..23\n"                                                   \
	"op " op " 24..28\n"                                                                       \
	"  runtime hipModuleLaunchKernel 25..26\n"                                                 \
	"runtime hipStreamEndCapture 30..31\n"                                                     \
	"runtime hipGraphLaunch 40..41\n"                                                          \
	"stream 7\n"                                                                               \
	"kernel k 50..60 launch=hipGraphLaunch\n"

/* Which of two captures made the graph is only known where both made the same. */
static void test_two_captures(void)
{
	g_autoptr(TachoTimeline) same = timeline_from_text(TWO_CAPTURES("aten::mm"));
	g_autoptr(TachoTimeline) other = timeline_from_text(TWO_CAPTURES("aten::relu"));

	tacho_correlate(same);
	tacho_correlate(other);
	g_assert_cmpstr(op_of(same, "k", 0), ==, "aten::mm");
	g_assert_cmpstr(op_of(other, "k", 0), ==, "");
	g_assert_cmpuint(work_of(other, "k", 0)->capture, ==, TACHO_NONE);
}

/* Row of the table where `key` is `text`. */
static guint find_row(const TachoTable *table, const gchar *key, const gchar *text,
		      const gchar *phase)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (g_strcmp0(tacho_table_cell_text(table, row, key), text) == 0 &&
		    (!phase || g_strcmp0(tacho_table_cell_text(table, row, "phase"), phase) == 0))
			return row;
	g_test_message("no row %s", text);
	g_assert_not_reached();
}

/* Device time is the op's that was captured, not that of the one around the launch. */
static void test_views(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(CAPTURE LAUNCH);
	TachoProfileOptions *options = tacho_profile_options_new();
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) op = NULL;
	g_autoptr(TachoTable) node = NULL;
	g_autoptr(TachoTable) kernel = NULL;
	guint row;

	filter.profile = options;
	g_assert_true(tacho_profile_options_set(options, "select", "accelerator_micros", NULL));
	tacho_correlate(timeline);
	op = tacho_view_op(timeline, &filter);
	row = find_row(op, "name", "aten::mm", "replay");
	g_assert_cmpfloat(tacho_table_cell_number(op, row, "device_ms"), ==, 0.01);
	g_assert_cmpfloat(tacho_table_cell_number(op, row, "count"), ==, 1);
	row = find_row(op, "name", "replay", "forward");
	g_assert_cmpfloat(tacho_table_cell_number(op, row, "device_ms"), ==, 0);
	node = tacho_view_graph_node(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(node), ==, 3);
	g_assert_cmpstr(tacho_table_cell_text(node, 2, "op"), ==, "aten::relu");
	g_assert_cmpfloat(tacho_table_cell_number(node, 2, "total_ms"), ==, 0.004);
	kernel = tacho_view_kernel(timeline, &filter);
	row = find_row(kernel, "name", "gemm", NULL);
	g_assert_cmpstr(tacho_table_cell_text(kernel, row, "op"), ==, "aten::mm");
	g_assert_cmpfloat(tacho_table_cell_number(kernel, row, "replays"), ==, 1);
	tacho_profile_options_free(options);
}

/* In the tree the replay stands under what was captured. */
static void test_scope(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(CAPTURE LAUNCH);
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) scope = NULL;
	g_autoptr(TachoTable) graph = NULL;

	scope = tacho_view_scope(timeline, &filter);
	find_row(scope, "name", "aten::mm/[replay]", NULL);
	graph = tacho_view_graph(timeline, &filter);
	find_row(graph, "name", "[replay]/aten::mm", NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/graph_capture/by_order", test_by_order);
	g_test_add_func("/graph_capture/uncaptured", test_uncaptured);
	g_test_add_func("/graph_capture/two_streams", test_two_streams);
	g_test_add_func("/graph_capture/other_graph", test_other_graph);
	g_test_add_func("/graph_capture/two_captures", test_two_captures);
	g_test_add_func("/graph_capture/views", test_views);
	g_test_add_func("/graph_capture/scope", test_scope);
	return g_test_run();
}
