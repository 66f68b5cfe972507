#include <tacho/analyze.h>

#include <math.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Rank 2 is last in the first collective, having computed longest; rank 1 in the second, having waited for
 * data. */
static const gchar three_ranks[] = "rank 0 thread 10 main\n"
				   "  op aten::mm 0..40\n"
				   "  collective first 40..100\n"
				   "  wait DataLoader 100..108\n"
				   "  collective second 110..140\n"
				   "rank 1 host=h1 thread 20 main\n"
				   "  op aten::mm 0..60\n"
				   "  collective first 60..100\n"
				   "  wait DataLoader 100..125\n"
				   "  collective second 130..140\n"
				   "rank 2 thread 30 main\n"
				   "  op aten::mm 0..90\n"
				   "  collective first 90..100\n"
				   "  collective second 120..140\n";

static TachoTimeline *three_ranks_timeline(void)
{
	TachoTimeline *timeline = timeline_from_text(three_ranks);

	for (guint rank = 0; rank < 3; rank++)
		add_step(timeline, rank, 0, 0, 150);
	add_collective(timeline, "first", 4);
	add_collective(timeline, "second", 4);
	return timeline;
}

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = three_ranks_timeline();
	g_autoptr(TachoTable) table = tacho_view_straggler(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3); /* who is waited for longest first */
	EXPECT(table, 0, "rank", 2);
	EXPECT(table, 0, "collectives", 2);
	EXPECT(table, 0, "late", 1);
	EXPECT(table, 0, "late_pct", 50);
	EXPECT(table, 0, "caused_wait_ms", 50 + 30);
	EXPECT(table, 0, "late_mean_ms", 40);
	EXPECT(table, 0, "waited_ms", 10);
	EXPECT(table, 0, "compute_ms", 90);
	EXPECT(table, 0, "idle_ms", 30); /* 150 - 90 - transfer 20 - waiting 10 */
	EXPECT(table, 0, "longer_ms", 50);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "longer_in"), ==, "compute");
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "longer_work"), ==, "aten::mm");
	EXPECT(table, 0, "longer_work_ms", 50);
	EXPECT(table, 1, "rank", 1);
	EXPECT(table, 1, "caused_wait_ms", 20 + 10);
	EXPECT(table, 1, "late_mean_ms", 15);
	EXPECT(table, 1, "waited_ms", 30);
	EXPECT(table, 1, "data_wait_ms", 25);
	EXPECT(table, 1, "idle_ms", 40);
	EXPECT(table, 1, "longer_ms", 25);
	g_assert_cmpstr(tacho_table_cell_text(table, 1, "longer_in"), ==, "data loading");
	g_assert_cmpstr(tacho_table_cell_text(table, 1, "host"), ==, "h1");
	g_assert_null(tacho_table_cell_text(table, 1, "longer_work"));
	EXPECT(table, 2, "caused_wait_ms", 0);
	EXPECT(table, 2, "waited_ms", 50 + 20);
	g_assert_true(isnan(tacho_table_cell_number(table, 2, "late_mean_ms")));
	EXPECT(table, 0, "net_wait_ms",
	       40); /* others 25 and 10 less it, 0; then 10 and 0 less it */
	EXPECT(table, 1, "net_wait_ms", 10);
	EXPECT(table, 2, "net_wait_ms", -50);
	g_assert_cmpfloat(tacho_table_cell_number(table, 0, "stands_out"), ==, 0); /* 40 of 55 */
}

/* The figures of a rank do not hang on which ranks are shown; those of lateness on the collectives taken. */
static void test_filters(void)
{
	g_autoptr(TachoTimeline) timeline = three_ranks_timeline();
	TachoFilter filter = { .rank = 1,
			       .first_step = -1,
			       .last_step = -1,
			       .name = g_regex_new("second", 0, 0, NULL) };
	g_autoptr(TachoTable) table = tacho_view_straggler(timeline, &filter);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	EXPECT(table, 0, "rank", 1);
	EXPECT(table, 0, "collectives", 1);
	EXPECT(table, 0, "late_pct", 100);
	EXPECT(table, 0, "longer_ms", 25);
	g_regex_unref(filter.name);
}

/* Collectives of other steps, and those that some rank was not seen in, say nothing. */
static void test_what_is_left_out(void)
{
	g_autoptr(TachoTimeline) timeline = three_ranks_timeline();
	g_autoptr(TachoTable) table = NULL;

	g_array_index(timeline->collectives, TachoCollective, 0).n_expected = 4;
	for (guint i = 0; i < timeline->steps->len; i++)
		g_array_index(timeline->steps, TachoStep, i).end_ns = 115000000;
	table = tacho_view_straggler(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	for (guint row = 0; row < 3; row++) {
		EXPECT(table, row, "collectives", 0);
		EXPECT(table, row, "waited_ms", 0);
	}
	g_assert_cmpstr(
		tacho_table_borrow_note(table, 0), ==,
		"No collective was recorded on all its ranks, so it is not known who was late.");
}

static void test_clocks(void)
{
	g_autoptr(TachoTimeline) timeline = three_ranks_timeline();
	g_autoptr(TachoTable) table = NULL;

	g_assert_cmpuint(timeline->clocks->len, ==, 2); /* one a host */
	g_array_index(timeline->clocks, TachoClock, 1).state = TACHO_CLOCK_ALIGNED;
	g_array_index(timeline->clocks, TachoClock, 1).reference = 0;
	g_array_index(timeline->clocks, TachoClock, 1).uncertainty_ns = 250000;
	table = tacho_view_straggler(timeline, NULL);
	g_assert_cmpstr(tacho_table_borrow_note(table, 2), ==,
			"The clocks of the hosts are accurate to 0.250 ms; lateness below that "
			"means nothing.");
}

/* Operations count with their own time, and devices with their work; communication and other steps do
 * not count. */
static void test_longer_work(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n"
				   "  op aten::linear 0..60\n"
				   "    op aten::mm 0..50\n"
				   "  op c10d::allreduce_ 60..95\n"
				   "  op aten::linear 200..290\n"
				   "rank 1 thread 2 main\n"
				   "  op aten::linear 0..20\n"
				   "    op aten::mm 0..15\n"
				   "rank 2 thread 3 main\n"
				   "  op aten::linear 0..90\n"
				   "  stream 7\n"
				   "  kernel gemm 0..30\n"
				   "  collective ncclAllReduce 30..95\n");
	g_autoptr(TachoTable) table = NULL;

	for (guint rank = 0; rank < 3; rank++)
		add_step(timeline, rank, 0, 0, 100);
	table = tacho_view_straggler(timeline, NULL);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "longer_work"), ==, "aten::mm");
	EXPECT(table, 0, "longer_work_ms", 50); /* rank 2 has none of it */
	EXPECT(table, 2, "rank", 2);
	g_assert_cmpstr(tacho_table_cell_text(table, 2, "longer_work"), ==, "gemm");
	EXPECT(table, 2, "longer_work_ms", 30);
}

static void test_one_rank(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::mm 0..10\n");
	g_autoptr(TachoTable) table = tacho_view_straggler(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"Only one rank was recorded, so no rank waits for it.");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/straggler_view/by_hand", test_by_hand);
	g_test_add_func("/straggler_view/filters", test_filters);
	g_test_add_func("/straggler_view/what_is_left_out", test_what_is_left_out);
	g_test_add_func("/straggler_view/clocks", test_clocks);
	g_test_add_func("/straggler_view/longer_work", test_longer_work);
	g_test_add_func("/straggler_view/one_rank", test_one_rank);
	return g_test_run();
}
