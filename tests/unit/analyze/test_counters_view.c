#include <tacho/analyze.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

static const gchar one_rank[] = "rank 0 thread 999 helper\n"
				"  op aten::other 0..100\n"
				"  thread 1000 main\n"
				"  module Block 0..50\n"
				"    op aten::mm 10..30\n"
				"      kernel sgemm 15..25\n"
				"  sample queue 0 5\n"
				"  sample queue 20 9\n"
				"  sample queue 40 1\n"
				"  sample queue 60 3\n"
				"  sample alone 70 -4\n";

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_rank);
	g_autoptr(TachoTable) table = tacho_view_counters(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, "queue");
	EXPECT(table, 0, "samples", 4);
	EXPECT(table, 0, "min", 1);
	EXPECT(table, 0, "mean", (5 * 20 + 9 * 20 + 1 * 20) / 60.0);
	EXPECT(table, 0, "max", 9);
	EXPECT(table, 0, "max_at_ms", 20);
	EXPECT(table, 0, "first", 5);
	EXPECT(table, 0, "last", 3);
	EXPECT(table, 0, "pid", 1000);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "max_in"), ==, "aten::mm");
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "max_stack"), ==,
			"Block > aten::mm > sgemm");
	EXPECT(table, 1, "mean", -4); /* held for no time */
	g_assert_null(tacho_table_cell_text(table, 1, "max_in"));
}

/* What a sample holds into a step counts there, though it was taken before. */
static void test_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_rank);
	TachoFilter filter = {
		.rank = 0, .first_step = 1, .last_step = 1, .name = g_regex_new("^q", 0, 0, NULL)
	};
	g_autoptr(TachoTable) table = NULL;

	add_step(timeline, 0, 0, 0, 30);
	add_step(timeline, 0, 1, 30, 45);
	add_step(timeline, 0, 2, 45, 90);
	table = tacho_view_counters(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	EXPECT(table, 0, "samples", 1);
	EXPECT(table, 0, "first", 9);
	EXPECT(table, 0, "max", 9);
	EXPECT(table, 0, "mean", (9 * 10 + 1 * 5) / 15.0);
	g_regex_unref(filter.name);
}

/* Rates and shares are not rounded, whatever their size. */
static void test_fractions(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1000 main\n"
							       "  op aten::mm 0..100\n"
							       "  sample share 0 0.25\n"
							       "  sample share 50 0.000333333333\n"
							       "  sample share 100 -1e300\n");
	g_autoptr(TachoTable) table = tacho_view_counters(timeline, NULL);

	EXPECT(table, 0, "first", 0.25);
	EXPECT(table, 0, "max", 0.25);
	EXPECT(table, 0, "mean", (0.25 + 0.000333333333) / 2);
	g_assert_cmpfloat(tacho_table_cell_number(table, 0, "min"), ==, -1e300);
}

static void test_nothing(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::mm 0..10\n");
	g_autoptr(TachoTable) table = tacho_view_counters(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==, "No counters were recorded.");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/counters_view/by_hand", test_by_hand);
	g_test_add_func("/counters_view/steps", test_steps);
	g_test_add_func("/counters_view/fractions", test_fractions);
	g_test_add_func("/counters_view/nothing", test_nothing);
	return g_test_run();
}
