/* Counters of kernels, joined to what launched them, by hand. */
#include <tacho/analyze.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Two kernels of one name, launched by two operations; three kernels have waves, of two instances in the second. The depth of a
 * queue is sampled whenever it changes: at the begin of a kernel by the way. Nobody knows whose the value at 60 is. */
static const gchar text[] = "rank 0 thread 1000 main\n"
			    "  module Block 0..50\n"
			    "  op aten::mm 0..9\n"
			    "  runtime first 1..2\n"
			    "  op aten::add 12..18\n"
			    "  runtime second 13..14\n"
			    "  runtime third 16..17\n"
			    "  stream 7\n"
			    "  kernel gemm 10..20 launch=first\n"
			    "  kernel gemm 20..25 launch=second\n"
			    "  kernel add 30..31 launch=third\n"
			    "  kernel left 60..61\n"
			    "  stream 8\n"
			    "  kernel right 60..62\n"
			    "  sample waves 10 100\n"
			    "  sample waves 20 30\n"
			    "  sample waves 20 40\n"
			    "  sample waves 30 8\n"
			    "  sample waves 60 5\n"
			    "  sample hits 30 0.5\n"
			    "  sample depth 5 1\n"
			    "  sample depth 10 0\n"
			    "  sample depth 15 1\n"
			    "  sample depth 20 0\n";

static void expect_row(const TachoTable *table, guint row, const gchar *name, const gchar *op,
		       const gchar *counter)
{
	g_assert_cmpstr(tacho_table_cell_text(table, row, "name"), ==, name);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "op"), ==, op);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "counter"), ==, counter);
}

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoTable) table = tacho_view_kernel_counters(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 4);
	expect_row(table, 0, "gemm", "aten::mm", "waves");
	EXPECT(table, 0, "count", 1);
	EXPECT(table, 0, "total", 100);
	EXPECT(table, 0, "kernel_total_ms", 10);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "stack"), ==, "Block > aten::mm > first");
	expect_row(table, 1, "gemm", "aten::add", "waves");
	EXPECT(table, 1, "count", 1);
	EXPECT(table, 1, "total", 70);
	EXPECT(table, 1, "max", 70);
	expect_row(table, 2, "add", "aten::add", "waves");
	EXPECT(table, 2, "mean", 8);
	expect_row(table, 3, "add", "aten::add", "hits");
	EXPECT(table, 3, "total", 0.5);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"1 values are left out: several kernels of their process began then.");
}

/* A kernel counts in the step in which it begins. */
static void test_filters(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	TachoFilter filter = { .rank = -1, .first_step = 1, .last_step = 1 };
	g_autoptr(GRegex) add = g_regex_new("^add", 0, 0, NULL);
	g_autoptr(GRegex) other = g_regex_new("stream 9", 0, 0, NULL);
	g_autoptr(TachoTable) of_step = NULL;
	g_autoptr(TachoTable) by_name = NULL;
	g_autoptr(TachoTable) by_device = NULL;

	add_step(timeline, 0, 0, 0, 20);
	add_step(timeline, 0, 1, 20, 40);
	of_step = tacho_view_kernel_counters(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(of_step), ==, 3);
	expect_row(of_step, 0, "gemm", "aten::add", "waves");
	filter.name = add;
	by_name = tacho_view_kernel_counters(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(by_name), ==, 2);
	filter.name = NULL;
	filter.device = other;
	by_device = tacho_view_kernel_counters(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(by_device), ==, 0);
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(by_device, 0),
				       "No counters of kernels on a stream that matches"));
}

static void test_nothing(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::mm 0..10\n"
							       "  sample depth 0 1\n");
	g_autoptr(TachoTable) table = tacho_view_kernel_counters(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"No counters of kernels were recorded.");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel_counters_view/by_hand", test_by_hand);
	g_test_add_func("/kernel_counters_view/filters", test_filters);
	g_test_add_func("/kernel_counters_view/nothing", test_nothing);
	return g_test_run();
}
