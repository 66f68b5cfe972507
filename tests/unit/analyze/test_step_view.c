#include <tacho/analyze.h>

#include <math.h>
#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

static void expect_sum(const TachoTable *table)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		gdouble sum = tacho_table_cell_number(table, row, "compute_ms") +
			      tacho_table_cell_number(table, row, "exposed_communication_ms") +
			      tacho_table_cell_number(table, row, "wait_ms") +
			      tacho_table_cell_number(table, row, "idle_ms");

		EXPECT(table, row, "duration_ms", sum);
		g_assert_cmpfloat(tacho_table_cell_number(table, row, "idle_ms"), >=, 0);
	}
}

/*        0   10   20   30   40   50   60   70   80   90   100
 * rank 0 | forward | ........ backward ....|            |opt|
 *                       queued 45 | transfer 60..80
 * rank 1 |      forward       |   backward      |         |opt| */
static const gchar two_ranks[] = "rank 0 thread 10 main\n"
				 "  op aten::forward 0..30\n"
				 "  op aten::backward 30..50\n"
				 "    op c10d::allreduce_ 44..46\n"
				 "  collective sum 45..80 bytes=4096\n"
				 "  op aten::opt 85..95\n"
				 "rank 1 thread 20 main\n"
				 "  op aten::forward 0..40\n"
				 "  op aten::backward 40..70\n"
				 "  collective sum 60..82 bytes=4096\n"
				 "  op aten::opt 85..95\n";

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	g_autoptr(TachoTable) table = NULL;
	const TachoFilter filter = TACHO_FILTER_INIT;

	add_step(timeline, 0, 0, 0, 100);
	add_step(timeline, 1, 0, 0, 100);
	add_collective(timeline, "sum", 4096);
	table = tacho_view_step(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	EXPECT(table, 0, "rank", 0);
	EXPECT(table, 0, "duration_ms", 100);
	EXPECT(table, 0, "compute_ms", 58);	  /* 60 less the queueing */
	EXPECT(table, 0, "communication_ms", 20); /* 60..80 */
	EXPECT(table, 0, "exposed_communication_ms", 20);
	EXPECT(table, 0, "wait_ms", 11); /* 45..46 and 50..60: the rest had compute */
	EXPECT(table, 0, "idle_ms", 11);
	EXPECT(table, 0, "overlap_pct", 0);
	EXPECT(table, 1, "compute_ms", 80);
	EXPECT(table, 1, "communication_ms", 22);
	EXPECT(table, 1, "exposed_communication_ms", 12); /* 70..82 */
	EXPECT(table, 1, "wait_ms", 0);
	EXPECT(table, 1, "idle_ms", 8);
	EXPECT(table, 1, "overlap_pct", 1000.0 / 22);
	expect_sum(table);
}

static void test_waiting_is_no_compute(void)
{
	/* An op in which nothing but a wait happens; the same with work beside it; work in a wait. */
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op wrapper 0..10\n"
							       "    annotation inner 0..10\n"
							       "      wait message 2..8\n"
							       "  op mixed 10..30\n"
							       "    wait message 10..20\n"
							       "    op aten::add 20..22\n"
							       "  wait DataLoader 40..60\n"
							       "    op aten::stack 50..55\n");
	g_autoptr(TachoTable) table = NULL;

	add_step(timeline, 0, 0, 0, 100);
	table = tacho_view_step(timeline, NULL);
	EXPECT(table, 0, "compute_ms", 10 + 5);
	EXPECT(table, 0, "data_wait_ms", 15);
	EXPECT(table, 0, "idle_ms", 85);
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "overlap_pct")));
	expect_sum(table);
}

/* Threads compute beside each other; a worker process is not the rank; steps clip. */
static void test_threads_and_workers(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op a 0..20\n"
							       "  thread 2 autograd\n"
							       "  op b 10..30\n"
							       "  op late 90..120\n"
							       "process 77 thread 77 worker\n"
							       "  op c 40..80\n");
	g_autoptr(TachoTable) table = NULL;

	add_step(timeline, 0, 0, 5, 100);
	table = tacho_view_step(timeline, NULL);
	EXPECT(table, 0, "compute_ms", 25 + 10);
	EXPECT(table, 0, "duration_ms", 95);
	expect_sum(table);
}

static void test_unmatched_collective(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  collective sum 10..30\n");
	g_autoptr(TachoTable) table = NULL;

	add_step(timeline, 0, 0, 0, 100);
	table = tacho_view_step(timeline, NULL);
	EXPECT(table, 0, "communication_ms", 20);
	EXPECT(table, 0, "wait_ms", 0);
	expect_sum(table);
}

static void test_warm_up(void)
{
	/* 0 is always warm-up, 1 is slow on rank 1 only, 2 and 3 are steady; 4 did not end. */
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 thread 1 main\nop a 0..10\nrank 1 thread 2 main\nop a 0..10\n");
	static const gint64 ends[2][5] = { { 50, 60, 70, 80, 90 }, { 50, 75, 80, 90, 100 } };
	g_autoptr(TachoTable) rows = NULL, summary = NULL;

	for (guint rank = 0; rank < 2; rank++)
		for (guint i = 0; i < 5; i++)
			add_step(timeline, rank, i, i ? ends[rank][i - 1] : 0, ends[rank][i]);
	g_array_index(timeline->steps, TachoStep, 4).is_complete = FALSE;
	rows = tacho_view_step(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(rows), ==, 10);
	g_assert_cmpstr(tacho_table_cell_text(rows, 0, "state"), ==, "warm-up");
	g_assert_cmpstr(tacho_table_cell_text(rows, 2, "state"), ==, "warm-up");
	g_assert_cmpstr(tacho_table_cell_text(rows, 3, "state"), ==, "warm-up");
	g_assert_cmpstr(tacho_table_cell_text(rows, 4, "state"), ==, "steady");
	g_assert_cmpstr(tacho_table_cell_text(rows, 8, "state"), ==, "incomplete");
	summary = tacho_view_step_summary(timeline, NULL);
	EXPECT(summary, 0, "steps", 2);
	EXPECT(summary, 0, "median_ms", 10);
	EXPECT(summary, 1, "steps", 3);
	EXPECT(summary, 1, "mean_ms", 25.0 / 3);
}

static void test_filter(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	g_autoptr(TachoTable) table = NULL, summary = NULL;
	TachoFilter filter = TACHO_FILTER_INIT;

	for (guint rank = 0; rank < 2; rank++)
		for (guint i = 0; i < 4; i++)
			add_step(timeline, rank, i, 10 * i, 10 * (i + 1));
	filter.rank = 1;
	filter.first_step = 0;
	filter.last_step = 1;
	table = tacho_view_step(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	EXPECT(table, 1, "rank", 1);
	EXPECT(table, 1, "step", 1);
	summary = tacho_view_step_summary(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(summary), ==, 1);
	EXPECT(summary, 0, "steps", 2); /* asked for by number: the first step too */
}

static void test_no_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	g_autoptr(TachoTimeline) empty = tacho_timeline_new();
	g_autoptr(TachoTable) table = tacho_view_step(timeline, NULL);
	g_autoptr(TachoTable) summary = tacho_view_step_summary(timeline, NULL);
	g_autoptr(TachoTable) nothing = tacho_view_step(empty, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpuint(tacho_table_n_notes(table), ==, 1);
	g_assert_cmpuint(tacho_table_n_rows(summary), ==, 0);
	g_assert_cmpuint(tacho_table_n_rows(nothing), ==, 0);
}

static void append_random_slices(GString *text, guint depth, gint begin, gint end)
{
	static const gchar *const names[] = { "aten::a", "c10d::b", "aten::c" };
	static const gchar *const kinds[] = { "op", "wait", "kernel", "annotation", "op" };

	while (begin < end) {
		gint from = g_test_rand_int_range(begin, end + 1);
		gint to = g_test_rand_int_range(from, end + 1);

		if (depth > 4 || g_test_rand_int_range(0, 4) == 0)
			break;
		g_string_append_printf(text, "%s %s %d..%d\n", kinds[g_test_rand_int_range(0, 5)],
				       names[g_test_rand_int_range(0, 3)], from, to);
		append_random_slices(text, depth + 1, from, to);
		begin = to + 1;
	}
}

static TachoTimeline *random_timeline(void)
{
	g_autoptr(GString) text = g_string_new("unit ns\n");

	for (gint rank = 0; rank < 3; rank++) {
		g_string_append_printf(text, "rank %d\n", rank);
		for (gint thread = 0; thread < 3; thread++) {
			g_string_append_printf(text, "thread %d t\n", 10 * rank + thread);
			append_random_slices(text, 0, 0, 1000);
		}
		for (gint i = 0; i < 4; i++) {
			gint begin = g_test_rand_int_range(0, 1000);

			g_string_append_printf(text, "collective sum%d %d..%d\n", i, begin,
					       begin + g_test_rand_int_range(0, 200));
		}
	}
	return timeline_from_text(text->str);
}

static void test_sums_hold(void)
{
	for (gint round = 0; round < 300; round++) {
		g_autoptr(TachoTimeline) timeline = random_timeline();
		g_autoptr(TachoTable) table = NULL;

		for (guint rank = 0; rank < 3; rank++) {
			gint64 at = 0;

			for (guint i = 0; i < 4; i++) {
				TachoStep step = { rank, i, at, at, TRUE };

				at += g_test_rand_int_range(0, 400);
				step.end_ns = at;
				g_array_append_val(timeline->steps, step);
			}
		}
		for (gint i = 0; i < 3; i++) { /* the fourth stays unmatched */
			g_autofree gchar *name = g_strdup_printf("sum%d", i);

			add_collective(timeline, name, 64);
		}
		table = tacho_view_step(timeline, NULL);
		g_assert_cmpuint(tacho_table_n_rows(table), ==, 12);
		expect_sum(table);
		for (guint row = 0; row < 12; row++)
			g_assert_cmpfloat(
				tacho_table_cell_number(table, row, "communication_ms") + 1e-12, >=,
				tacho_table_cell_number(table, row, "exposed_communication_ms"));
	}
}

/* What a thread sends, receives and waits for on the network is neither compute nor data loading. */
static void test_traffic_is_no_compute(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 10 main\n"
				   "  op aten::forward 0..30\n"
				   "thread 11 gloo\n"
				   "  wait epoll_wait 20..50\n"
				   "  message writev 50..60 bytes=4096\n"
				   "  message recv 60..90 bytes=4096 receive\n");
	g_autoptr(TachoTable) table = NULL;
	const TachoFilter filter = TACHO_FILTER_INIT;

	add_step(timeline, 0, 0, 0, 100);
	table = tacho_view_step(timeline, &filter);
	EXPECT(table, 0, "compute_ms", 30);
	EXPECT(table, 0, "idle_ms", 70);
	expect_sum(table);
}

/* rank 0 works 10 ms of 100 before its steps and 5 behind them; rank 1 nothing. */
static const gchar outside[] = "rank 0 thread 10 main\n"
			       "  op aten::before 0..10\n"
			       "    op aten::inside 2..4\n"
			       "  op aten::step 20..55\n"
			       "  op aten::step 60..110\n"
			       "  op aten::after 120..125\n"
			       "rank 1 thread 20 main\n"
			       "  op aten::step 20..120\n";

static TachoTimeline *timeline_outside(const gchar *text)
{
	TachoTimeline *timeline = timeline_from_text(text);

	for (guint rank = 0; rank < timeline->ranks->len; rank++)
		for (guint i = 0; i < 2; i++)
			add_step(timeline, rank, i, 20 + 40 * i, 60 + 60 * i);
	return timeline;
}

static const gchar *find_note(const TachoTable *table, const gchar *part)
{
	for (guint i = 0; i < tacho_table_n_notes(table); i++)
		if (strstr(tacho_table_borrow_note(table, i), part))
			return tacho_table_borrow_note(table, i);
	return NULL;
}

static void test_outside(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_outside(outside);
	g_autoptr(TachoTable) table = NULL, summary = NULL, ops = NULL;
	TachoFilter filter = TACHO_FILTER_INIT;

	filter.is_whole = TRUE;
	table = tacho_view_step(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 6); /* two steps and the rest, a rank */
	g_assert_cmpstr(tacho_table_cell_text(table, 4, "state"), ==, "outside steps");
	g_assert_true(isnan(tacho_table_cell_number(table, 4, "step")));
	EXPECT(table, 4, "rank", 0);
	EXPECT(table, 4, "duration_ms", 25); /* 0..20 and 120..125 */
	EXPECT(table, 4, "compute_ms", 15);
	EXPECT(table, 5, "duration_ms", 0);
	expect_sum(table);
	summary = tacho_view_step_summary(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(summary), ==, 4);
	EXPECT(summary, 0, "steps", 2);
	EXPECT(summary, 1, "mean_ms", 25);
	g_assert_null(find_note(summary, "outside the steps"));
	ops = tacho_view_op(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(ops), ==, 4);
	g_assert_cmpstr(tacho_table_cell_text(ops, 0, "name"), ==, "aten::step");
	EXPECT(ops, 0, "share_pct", 100.0 * 185 / (125 + 100)); /* of what the ranks lived */
}

static void test_outside_note(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_outside(outside);
	g_autoptr(TachoTimeline) devices =
		timeline_outside("rank 0 thread 10 main\n"
				 "  op aten::before 0..20\n"
				 "  op aten::step 20..120\n"
				 "stream 7\n"
				 "  kernel a 30..130\n" /* begins in a step */
				 "  kernel b 130..131\n");
	g_autoptr(TachoTable) summary = NULL, of_rank = NULL, by_number = NULL, within = NULL;
	TachoFilter filter = TACHO_FILTER_INIT;

	summary = tacho_view_step_summary(timeline, NULL);
	g_assert_cmpstr(find_note(summary, "outside the steps"), ==,
			"7.5 % of the operations' time (15.000 ms) begins outside the steps (15.0 "
			"% on rank 0); '--steps all' includes it.");
	filter.rank = 1;
	of_rank = tacho_view_step_summary(timeline, &filter);
	g_assert_null(find_note(of_rank, "outside the steps"));
	filter = (TachoFilter)TACHO_FILTER_INIT;
	filter.first_step = 0;
	by_number = tacho_view_op(timeline, &filter);
	g_assert_null(find_note(by_number, "outside the steps")); /* that was asked for */
	/* For devices, 1 of 101 ms is outside, whatever the host does: just below one percent. */
	within = tacho_view_kernel(devices, NULL);
	g_assert_null(find_note(within, "outside the steps"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/step_view/by_hand", test_by_hand);
	g_test_add_func("/step_view/waiting_is_no_compute", test_waiting_is_no_compute);
	g_test_add_func("/step_view/traffic_is_no_compute", test_traffic_is_no_compute);
	g_test_add_func("/step_view/threads_and_workers", test_threads_and_workers);
	g_test_add_func("/step_view/unmatched_collective", test_unmatched_collective);
	g_test_add_func("/step_view/warm_up", test_warm_up);
	g_test_add_func("/step_view/filter", test_filter);
	g_test_add_func("/step_view/no_steps", test_no_steps);
	g_test_add_func("/step_view/sums_hold", test_sums_hold);
	g_test_add_func("/step_view/outside", test_outside);
	g_test_add_func("/step_view/outside_note", test_outside_note);
	return g_test_run();
}
