#include "trace/partial_ranks.h"
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

/* tacho record --ranks: of ranks 1, 2 and 4 there are steps and collectives alone. */
static void test_partial(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	const struct rank_candidate candidates[] = {
		{ 0, 5 }, { 0, 5 }, { 0, 5 }, { 0, 5 }, { 0, 5 }
	};
	const TachoProblem *problem;

	for (guint i = 0; i < 5; i++) {
		TachoProcess *process;

		add_process(timeline, 10 + i, 1);
		process = &g_array_index(timeline->processes, TachoProcess, i);
		process->rank = (gint32)i;
		process->is_partial = i == 1 || i == 2 || i == 4;
	}
	for (guint again = 0; again < 2; again++) {
		if (again)
			rank_table_refill(timeline, candidates);
		else
			rank_table_fill(timeline, candidates, 0);
		problem = tacho_timeline_find_problem(timeline, TACHO_PROBLEM_PARTIAL_RANK);
		g_assert_nonnull(problem);
		g_assert_cmpuint(problem->count, ==, 3);
		g_assert_true(g_str_has_prefix(problem->where, "Of rank 1 to 2, 4 only steps"));
		g_assert_cmpuint(timeline->problems->len, ==, 1);
	}
	g_assert_false(rank_is_partial(timeline, 0));
	g_assert_true(rank_is_partial(timeline, 4));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rank_table/child", test_child);
	g_test_add_func("/rank_table/no_parents", test_no_parents);
	g_test_add_func("/rank_table/idle_parent", test_idle_parent);
	g_test_add_func("/rank_table/partial", test_partial);
	return g_test_run();
}
