#include <tacho/analyze.h>

#include <math.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/*        0   10   20   30   40   50   60   70   80   90   100
 * rank 0 |     compute      |         |  compute  |
 *            queued 20  | transfer 50..80 |
 * rank 1 |         compute       |
 *                                queued 50, transfer 50..80 */
static const gchar two_ranks[] = "rank 0 thread 10 main\n"
				 "  op aten::forward 0..40\n"
				 "  op aten::other 60..90\n"
				 "  collective sum 20..80 bytes=4096\n"
				 "rank 1 thread 20 main\n"
				 "  op aten::forward 0..45\n"
				 "  collective sum 50..80 bytes=4096\n";

static void test_host(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	g_autoptr(TachoTable) table = NULL;

	add_step(timeline, 0, 0, 0, 100);
	add_step(timeline, 1, 0, 0, 100);
	add_collective(timeline, "sum", 4096);
	table = tacho_view_overlap(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "where"), ==, "host");
	EXPECT(table, 0, "steps", 1);
	EXPECT(table, 0, "duration_ms", 100);
	EXPECT(table, 0, "compute_ms", 70);
	EXPECT(table, 0, "communication_ms", 30); /* 50..80 */
	EXPECT(table, 0, "hidden_ms", 20);	  /* 60..80 */
	EXPECT(table, 0, "exposed_ms", 10);
	EXPECT(table, 0, "overlap_pct", 200.0 / 3);
	EXPECT(table, 0, "exposed_pct", 10);
	EXPECT(table, 0, "overlap_with_wait_pct", 100.0 * 40 / 60); /* 20..40, 60..80 of 20..80 */
	EXPECT(table, 1, "communication_ms", 30);
	EXPECT(table, 1, "hidden_ms", 0);
	EXPECT(table, 1, "exposed_pct", 30);
	EXPECT(table, 1, "overlap_with_wait_pct", 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"33 % of the communication is hidden. If all of it were hidden, a step "
			"would be at best 20.00 ms (20.0 %) shorter.");
}

/* The step view tells the same of the same run. */
static void test_agrees_with_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	g_autoptr(TachoTable) table = NULL, steps = NULL;

	add_step(timeline, 0, 0, 0, 70);
	add_step(timeline, 1, 0, 0, 70);
	add_collective(timeline, "sum", 4096);
	table = tacho_view_overlap(timeline, NULL);
	steps = tacho_view_step(timeline, NULL);
	for (guint row = 0; row < 2; row++) {
		EXPECT(table, row, "overlap_pct",
		       tacho_table_cell_number(steps, row, "overlap_pct"));
		EXPECT(table, row, "exposed_ms",
		       tacho_table_cell_number(steps, row, "exposed_communication_ms"));
	}
}

/* On a device, its kernels compute, and copies and fills; host operations do not. */
static void test_device(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 10 main\n"
							       "  op aten::mm 0..100\n"
							       "  stream 7\n"
							       "  kernel gemm 0..30\n"
							       "  memcpy HtoD 40..50\n"
							       "  stream 8\n"
							       "  collective ncclAllReduce 20..60\n"
							       "  stream 9 device=1\n"
							       "  kernel gemm 50..55\n");
	const TachoFilter first = { .rank = -1,
				    .first_step = -1,
				    .last_step = -1,
				    .device = g_regex_new("gpu 0", 0, 0, NULL) };
	g_autoptr(TachoTable) table = NULL, filtered = NULL, steps = NULL;

	add_step(timeline, 0, 0, 0, 100);
	add_step(timeline, 0, 1, 100, 200);
	table = tacho_view_overlap(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0); /* step 0 is warm-up */
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==, "No collectives were recorded.");
	g_clear_pointer(&table, tacho_table_free);
	g_array_set_size(timeline->steps, 1);
	table = tacho_view_overlap(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "where"), ==, "device");
	EXPECT(table, 0, "compute_ms", 45);
	EXPECT(table, 0, "communication_ms", 40);
	EXPECT(table, 0, "hidden_ms", 25); /* 20..30, 40..50, 50..55 */
	EXPECT(table, 0, "exposed_ms", 15);
	steps = tacho_view_step(timeline, NULL); /* tells the same */
	EXPECT(steps, 0, "compute_ms", 45);
	EXPECT(steps, 0, "overlap_pct", tacho_table_cell_number(table, 0, "overlap_pct"));
	filtered = tacho_view_overlap(timeline, &first);
	EXPECT(filtered, 0, "compute_ms", 40);
	EXPECT(filtered, 0, "hidden_ms", 20);
	g_regex_unref(first.device);
}

static void test_filters(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 10 main\n"
							       "  op aten::forward 0..40\n"
							       "  collective sum 20..60\n"
							       "  collective gather 70..80\n"
							       "rank 1 thread 20 main\n"
							       "  collective sum 0..10\n");
	TachoFilter filter = { .rank = 0,
			       .first_step = -1,
			       .last_step = -1,
			       .name = g_regex_new("^gath", 0, 0, NULL) };
	g_autoptr(TachoTable) table = tacho_view_overlap(timeline, &filter);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "steps"))); /* the whole run */
	EXPECT(table, 0, "duration_ms", 80);
	EXPECT(table, 0, "communication_ms", 10);
	EXPECT(table, 0, "overlap_pct", 0);
	g_clear_pointer(&table, tacho_table_free);
	filter.device = g_regex_new("gpu", 0, 0, NULL);
	table = tacho_view_overlap(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(table, 0), "No work of a device"));
	g_regex_unref(filter.name);
	g_regex_unref(filter.device);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/overlap_view/host", test_host);
	g_test_add_func("/overlap_view/agrees_with_steps", test_agrees_with_steps);
	g_test_add_func("/overlap_view/device", test_device);
	g_test_add_func("/overlap_view/filters", test_filters);
	return g_test_run();
}
