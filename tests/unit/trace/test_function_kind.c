/* function_kind: functions of the program and of others. */
#include "trace/function_kind.h"
#include "timeline_text.h"

static void test_own(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n"
				   "  function 'train.py(12): main' 0..10\n"
				   "    function 'torch/optim/sgd.py(30): step' 1..5\n"
				   "    function '<built-in method run>' 6..7\n"
				   "    op 'other.py(1): f' 8..9\n");

	g_assert_true(function_is_own(timeline, timeline_find(timeline, "train.py(12): main", 0)));
	g_assert_false(function_is_own(timeline,
				       timeline_find(timeline, "torch/optim/sgd.py(30): step", 0)));
	g_assert_false(
		function_is_own(timeline, timeline_find(timeline, "<built-in method run>", 0)));
	g_assert_false(function_is_own(timeline, timeline_find(timeline, "other.py(1): f", 0)));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/function_kind/own", test_own);
	return g_test_run();
}
