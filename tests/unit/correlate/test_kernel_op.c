/* Which op a kernel works for: its parent, or the op that kept the pool's thread busy. */
#include <string.h>
#include <tacho/correlate.h>

#include "timeline_text.h"

static guint32 op_of_flow(const TachoTimeline *timeline, const gchar *kernel)
{
	guint32 to = timeline_find(timeline, kernel, 0);

	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_OP_KERNEL && flow->to == to) {
			g_assert_false(flow->is_exact);
			return flow->from;
		}
	}
	return TACHO_NONE;
}

static guint64 count_orphans(const TachoTimeline *timeline)
{
	guint64 count = 0;

	for (guint i = 0; i < timeline->problems->len; i++) {
		const TachoProblem *problem = &g_array_index(timeline->problems, TachoProblem, i);

		if (problem->kind == TACHO_PROBLEM_ORPHAN_KERNEL)
			count += problem->count;
	}
	return count;
}

static void test_parent(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "op aten::linear 0..20\n"
							       "  op aten::addmm 1..19\n"
							       "    annotation region 2..18\n"
							       "      kernel sgemm 3..17\n"
							       "op aten::relu 20..30\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(tacho_kernel_op(timeline, timeline_find(timeline, "sgemm", 0)), ==,
			 timeline_find(timeline, "aten::addmm", 0));
	g_assert_cmpuint(tacho_kernel_op(timeline, timeline_find(timeline, "aten::relu", 0)), ==,
			 TACHO_NONE);
	g_assert_cmpuint(tacho_kernel_op(timeline, TACHO_NONE), ==, TACHO_NONE);
	g_assert_cmpuint(op_of_flow(timeline, "sgemm"), ==, TACHO_NONE);
	g_assert_cmpuint(count_orphans(timeline), ==, 0);
}

/* What a device does is of the op around its launch, on whichever thread; of none where that is outside. */
static void test_launched(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("unit us\n"
				   "rank 0 thread 1 main\n"
				   "op aten::linear 0..20\n"
				   "  op aten::addmm 1..19\n"
				   "    runtime cudaLaunchKernel 3..5\n"
				   "runtime cudaMemcpyAsync 30..32\n"
				   "stream 7\n"
				   "kernel sgemm 40..50 launch=cudaLaunchKernel\n"
				   "memcpy HtoD 28.5..29 launch=cudaMemcpyAsync\n");
	guint32 kernel, copy;

	tacho_correlate(timeline);
	kernel = timeline_find(timeline, "sgemm", 0);
	copy = timeline_find(timeline, "HtoD", 0);
	g_assert_cmpuint(tacho_kernel_op(timeline, kernel), ==,
			 timeline_find(timeline, "aten::addmm", 0));
	g_assert_cmpuint(tacho_kernel_op(timeline, copy), ==, TACHO_NONE);
	g_assert_cmpuint(count_orphans(timeline), ==, 0);
	g_assert_cmpuint(timeline->flows->len, ==, 2);
	/* the copy began before its call: told, and by how much */
	g_assert_cmpuint(timeline->problems->len, ==, 1);
	g_assert_cmpint(g_array_index(timeline->problems, TachoProblem, 0).kind, ==,
			TACHO_PROBLEM_EARLY_KERNEL);
	g_assert_nonnull(
		strstr(g_array_index(timeline->problems, TachoProblem, 0).where, "up to 1.500 us"));
}

/* Thread 3 was started by thread 2, so thread 1's op, open at the same time, is no rival. */
static void test_pool_with_parent(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "op aten::conv2d 0..50\n"
							       "thread 2 engine\n"
							       "op ConvBackward 5..40 backward\n"
							       "  op aten::mm 6..30\n"
							       "thread 3 pool parent=2\n"
							       "kernel piece 7..29\n"
							       "kernel tail 31..39\n"
							       "kernel late 39..45\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(op_of_flow(timeline, "piece"), ==, timeline_find(timeline, "aten::mm", 0));
	g_assert_cmpuint(op_of_flow(timeline, "tail"), ==,
			 timeline_find(timeline, "ConvBackward", 0));
	g_assert_cmpuint(op_of_flow(timeline, "late"), ==, TACHO_NONE);
	g_assert_cmpuint(count_orphans(timeline), ==, 1);
}

/* With nothing known of who started the pool, one candidate will do, two will not. */
static void test_pool_without_parent(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "op aten::conv2d 0..20\n"
							       "op aten::mm 30..50\n"
							       "thread 2 engine\n"
							       "op Backward 30..60 backward\n"
							       "thread 3 pool\n"
							       "kernel clear 5..15\n"
							       "kernel torn 35..40\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(op_of_flow(timeline, "clear"), ==,
			 timeline_find(timeline, "aten::conv2d", 0));
	g_assert_cmpuint(op_of_flow(timeline, "torn"), ==, TACHO_NONE);
	g_assert_cmpuint(count_orphans(timeline), ==, 1);
}

/* A framework's profiler ran in some steps only: before and behind its ops nothing is missing, but of devices. */
static void test_ops_of_some_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "kernel before 0..10\n"
							       "op MatMul 20..40\n"
							       "  kernel within 25..35\n"
							       "kernel between 45..50\n"
							       "op MatMul 60..80\n"
							       "kernel behind 90..95\n"
							       "stream 7\n"
							       "kernel device 96..99\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(count_orphans(timeline), ==, 2); /* between, device */
}

/* It ran twice: marks tell when. */
static void test_profiler_marks(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "kernel before 0..10\n"
							       "op MatMul 20..40\n"
							       "kernel paused 45..50\n"
							       "op MatMul 60..80\n"
							       "kernel missing 82..85\n"
							       "kernel behind 90..95\n");
	const struct {
		gint64 time_ns, begins;
	} marks[] = { { 15000000, 1 }, { 41000000, 0 }, { 55000000, 1 }, { 86000000, 0 } };

	for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
		TachoMark mark = { .time_ns = marks[i].time_ns, .second = marks[i].begins };

		mark.name = tacho_timeline_intern(timeline, "profiler", -1);
		g_array_append_val(timeline->marks, mark);
	}
	tacho_correlate(timeline);
	g_assert_cmpuint(count_orphans(timeline), ==, 1);
}

static void test_no_ops(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "kernel sgemm 0..5\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	g_assert_cmpuint(tacho_trust_score(timeline), ==, 100);
}

static void test_stream_overlap(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n"
				   "stream 7\n"
				   "annotation region 0..100\n"
				   "kernel a 0..10\nkernel b 10..20\nkernel c 15..30\n"
				   "kernel d 40..50\nkernel e 42..45\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->problems->len, ==, 1);
	g_assert_cmpint(g_array_index(timeline->problems, TachoProblem, 0).kind, ==,
			TACHO_PROBLEM_STREAM_OVERLAP);
	g_assert_cmpuint(g_array_index(timeline->problems, TachoProblem, 0).count, ==, 2);
}

/* The first problem of the kind, or NULL. */
static const TachoProblem *problem_of(const TachoTimeline *timeline, TachoProblemKind kind)
{
	for (guint i = 0; i < timeline->problems->len; i++)
		if (g_array_index(timeline->problems, TachoProblem, i).kind == kind)
			return &g_array_index(timeline->problems, TachoProblem, i);
	return NULL;
}

/* Work that begins with its call, or before it by what times were rounded to or clocks are known to, is not early. */
static void test_early(void)
{
	static const struct {
		gint64 resolution_ns;
		guint64 n;
		const gchar *where;
	} cases[] = {
		{ 0, 2,
		  "rank 0, process 1000: work begins up to 0.700 us before its launch call; the "
		  "first is K2 at 0.000002 s" },
		{ 101, 1,
		  "rank 0, process 1000: work begins up to 0.700 us before its launch call; the "
		  "first is K3 at 0.000002 s" },
		{ 699, 1,
		  "rank 0, process 1000: work begins up to 0.700 us before its launch call; the "
		  "first is K3 at 0.000002 s" },
		{ 700, 0, NULL },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TachoTimeline) timeline =
			timeline_from_text("unit ns\nrank 0 thread 1 main\n"
					   "runtime a 1000..1100\nruntime b 2000..2100\n"
					   "runtime c 3000..3100\nruntime d 4000..4100\n"
					   "stream 7\n"
					   "kernel K1 1000..1200 launch=a\n"
					   "kernel K2 1899..2200 launch=b\n"
					   "kernel K3 2300..3200 launch=c\n"
					   "kernel K4 3900..4200 launch=d\n"
					   "rank 1 thread 2 main\n"
					   "runtime e 1000..1100\n"
					   "stream 7\n"
					   "kernel K5 1000..1200 launch=e\n");
		const TachoProblem *problem;

		timeline->resolution_ns = cases[i].resolution_ns;
		tacho_correlate(timeline);
		problem = problem_of(timeline, TACHO_PROBLEM_EARLY_KERNEL);
		g_assert_cmpuint(problem ? problem->count : 0, ==, cases[i].n);
		g_assert_cmpstr(problem ? problem->where : NULL, ==, cases[i].where);
	}
}

/* A pool's kernel is of an operation that was open all the while, to the last moment; where nobody is known to have made it,
 * it is told which, once a process. */
static void test_open_all_the_while(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n"
				   "op aten::a 10..20\nop aten::b 30..40\nop aten::c 50..60\n"
				   "thread 3 pool\n"
				   "kernel whole 10..20\n"
				   "kernel before 29..35\n"
				   "kernel nowhere 45..46\n"
				   "kernel within 51..52\n"
				   "kernel behind 59..61\n"
				   "rank 1 thread 4 main\n"
				   "op aten::a 10..20\n"
				   "thread 5 pool\n"
				   "kernel other 15..25\n");
	const TachoProblem *problem;

	tacho_correlate(timeline);
	g_assert_cmpuint(op_of_flow(timeline, "whole"), ==, timeline_find(timeline, "aten::a", 0));
	g_assert_cmpuint(op_of_flow(timeline, "within"), ==, timeline_find(timeline, "aten::c", 0));
	g_assert_cmpuint(op_of_flow(timeline, "before"), ==, TACHO_NONE);
	g_assert_cmpuint(op_of_flow(timeline, "behind"), ==, TACHO_NONE);
	g_assert_cmpuint(count_orphans(timeline), ==, 4);
	problem = problem_of(timeline, TACHO_PROBLEM_ORPHAN_KERNEL);
	g_assert_cmpuint(problem->count, ==, 3);
	g_assert_cmpstr(problem->where, ==,
			"rank 0, process 1000: work of the device without a launch call; the first "
			"is before at 0.029000 s");
}

/* Of which operation a kernel is, an importer may have been told: then no other is looked for, and none is missing. */
static void test_told(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "op aten::conv2d 0..20\n"
							       "op aten::relu 70..80\n"
							       "thread 3 pool\n"
							       "kernel piece 5..15\n"
							       "kernel late 30..40\n"
							       "kernel later 50..60\n");
	TachoFlow told = { .from = timeline_find(timeline, "aten::conv2d", 0),
			   .to = timeline_find(timeline, "late", 0),
			   .kind = TACHO_FLOW_OP_KERNEL };
	TachoFlow other = { .from = timeline_find(timeline, "piece", 0),
			    .to = timeline_find(timeline, "later", 0),
			    .kind = TACHO_FLOW_DATA };

	g_array_append_val(timeline->flows, told);
	g_array_append_val(timeline->flows, other);
	tacho_correlate(timeline);
	g_assert_cmpuint(op_of_flow(timeline, "piece"), ==,
			 timeline_find(timeline, "aten::conv2d", 0));
	g_assert_cmpuint(op_of_flow(timeline, "late"), ==, told.from);
	g_assert_cmpuint(timeline->flows->len, ==, 3);
	g_assert_cmpuint(count_orphans(timeline), ==, 1); /* the last */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel_op/launched", test_launched);
	g_test_add_func("/kernel_op/parent", test_parent);
	g_test_add_func("/kernel_op/pool_with_parent", test_pool_with_parent);
	g_test_add_func("/kernel_op/pool_without_parent", test_pool_without_parent);
	g_test_add_func("/kernel_op/no_ops", test_no_ops);
	g_test_add_func("/kernel_op/ops_of_some_steps", test_ops_of_some_steps);
	g_test_add_func("/kernel_op/profiler_marks", test_profiler_marks);
	g_test_add_func("/kernel_op/stream_overlap", test_stream_overlap);
	g_test_add_func("/kernel_op/told", test_told);
	g_test_add_func("/kernel_op/early", test_early);
	g_test_add_func("/kernel_op/open_all_the_while", test_open_all_the_while);
	return g_test_run();
}
