#include <tacho/analyze.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Queued: 1 from 0, 2 from 2, 1 from 10, 0 from 20, 1 from 25, 0 from 40 on. */
static const gchar one_stream[] = "rank 0 thread 1 main\n"
				  "  runtime first 0..1\n"
				  "  runtime second 2..3\n"
				  "  runtime third 25..26\n"
				  "  stream 7\n"
				  "  kernel a 10..20 launch=first\n"
				  "  memcpy b 20..30 launch=second\n"
				  "  kernel c 40..50 launch=third\n";

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_stream);
	g_autoptr(TachoTable) table = tacho_view_queue(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "device"), ==, "gpu 0");
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "stream"), ==, "stream 7");
	EXPECT(table, 0, "count", 3);
	EXPECT(table, 0, "mean_depth", (2 + 2 * 8 + 10 + 15) / 50.0);
	EXPECT(table, 0, "max_depth", 2);
	EXPECT(table, 0, "max_at_ms", 2);
	EXPECT(table, 0, "wait_mean_us", (10 + 18 + 15) / 3.0 * 1e3);
	EXPECT(table, 0, "empty_pct", 100.0 * (5 + 10) / 50);
	EXPECT(table, 0, "full_pct", 0);
}

static void test_filters(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_stream);
	TachoFilter filter = { .rank = -1, .first_step = 1, .last_step = 1 };
	g_autoptr(TachoTable) table = NULL;

	add_step(timeline, 0, 0, 0, 5);
	add_step(timeline, 0, 1, 5, 22);
	add_step(timeline, 0, 2, 22, 60);
	table = tacho_view_queue(timeline, &filter);
	EXPECT(table, 0, "count", 2);
	EXPECT(table, 0, "mean_depth", (2 * 5 + 10) / 17.0);
	EXPECT(table, 0, "wait_mean_us", 14e3);
	EXPECT(table, 0, "empty_pct", 100.0 * 2 / 17);
	g_clear_pointer(&table, tacho_table_free);
	filter.name = g_regex_new("b", 0, 0, NULL);
	table = tacho_view_queue(timeline, &filter);
	EXPECT(table, 0, "count", 1);
	EXPECT(table, 0, "max_depth", 1);
	EXPECT(table, 0, "mean_depth", 15 / 17.0);
	g_regex_unref(filter.name);
}

/* A thousand and twenty-two pieces are what a stream takes. */
static void test_full(void)
{
	g_autoptr(GString) text = g_string_new("unit ns\n"
					       "rank 0 thread 1 main\n"
					       "  runtime graph 0..1\n"
					       "  stream 7\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoTable) table = NULL;

	for (guint i = 0; i < 1022; i++)
		g_string_append_printf(text, "  kernel k %u..%u launch=graph\n", 100 + i, 101 + i);
	timeline = timeline_from_text(text->str);
	table = tacho_view_queue(timeline, NULL);
	EXPECT(table, 0, "max_depth", 1022);
	EXPECT(table, 0, "full_pct", 100.0 * 100 / 1122);
}

static void test_nothing(void)
{
	g_autoptr(TachoTimeline) host = timeline_from_text("rank 0 thread 1 main\n"
							   "  op aten::mm 0..10\n");
	g_autoptr(TachoTimeline) orphans = timeline_from_text("rank 0 thread 1 main\n"
							      "  stream 7\n"
							      "  kernel a 0..10\n");
	g_autoptr(TachoTable) of_host = tacho_view_queue(host, NULL);
	g_autoptr(TachoTable) of_orphans = tacho_view_queue(orphans, NULL);

	g_assert_cmpuint(tacho_table_n_rows(of_host), ==, 0);
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(of_host, 0), "No work of a device"));
	g_assert_cmpuint(tacho_table_n_rows(of_orphans), ==, 0);
	g_assert_cmpstr(
		tacho_table_borrow_note(of_orphans, 0), ==,
		"The launch of 1 pieces of work was not recorded, so they are in no queue.");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/queue_view/by_hand", test_by_hand);
	g_test_add_func("/queue_view/filters", test_filters);
	g_test_add_func("/queue_view/full", test_full);
	g_test_add_func("/queue_view/nothing", test_nothing);
	return g_test_run();
}
