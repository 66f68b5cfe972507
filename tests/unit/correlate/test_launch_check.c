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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/launch_check/missing_call", test_missing_call);
	g_test_add_func("/launch_check/before_recording", test_before_recording);
	g_test_add_func("/launch_check/no_calls", test_no_calls);
	g_test_add_func("/launch_check/missing_kernel", test_missing_kernel);
	return g_test_run();
}
