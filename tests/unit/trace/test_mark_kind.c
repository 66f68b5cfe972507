/* mark_kind: marks that are tacho's own, by name, and marks of steps. */
#include "trace/mark_kind.h"

static void test_names(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	TachoMark mark = { 0 };

	g_assert_cmpint(mark_kind_of(timeline, &mark), ==, MARK_OTHER);
	mark.name = tacho_timeline_intern(timeline, "steps", -1);
	g_assert_cmpint(mark_kind_of(timeline, &mark), ==, MARK_OTHER);
	for (guint kind = MARK_OTHER + 1; kind < N_MARK_KINDS; kind++) {
		mark.name = tacho_timeline_intern(timeline, mark_kind_name(kind), -1);
		g_assert_cmpint(mark_kind_of(timeline, &mark), ==, kind);
	}
	/* what recorders write: docs/trace-format.md */
	mark.name = tacho_timeline_intern(timeline, "no_kernels", -1);
	g_assert_cmpint(mark_kind_of(timeline, &mark), ==, MARK_NO_KERNELS);
	mark.name = tacho_timeline_intern(timeline, "process_group", -1);
	g_assert_cmpint(mark_kind_of(timeline, &mark), ==, MARK_PROCESS_GROUP);
	g_assert_cmpstr(mark_kind_name(MARK_OTHER), ==, "");
	g_assert_cmpstr(mark_kind_name(N_MARK_KINDS), ==, "");
}

static void test_steps(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	TachoMark mark = { .first = 7 };

	mark_step(timeline, &mark, TRUE);
	g_assert_cmpint(mark_kind_of(timeline, &mark), ==, MARK_STEP);
	g_assert_true(mark_step_is_whole(timeline, &mark));
	g_assert_cmpint(mark.first, ==, 7);
	mark_step(timeline, &mark, FALSE);
	g_assert_cmpint(mark_kind_of(timeline, &mark), ==, MARK_STEP);
	g_assert_false(mark_step_is_whole(timeline, &mark));
	mark.text = tacho_timeline_intern(timeline, "step 7", -1); /* the user's own words */
	g_assert_false(mark_step_is_whole(timeline, &mark));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mark_kind/names", test_names);
	g_test_add_func("/mark_kind/steps", test_steps);
	return g_test_run();
}
