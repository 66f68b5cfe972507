#include <tacho/analyze.h>

#include <math.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Times in us. On stream 7: a 100..200, 20 after it b (launched long before), 60 after that c (launched
 * long before), 100 after that d (launched 50 after c had ended), 10 after that e (no launch). */
static const gchar one_stream[] = "unit us\n"
				  "rank 0 thread 1 main\n"
				  "  runtime launch_a 0..10\n"
				  "  runtime launch_b 20..30\n"
				  "  runtime launch_c 40..50\n"
				  "  runtime launch_d 430..440\n"
				  "  stream 7\n"
				  "  kernel a 100..200 launch=launch_a\n"
				  "  kernel b 220..260 launch=launch_b\n"
				  "  memcpy c 320..380 launch=launch_c\n"
				  "  kernel d 480..500 launch=launch_d\n"
				  "  memset e 510..600\n";

static void test_reasons(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_stream);
	g_autoptr(TachoTable) table = tacho_view_idle(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1); /* one stream: no row of the device */
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "device"), ==, "gpu 0");
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "stream"), ==, "stream 7");
	EXPECT(table, 0, "count", 5);
	EXPECT(table, 0, "gaps", 4);
	EXPECT(table, 0, "busy_ms", 310e-3);
	EXPECT(table, 0, "idle_ms", 190e-3);
	EXPECT(table, 0, "idle_pct", 38);
	EXPECT(table, 0, "kernel_wait_ms", 20e-3);
	EXPECT(table, 0, "other_ms", 60e-3);
	EXPECT(table, 0, "host_wait_ms", 100e-3);
	EXPECT(table, 0, "unknown_ms", 10e-3);
	EXPECT(table, 0, "longest_us", 100);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "longest_before"), ==, "d");
	g_assert_cmpstr(
		tacho_table_borrow_note(table, 0), ==,
		"For 53 % of the streams' waiting time the host had not launched the next work.");
}

/* 29 us between two kernels are what changing them costs, 30 are not; a launch at the very end of the
 * work before was in time. */
static void test_limits(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("unit us\n"
				   "rank 0 thread 1 main\n"
				   "  runtime first 0..5\n"
				   "  runtime second 200..201\n"
				   "  stream 7\n"
				   "  kernel a 50..100 launch=first\n"
				   "  kernel b 129..200 launch=first\n"
				   "  kernel c 230..300 launch=second\n");
	g_autoptr(TachoTable) table = tacho_view_idle(timeline, NULL);

	EXPECT(table, 0, "kernel_wait_ms", 29e-3);
	EXPECT(table, 0, "other_ms", 30e-3);
	EXPECT(table, 0, "host_wait_ms", 0);
	g_clear_pointer(&table, tacho_table_free);
	timeline->resolution_ns = 30000; /* times were rounded to it */
	table = tacho_view_idle(timeline, NULL);
	EXPECT(table, 0, "kernel_wait_ms", 59e-3);
	EXPECT(table, 0, "other_ms", 0);
}

/* The device waits only while none of its streams works; work on one stream that overlaps is no gap. */
static void test_streams_of_a_device(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 3 thread 1 main\n"
							       "  runtime late 65..66\n"
							       "  stream 7 compute\n"
							       "  kernel a 0..40\n"
							       "  kernel b 20..30\n"
							       "  kernel c 70..80 launch=late\n"
							       "  stream 8\n"
							       "  memcpy d 30..60\n"
							       "  stream 7 device=1\n"
							       "  kernel e 0..10\n");
	g_autoptr(TachoTable) table = tacho_view_idle(timeline, NULL);
	TachoFilter filter = { .rank = -1,
			       .first_step = -1,
			       .last_step = -1,
			       .device = g_regex_new("gpu 0 comp", 0, 0, NULL) };

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 4);
	EXPECT(table, 0, "rank", 3);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "stream"), ==, "compute");
	EXPECT(table, 0, "idle_ms", 30); /* 40..70 */
	EXPECT(table, 0, "busy_ms", 50);
	EXPECT(table, 1, "idle_ms", 0);
	g_assert_null(tacho_table_cell_text(table, 1, "longest_before"));
	g_assert_null(tacho_table_cell_text(table, 2, "stream"));
	EXPECT(table, 2, "count", 4);
	EXPECT(table, 2, "busy_ms", 70);
	EXPECT(table, 2, "host_wait_ms", 10); /* 60..70 */
	g_assert_cmpstr(tacho_table_cell_text(table, 3, "device"), ==, "gpu 1");
	g_clear_pointer(&table, tacho_table_free);
	table = tacho_view_idle(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_regex_unref(filter.device);
}

/* The part of a gap that is in the chosen steps counts; work counts in the step that it begins in. */
static void test_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  runtime late 95..96\n"
							       "  stream 7\n"
							       "  kernel a 0..80\n"
							       "  kernel b 150..220 launch=late\n"
							       "  kernel a 260..300\n");
	TachoFilter filter = { .rank = -1, .first_step = 3, .last_step = 3 };
	g_autoptr(TachoTable) table = NULL;

	for (guint i = 0; i < 4; i++)
		add_step(timeline, 0, i, i * 100, (i + 1) * 100);
	table = tacho_view_idle(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"No work of a device (GPU) begins in the chosen ranks and steps.");
	g_clear_pointer(&table, tacho_table_free);
	filter.first_step = filter.last_step = 1;
	table = tacho_view_idle(timeline, &filter);
	EXPECT(table, 0, "count", 1);
	EXPECT(table, 0, "busy_ms", 70);
	EXPECT(table, 0, "host_wait_ms", 50); /* 100..150 of 80..150 */
	EXPECT(table, 0, "unknown_ms", 0);    /* 220..260 is of step 2 */
	g_clear_pointer(&table, tacho_table_free);
	filter.first_step = 0;
	filter.last_step = 2;
	filter.name = g_regex_new("^a$", 0, 0, NULL);
	table = tacho_view_idle(timeline, &filter);
	EXPECT(table, 0, "count", 2);
	EXPECT(table, 0, "busy_ms", 120);
	EXPECT(table, 0, "idle_ms", 40); /* before the second a */
	g_regex_unref(filter.name);
}

static void test_no_device(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::mm 0..10\n"
							       "    kernel sgemm 1..9\n");
	g_autoptr(TachoTable) table = tacho_view_idle(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(
		tacho_table_borrow_note(table, 0), ==,
		"No work of a device (GPU) was recorded; this view shows the streams of devices.");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/idle_view/reasons", test_reasons);
	g_test_add_func("/idle_view/limits", test_limits);
	g_test_add_func("/idle_view/streams_of_a_device", test_streams_of_a_device);
	g_test_add_func("/idle_view/steps", test_steps);
	g_test_add_func("/idle_view/no_device", test_no_device);
	return g_test_run();
}
