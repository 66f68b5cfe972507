#include "trace/rank_table.h"

static void add_process(TachoTimeline *timeline, guint32 pid, guint32 ppid)
{
	TachoProcess process = { .pid = pid, .ppid = ppid, .rank = -1 };

	process.host = tacho_timeline_intern(timeline, "h0", -1);
	g_array_append_val(timeline->processes, process);
}

static guint32 main_pid(const TachoTimeline *timeline)
{
	const TachoRank *rank = &g_array_index(timeline->ranks, TachoRank, 0);

	g_assert_cmpuint(timeline->ranks->len, ==, 1);
	return g_array_index(timeline->processes, TachoProcess, rank->main_process).pid;
}

/* Who was forked is not the main process, however much it does. */
static void test_child(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	const struct rank_candidate candidates[] = { { 0, 100 }, { 0, 1 } };

	add_process(timeline, 8, 7);
	add_process(timeline, 7, 1);
	rank_table_fill(timeline, candidates, 0);
	g_assert_cmpuint(main_pid(timeline), ==, 7);
}

/* Foreign traces tell no parents, and may have a process 0: it is nobody's parent. */
static void test_no_parents(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	const struct rank_candidate candidates[] = { { 0, 1 }, { 0, 100 } };

	add_process(timeline, 0, 0);
	add_process(timeline, 950, 0);
	rank_table_fill(timeline, candidates, 0);
	g_assert_cmpuint(main_pid(timeline), ==, 950);
}

/* A launcher in Python that imports PyTorch is not the process that trains. */
static void test_idle_parent(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	const struct rank_candidate candidates[] = { { 0, 0 }, { 0, 100 } };

	add_process(timeline, 7, 1);
	add_process(timeline, 8, 7);
	rank_table_fill(timeline, candidates, 0);
	g_assert_cmpuint(main_pid(timeline), ==, 8);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rank_table/child", test_child);
	g_test_add_func("/rank_table/no_parents", test_no_parents);
	g_test_add_func("/rank_table/idle_parent", test_idle_parent);
	return g_test_run();
}
