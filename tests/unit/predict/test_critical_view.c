#include <math.h>
#include <string.h>

#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "timeline_text.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Rank 1 computes 20 us longer, and everybody waits for it; then rank 0 is last. */
static const gchar late_rank[] = "unit us\n"
				 "rank 0 thread 1000 main\n"
				 "  annotation ProfilerStep#0 0..110\n"
				 "    op a 0..30\n"
				 "    op c10d::allreduce_ 30..31\n"
				 "    collective gloo:all_reduce 31..60 bytes=1024 end_tid=9\n"
				 "    op b 60..80\n"
				 "    op b 80..105\n"
				 "rank 1 thread 1001 main\n"
				 "  annotation ProfilerStep#0 0..110\n"
				 "    op a 0..50\n"
				 "    op c10d::allreduce_ 50..51\n"
				 "    collective gloo:all_reduce 51..60 bytes=1024 end_tid=9\n"
				 "    op b 60..70\n";

/* 0..50 a, 50..51 c10d, 51..60 on the wire, 60..105 b of rank 0, which ends the step last. */
static void test_by_hand(void)
{
	static const struct {
		gint rank;
		const gchar *what, *name;
		gdouble first_us, duration_us;
	} parts[] = { { 1, "compute", "a", 0, 50 },
		      { 0, "compute", "b", 60, 45 },
		      { -1, "communication", "gloo:all_reduce", 51, 9 },
		      { 0, "host", "ProfilerStep#0", 105, 5 },
		      { 1, "compute", "c10d::allreduce_", 50, 1 } };
	g_autoptr(TachoTimeline) timeline = correlated(late_rank);
	g_autoptr(TachoTable) table = NULL;

	table = tacho_view_critical(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, G_N_ELEMENTS(parts));
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		g_assert_cmpstr(tacho_table_cell_text(table, i, "what"), ==, parts[i].what);
		g_assert_cmpstr(tacho_table_cell_text(table, i, "name"), ==, parts[i].name);
		if (parts[i].rank < 0)
			g_assert_true(isnan(tacho_table_cell_number(table, i, "rank")));
		else
			EXPECT(table, i, "rank", parts[i].rank);
		EXPECT(table, i, "first_ms", parts[i].first_us / 1e3);
		EXPECT(table, i, "duration_ms", parts[i].duration_us / 1e3);
		EXPECT(table, i, "share_pct", parts[i].duration_us / 1.1);
		EXPECT(table, i, "step", 0);
	}
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(table, 0),
				       "The critical path of step 0 takes 0.110 ms"));
}

/* What is shown of a path does not change the shares. */
static void test_filters(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(late_rank);
	TachoFilter filter = {
		.rank = 0, .first_step = -1, .last_step = -1, .name = g_regex_new("^b$", 0, 0, NULL)
	};
	g_autoptr(TachoTable) table = NULL;

	table = tacho_view_critical(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	EXPECT(table, 0, "share_pct", 45 / 1.1);
	g_clear_pointer(&table, tacho_table_free);
	filter.rank = 1; /* computed b, but not on the path */
	table = tacho_view_critical(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"No part of the critical path matches what was asked for.");
	g_regex_unref(filter.name);
}

static void test_too_long(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::mm 0..10\n");
	g_autoptr(TachoTable) table = NULL;
	TachoStep step = { 0, 0, -TACHO_MAX_TIME_NS, TACHO_MAX_TIME_NS, TRUE };

	g_array_append_val(timeline->steps, step);
	table = tacho_view_critical(timeline, NULL);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"The steps are too long to be replayed; choose fewer with --steps.");
}

static void test_nothing(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::mm 0..10\n");
	g_autoptr(TachoTable) table = tacho_view_critical(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"There is no critical path, because no step is complete.");
}

/* The steps that are asked for, of all ranks, and the one in the middle of them. */
static void test_chosen_steps(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit us\nrank 0 thread 1000 main\n"
			   "  annotation ProfilerStep#0 0..100\n    op a 0..100\n"
			   "  annotation ProfilerStep#1 100..150\n    op b 100..150\n"
			   "  annotation ProfilerStep#2 150..210\n    op c 150..210\n"
			   "  annotation ProfilerStep#3 210..290\n    op d 210..290\n");
	static const struct {
		gint64 first, last;
		gboolean is_whole;
		const gchar *name;
		gdouble step;
	} cases[] = { { 1, 1, FALSE, "b", 1 },	{ 2, 2, FALSE, "c", 2 }, { 1, -1, FALSE, "c", 2 },
		      { 3, -1, FALSE, "d", 3 }, { 0, 0, FALSE, "a", 0 }, { -1, -1, TRUE, "c", 2 } };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		TachoFilter filter = TACHO_FILTER_INIT;
		g_autoptr(TachoTable) table = NULL;

		filter.first_step = cases[i].first;
		filter.last_step = cases[i].last;
		filter.is_whole = cases[i].is_whole;
		table = tacho_view_critical(timeline, &filter);
		g_test_message("%u", i);
		g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
		g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, cases[i].name);
		EXPECT(table, 0, "step", cases[i].step);
		EXPECT(table, 0, "share_pct", 100);
	}
}

/* --- in an annotation --------------------------------------------------------------------------- */

/* By the launch of A, A, the gap behind it, and B, to what follows the call that waits for them. */
#define PART                                                                                       \
	"  annotation part 0..200\n"                                                               \
	"    op a 10..40\n"                                                                        \
	"      runtime launchA 20..25\n"                                                           \
	"      runtime launchB 30..35\n"                                                           \
	"    runtime cudaDeviceSynchronize 50..120\n"                                              \
	"    op after 130..145\n"                                                                  \
	"  stream 7\n"                                                                             \
	"    kernel A 28..60 launch=launchA\n"                                                     \
	"    kernel B 62..110 launch=launchB\n"                                                    \
	"  stream 9\n"                                                                             \
	"    sync 'Context Sync' 50..119 launch=cudaDeviceSynchronize\n"

static void test_annotation(void)
{
	static const struct {
		const gchar *name;
		gdouble first_us, duration_us;
	} parts[] = { { "B", 52, 48 }, { "A", 18, 32 },	     { "after", 100, 15 },
		      { "a", 0, 10 },  { "launchA", 10, 8 }, { "", 50, 2 } };
	g_autoptr(TachoTimeline) timeline = correlated("unit us\nrank 3 thread 1000 main\n" PART);
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) table = NULL;

	filter.annotation = "part";
	table = tacho_view_critical(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, G_N_ELEMENTS(parts));
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		g_assert_cmpstr(tacho_table_cell_text(table, i, "name"), ==, parts[i].name);
		EXPECT(table, i, "rank", 3);
		EXPECT(table, i, "pieces", 1);
		EXPECT(table, i, "first_ms", parts[i].first_us / 1e3);
		EXPECT(table, i, "duration_ms", parts[i].duration_us / 1e3);
		EXPECT(table, i, "share_pct", 100 * parts[i].duration_us / 115);
		g_assert_true(isnan(tacho_table_cell_number(table, i, "step")));
	}
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(table, 0),
				       "The critical path of rank 3 takes 0.115 ms, through "));
	g_clear_pointer(&table, tacho_table_free);
	filter.name = g_regex_new("^A$", 0, 0, NULL);
	table = tacho_view_critical(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	EXPECT(table, 0, "share_pct", 100 * 32 / 115.0);
	g_regex_unref(filter.name);
}

/* A path in an annotation is one rank's. */
static void test_rank_of_annotation(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit us\nrank 0 thread 1000 main\n" PART "rank 1 thread 1001 main\n"
			   "  annotation part 0..30\n    op b 0..20\n");
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) none = NULL, second = NULL, absent = NULL;

	filter.annotation = "part";
	none = tacho_view_critical(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(none), ==, 0);
	g_assert_nonnull(strstr(tacho_table_borrow_note(none, 0), "choose the rank with --rank"));
	filter.rank = 1;
	second = tacho_view_critical(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(second), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(second, 0, "name"), ==, "b");
	EXPECT(second, 0, "rank", 1);
	filter.instance = 1;
	absent = tacho_view_critical(timeline, &filter);
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(absent, 0),
				       "There is no critical path: rank 1 has 1 annotations"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/critical_view/by_hand", test_by_hand);
	g_test_add_func("/critical_view/filters", test_filters);
	g_test_add_func("/critical_view/too_long", test_too_long);
	g_test_add_func("/critical_view/nothing", test_nothing);
	g_test_add_func("/critical_view/chosen_steps", test_chosen_steps);
	g_test_add_func("/critical_view/annotation", test_annotation);
	g_test_add_func("/critical_view/rank_of_annotation", test_rank_of_annotation);
	return g_test_run();
}
