#include <tacho/analyze.h>

#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Times in us. The first of a began while its call still ran, and the second was shorter than its call.
 * The third call launched three pieces, so it took 10 for each. Nobody knows who launched d. */
static const gchar launches[] = "unit us\n"
				"rank 0 thread 1 main\n"
				"  runtime first 0..10\n"
				"  runtime second 20..30\n"
				"  runtime graph 40..70\n"
				"  stream 7\n"
				"  kernel a 5..25 launch=first\n"
				"  kernel a 50..56 launch=second\n"
				"  kernel b 80..90 launch=graph\n"
				"  kernel b 90..95 launch=graph\n"
				"  stream 8\n"
				"  memcpy c 100..101 launch=graph\n"
				"  kernel d 200..201\n";

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(launches);
	g_autoptr(TachoTable) table = tacho_view_launch(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, "a");
	EXPECT(table, 0, "count", 2);
	EXPECT(table, 0, "total_ms", 26e-3);
	EXPECT(table, 0, "mean_us", 13);
	EXPECT(table, 0, "call_mean_us", 10);
	EXPECT(table, 0, "delay_mean_us", 10);
	EXPECT(table, 0, "delay_median_us", 10);
	EXPECT(table, 0, "delay_p99_us", 19.8);
	EXPECT(table, 0, "delay_max_us", 20);
	EXPECT(table, 0, "short", 1);
	EXPECT(table, 0, "short_pct", 50);
	g_assert_cmpstr(tacho_table_cell_text(table, 1, "name"), ==, "b");
	EXPECT(table, 1, "call_mean_us", 10);
	EXPECT(table, 1, "delay_mean_us", 15);
	EXPECT(table, 1, "short", 1); /* what takes as long as its call is not short */
	EXPECT(table, 2, "delay_mean_us", 30);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"60 % of the work took less time than the call that launched it.");
	g_assert_cmpstr(tacho_table_borrow_note(table, 1), ==,
			"The launch of 1 pieces of work was not recorded, so they are not shown.");
}

/* Times in us. The host took 10 to get from the first call to the second, and 5 from the wait to the third, which launched
 * two pieces. A wait that began while the work ran counts from the work's end; what ends behind the last wait is seen by
 * nobody. What another thread waits for is its own affair. */
static void test_before_and_after(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("unit us\n"
				   "rank 0 thread 1 main\n"
				   "  runtime first 0..4\n"
				   "  runtime cudaEventRecord 6..7\n"
				   "  runtime second 14..16\n"
				   "  runtime cudaStreamSynchronize 20..60\n"
				   "  runtime graph 65..71\n"
				   "  thread 2 other\n"
				   "  runtime cudaStreamSynchronize 52..90\n"
				   "  stream 7\n"
				   "  kernel a 10..30 launch=first\n"
				   "  kernel b 30..50 launch=second\n"
				   "  kernel b 75..80 launch=graph\n"
				   "  kernel c 80..81 launch=graph\n");
	g_autoptr(TachoTable) table = tacho_view_launch(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, "b");
	EXPECT(table, 0, "before_mean_us", 6.25); /* 10, and half of 5 */
	EXPECT(table, 0, "call_mean_us", 2.5);
	EXPECT(table, 0, "delay_mean_us", 9);
	EXPECT(table, 0, "mean_us", 12.5);
	EXPECT(table, 0, "seen_mean_us", 10);
	g_assert_cmpstr(tacho_table_cell_text(table, 1, "name"), ==, "a");
	g_assert_null(tacho_table_cell_text(table, 1, "before_mean_us"));
	EXPECT(table, 1, "seen_mean_us", 30);
	g_assert_cmpstr(tacho_table_cell_text(table, 2, "name"), ==, "c");
	EXPECT(table, 2, "before_mean_us", 2.5);
	g_assert_null(tacho_table_cell_text(table, 2, "seen_mean_us"));
}

/* A call's share does not hang on what of its work is shown. */
static void test_filters(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(launches);
	TachoFilter filter = { .rank = -1,
			       .first_step = -1,
			       .last_step = -1,
			       .device = g_regex_new("stream 8", 0, 0, NULL) };
	g_autoptr(TachoTable) table = tacho_view_launch(timeline, &filter);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	EXPECT(table, 0, "call_mean_us", 10);
	g_clear_pointer(&table, tacho_table_free);
	filter.name = g_regex_new("^x", 0, 0, NULL);
	table = tacho_view_launch(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"No kernels, copies or fills in the chosen ranks and steps match '^x'.");
	g_regex_unref(filter.name);
	g_regex_unref(filter.device);
}

/* Work belongs to the step in which it begins, wherever it was launched. */
static void test_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  runtime early 1..2\n"
							       "  stream 7\n"
							       "  kernel a 5..6 launch=early\n"
							       "  kernel a 12..13 launch=early\n");
	TachoFilter filter = { .rank = -1, .first_step = 1, .last_step = 1 };
	g_autoptr(TachoTable) table = NULL;

	add_step(timeline, 0, 0, 0, 10);
	add_step(timeline, 0, 1, 10, 20);
	table = tacho_view_launch(timeline, &filter);
	EXPECT(table, 0, "count", 1);
	EXPECT(table, 0, "delay_mean_us", 10000);
	EXPECT(table, 0, "call_mean_us", 500);
}

static void test_no_device(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::mm 0..10\n");
	g_autoptr(TachoTable) table = tacho_view_launch(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(table, 0), "No work of a device"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/launch_view/by_hand", test_by_hand);
	g_test_add_func("/launch_view/before_and_after", test_before_and_after);
	g_test_add_func("/launch_view/filters", test_filters);
	g_test_add_func("/launch_view/steps", test_steps);
	g_test_add_func("/launch_view/no_device", test_no_device);
	return g_test_run();
}
