/* Steps that were cut: what should be in them is behind them. */
#include <string.h>
#include <tacho/correlate.h>

#include "timeline_text.h"

/* A lone step that was cut has its work behind it, or most of it. */
static void test_lone_step(void)
{
	g_autoptr(TachoTimeline) empty = correlated("rank 0  thread 1 main\n"
						    "annotation ProfilerStep#3 0..1\n"
						    "op aten::mm 2..20\n"
						    "op aten::add 20..40\n");
	g_autoptr(TachoTimeline) nearly = correlated("rank 0  thread 1 main\n"
						     "annotation ProfilerStep#3 0..3\n"
						     "op aten::mm 2..20\n"
						     "op aten::add 20..40\n"
						     "op aten::sub 40..50\n");

	g_assert_cmpuint(timeline_count_problems(empty, TACHO_PROBLEM_CUT_STEP), ==, 2);
	g_assert_cmpuint(tacho_trust_score(empty), <, 90);
	g_assert_cmpuint(timeline_count_problems(nearly, TACHO_PROBLEM_CUT_STEP), ==, 2);
}

/* The profiler was stepped once more after the work: the step with nothing in it is none, and nothing was cut. */
static void test_stepped_after(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("rank 0  thread 1 main\n"
						       "op aten::mm 2..20\n"
						       "op aten::add 20..40\n"
						       "annotation ProfilerStep#3 41..42\n");

	g_assert_cmpuint(timeline->steps->len, ==, 0);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_CUT_STEP), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cut_step/lone_step", test_lone_step);
	g_test_add_func("/cut_step/stepped_after", test_stepped_after);
	return g_test_run();
}
