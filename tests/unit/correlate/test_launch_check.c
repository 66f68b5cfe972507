/* Calls of devices and their work: which of both was lost. */
#include <string.h>
#include <tacho/correlate.h>

#include "timeline_text.h"

#define HOST                                                                                       \
	"rank 0  thread 1 main\n"                                                                  \
	"op aten::mm 0..20\n"                                                                      \
	"  runtime cudaLaunchKernel 2..4\n"                                                        \
	"op aten::add 20..40\n"

/* Behind a kernel whose call is there, those of no call and of an op alone have lost theirs. */
static void test_missing_call(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated(HOST "stream 7\n"
				"kernel mm 30..40 launch=cudaLaunchKernel\n"
				"kernel add 40..50 launch=aten::add\n"
				"memcpy HtoD 50..60\n");

	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_MISSING_CALL), ==, 2);
	g_assert_cmpuint(tacho_trust_score(timeline), <, 90);
}

/* What was queued before the recording began comes first; another stream has an order of its own. */
static void test_before_recording(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated(HOST "stream 7\n"
				"kernel early 1..2 launch=aten::mm\n"
				"kernel mm 30..40 launch=cudaLaunchKernel\n"
				"stream 8\n"
				"kernel late 50..60 launch=aten::add\n");

	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_MISSING_CALL), ==, 0);
}

/* A trace without calls tells of kernels by their operations: nothing is lost. */
static void test_no_calls(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("rank 0  thread 1 main\n"
						       "op aten::mm 0..20\n"
						       "op aten::add 20..40\n"
						       "stream 7\n"
						       "kernel mm 30..40 launch=aten::mm\n"
						       "kernel add 40..50 launch=aten::add\n");

	g_assert_cmpuint(timeline->problems->len, ==, 0);
	g_assert_cmpuint(tacho_trust_score(timeline), ==, 100);
}

static guint64 count_missing_kernels(const gchar *text)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);

	return timeline_count_problems(timeline, TACHO_PROBLEM_MISSING_KERNEL);
}

#define BEFORE "rank 0 thread 1 main\n"
#define BEHIND                                                                                     \
	"runtime cudaLaunchKernelExC 20..24\n"                                                     \
	"stream 7\n"                                                                               \
	"kernel last 30..40 launch=cudaLaunchKernelExC\n"

/* A launch before others whose kernels are there has lost its own; the driver's call within the runtime's is the same
 * launch, whichever has the kernel. Within a capture nothing runs. The last of all may have run later. */
static void test_missing_kernel(void)
{
	g_assert_cmpuint(count_missing_kernels(BEFORE "runtime cudaLaunchKernel 2..4\n" BEHIND), ==,
			 1);
	g_assert_cmpuint(count_missing_kernels(BEFORE
					       "runtime cudaLaunchKernel 2..10\n"
					       "  runtime cuLaunchKernel 3..4\n" BEHIND
					       "kernel first 25..30 launch=cuLaunchKernel\n"),
			 ==, 0);
	g_assert_cmpuint(count_missing_kernels(BEFORE
					       "runtime cudaLaunchKernel 2..10\n"
					       "  runtime cuLaunchKernel 3..4\n" BEHIND
					       "kernel first 25..30 launch=cudaLaunchKernel\n"),
			 ==, 0);
	g_assert_cmpuint(count_missing_kernels(BEFORE "runtime cudaLaunchKernel 2..10\n"
						      "  runtime cuLaunchKernel 3..4\n" BEHIND),
			 ==, 1);
	g_assert_cmpuint(count_missing_kernels(BEFORE "runtime cudaStreamBeginCapture 1..2\n"
						      "runtime cudaLaunchKernel 2..4\n"
						      "runtime cudaStreamEndCapture 5..6\n" BEHIND),
			 ==, 0);
	g_assert_cmpuint(count_missing_kernels(BEFORE BEHIND), ==, 0);
}

/* What is told of a kind of problem, or NULL. */
static void check_problem(const gchar *text, TachoProblemKind kind, guint64 n, const gchar *where)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);
	const TachoProblem *problem = tacho_timeline_find_problem(timeline, kind);

	g_assert_cmpuint(timeline_count_problems(timeline, kind), ==, n);
	g_assert_cmpstr(problem ? problem->where : NULL, ==, where);
}

/* Several kernels of one launch: each such call counts once, and the first is named. */
static void test_doubled(void)
{
	check_problem(
		"rank 3 thread 1 main\n"
		"runtime cudaLaunchKernel/a 2..3\nruntime cudaLaunchKernel/b 4..5\n"
		"runtime cudaLaunchKernel/c 6..7\nruntime cudaMemcpyAsync 8..9\n"
		"stream 7\n"
		"kernel k 10..11 launch=cudaLaunchKernel/a\n"
		"kernel k 11..12 launch=cudaLaunchKernel/b\nkernel k 12..13 "
		"launch=cudaLaunchKernel/b\n"
		"kernel k 13..14 launch=cudaLaunchKernel/c\nkernel k 14..15 "
		"launch=cudaLaunchKernel/c\n"
		"kernel k 15..16 launch=cudaLaunchKernel/c\n"
		"memcpy m 16..17 launch=cudaMemcpyAsync\nmemcpy m 17..18 launch=cudaMemcpyAsync\n",
		TACHO_PROBLEM_DUPLICATE_ID, 2,
		"rank 3, process 1003: launches with several kernels, because the same id was used "
		"more "
		"than once; the match is a guess; the first is cudaLaunchKernel/b at 0.004000 s");
	/* a wait that a call asked for is not its kernel */
	check_problem("rank 0 thread 1 main\nruntime cudaLaunchKernel/a 2..3\n"
		      "stream 7\n"
		      "kernel k 10..11 launch=cudaLaunchKernel/a\nsync s 11..12 "
		      "launch=cudaLaunchKernel/a\n",
		      TACHO_PROBLEM_DUPLICATE_ID, 0, NULL);
}

#define LOST "rank 0, process 1000: launches without a kernel in the trace; the first is "

/* What counts is when the last launch of the process began whose kernel is there: one at that moment may have come later. */
static void test_last_launch(void)
{
	static const struct {
		guint at;
		guint64 n;
		const gchar *where;
	} cases[] = { { 19, 1, LOST "cudaLaunchKernel/a at 0.019000 s" },
		      { 20, 0, NULL },
		      { 21, 0, NULL } };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree gchar *text = g_strdup_printf(
			"rank 0 thread 1 main\n"
			"runtime cudaLaunchKernel/a %u..%u\nruntime cudaGraphLaunch 1..2\n"
			"thread 2\n"
			"runtime cudaLaunchKernel/d 5..6\nruntime cudaLaunchKernel/b 20..21\n"
			"stream 7\n"
			"kernel k 30..31 launch=cudaLaunchKernel/b\n"
			"kernel k 31..32 launch=cudaLaunchKernel/d\n"
			"rank 1 thread 3 main\nruntime cudaLaunchKernel/c 90..91\n"
			"stream 7\nkernel k 92..93 launch=cudaLaunchKernel/c\n",
			cases[i].at, cases[i].at + 1);

		check_problem(text, TACHO_PROBLEM_MISSING_KERNEL, cases[i].n, cases[i].where);
	}
}

/* The driver's call is looked for among the first 64 within the runtime's. */
static void test_inner_calls(void)
{
	for (guint n = 63; n <= 64; n++) {
		g_autoptr(GString) text = g_string_new("unit us\nrank 0 thread 1 main\n"
						       "runtime cudaLaunchKernel 0..1000\n");

		for (guint i = 0; i < n; i++)
			g_string_append_printf(text, "  runtime cuOther %u..%u\n", 2 * i,
					       2 * i + 1);
		g_string_append(text, "  runtime cuLaunchKernel 900..901\n"
				      "runtime cudaLaunchKernel/last 1001..1002\n"
				      "stream 7\n"
				      "kernel k 1100..1101 launch=cuLaunchKernel\n"
				      "kernel k 1102..1103 launch=cudaLaunchKernel/last\n");
		check_problem(text->str, TACHO_PROBLEM_MISSING_KERNEL, n > 63,
			      n > 63 ? LOST "cudaLaunchKernel at 0.000000 s" : NULL);
	}
	/* what begins with the call's end is not within it */
	check_problem("rank 0 thread 1 main\nruntime cudaLaunchKernel 0..10\n"
		      "runtime cuLaunchKernel 10..11\nruntime cudaLaunchKernel/last 20..21\n"
		      "stream 7\nkernel k 30..31 launch=cuLaunchKernel\n"
		      "kernel k 32..33 launch=cudaLaunchKernel/last\n",
		      TACHO_PROBLEM_MISSING_KERNEL, 1, LOST "cudaLaunchKernel at 0.000000 s");
}

/* A capture is its thread's, and ends. */
static void test_captures(void)
{
	check_problem(BEFORE
		      "runtime cudaLaunchKernel/a 1..2\nruntime cudaStreamBeginCapture 2..3\n"
		      "runtime cudaLaunchKernel/b 4..5\nruntime cudaStreamEndCapture 6..7\n"
		      "runtime cudaLaunchKernel/c 8..9\n" BEHIND
		      "thread 2\nruntime cudaLaunchKernel/d 4..5\n",
		      TACHO_PROBLEM_MISSING_KERNEL, 3, LOST "cudaLaunchKernel/a at 0.001000 s");
}

/* Of a device's work, all sorts count, and regions around it do not. */
static void test_sorts(void)
{
	check_problem(HOST "stream 7\n"
			   "kernel mm 30..40 launch=cudaLaunchKernel\n"
			   "annotation region 40..80\n"
			   "kernel a 40..41\nmemcpy b 41..42\nmemset c 42..43\n"
			   "collective nccl:all_reduce 43..44\nsync d 44..45\n",
		      TACHO_PROBLEM_MISSING_CALL, 4,
		      "rank 0, process 1000: work of a device whose call is not in the trace, "
		      "behind work whose "
		      "call is; the first is a at 0.040000 s");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/launch_check/missing_call", test_missing_call);
	g_test_add_func("/launch_check/before_recording", test_before_recording);
	g_test_add_func("/launch_check/no_calls", test_no_calls);
	g_test_add_func("/launch_check/missing_kernel", test_missing_kernel);
	g_test_add_func("/launch_check/doubled", test_doubled);
	g_test_add_func("/launch_check/last_launch", test_last_launch);
	g_test_add_func("/launch_check/inner_calls", test_inner_calls);
	g_test_add_func("/launch_check/captures", test_captures);
	g_test_add_func("/launch_check/sorts", test_sorts);
	return g_test_run();
}
