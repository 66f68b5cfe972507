#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include <math.h>
#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Four ranks; rank 2 queues last at 50, all are done at 100. */
static gchar *four_ranks(const gchar *name)
{
	return g_strdup_printf("rank 0 thread 1 main\ncollective %s 10..100\n"
			       "rank 1 thread 2 main\ncollective %s 20..90\n"
			       "rank 2 thread 3 main\ncollective %s 50..100\n"
			       "rank 3 thread 4 main\ncollective %s 30..95\n",
			       name, name, name, name);
}

static void test_by_hand(void)
{
	g_autofree gchar *text = four_ranks("gloo:all_reduce");
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoTable) table = NULL;

	add_collective(timeline, "gloo:all_reduce", 3000000);
	table = tacho_view_comm(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "size_class"), ==, "2-4 MiB");
	EXPECT(table, 0, "count", 1);
	EXPECT(table, 0, "bytes", 3000000);
	EXPECT(table, 0, "total_ms", (90 + 70 + 50 + 65) / 4.0);
	EXPECT(table, 0, "wait_ms", (40 + 30 + 0 + 20) / 4.0);
	EXPECT(table, 0, "transfer_ms", 50);
	EXPECT(table, 0, "algorithm_gb_per_s", 0.06);
	EXPECT(table, 0, "bus_gb_per_s", 0.06 * 1.5);
	EXPECT(table, 0, "late_rank", 2);
	EXPECT(table, 0, "late_pct", 100);
	EXPECT(table, 0, "late_mean_ms", 30); /* (40 + 30 + 20) / 3 */
}

/* nccl-tests' size and bus bandwidth, 1 MB a rank, 50 ms, four ranks. */
static void test_bandwidths(void)
{
	static const struct {
		const gchar *name;
		gdouble algorithm, bus;
	} cases[] = {
		{ "gloo:all_reduce", 0.02, 0.03 },	 { "nccl:all_gather", 0.08, 0.06 },
		{ "nccl:_all_gather_base", 0.08, 0.06 }, { "nccl:reduce_scatter", 0.02, 0.015 },
		{ "gloo:all_to_all", 0.02, 0.015 },	 { "gloo:broadcast", 0.02, 0.02 },
		{ "gloo:reduce", 0.02, 0.02 },		 { "ncclAllReduce", 0.02, 0.03 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree gchar *text = four_ranks(cases[i].name);
		g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
		g_autoptr(TachoTable) table = NULL;

		add_collective(timeline, cases[i].name, 1000000);
		table = tacho_view_comm(timeline, NULL);
		EXPECT(table, 0, "algorithm_gb_per_s", cases[i].algorithm);
		EXPECT(table, 0, "bus_gb_per_s", cases[i].bus);
	}
}

/* A rank that was killed in a collective did not end it: of how fast that was, nothing is known, and of one that lacks a rank neither. */
static void test_killed(void)
{
	static const gchar *const second[] = {
		"collective gloo:all_reduce 20..\nop later 99..100\n", "op later 99..100\n"
	};

	for (guint i = 0; i < G_N_ELEMENTS(second); i++) {
		g_autofree gchar *text =
			g_strdup_printf("rank 0 thread 1 main\ncollective gloo:all_reduce 10..100\n"
					"rank 1 end=killed:9 thread 2 main\n%s",
					second[i]);
		g_autoptr(TachoTimeline) timeline = correlated(text);
		g_autoptr(TachoTable) table = tacho_view_comm(timeline, NULL);

		g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
		EXPECT(table, 0, "count", 1);
		g_assert_true(isnan(tacho_table_cell_number(table, 0, "transfer_ms")));
		g_assert_true(isnan(tacho_table_cell_number(table, 0, "algorithm_gb_per_s")));
		g_assert_true(isnan(tacho_table_cell_number(table, 0, "bus_gb_per_s")));
	}
}

static void test_size_classes(void)
{
	g_autofree gchar *text = four_ranks("a");
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoTable) table = NULL;
	static const guint64 sizes[] = { 0, 1, 1023, 1024, 1500, 2048, G_MAXUINT64 };

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
		add_collective(timeline, "a", sizes[i]);
	table = tacho_view_comm(timeline, NULL);
	tacho_table_sort(table, "mean_bytes", FALSE);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 6); /* 1024 and 1500 are one */
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "size_class"), ==, "1-2 B");
	g_assert_cmpstr(tacho_table_cell_text(table, 1, "size_class"), ==, "512-1024 B");
	g_assert_cmpstr(tacho_table_cell_text(table, 2, "size_class"), ==, "1-2 KiB");
	EXPECT(table, 2, "count", 2);
	g_assert_cmpstr(tacho_table_cell_text(table, 4, "size_class"), ==, "8-16 EiB");
	g_assert_null(tacho_table_cell_text(table, 5, "size_class")); /* it is not known */
	g_assert_true(isnan(tacho_table_cell_number(table, 5, "algorithm_gb_per_s")));
	g_assert_true(isnan(tacho_table_cell_number(table, 5, "mean_bytes")));
	g_assert_true(isnan(tacho_table_cell_number(table, 5, "bytes")));
}

static void test_not_whole(void)
{
	g_autofree gchar *text = four_ranks("a");
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoTable) table = NULL;

	add_collective(timeline, "a", 8);
	g_array_index(timeline->collectives, TachoCollective, 0).n_expected = 5;
	table = tacho_view_comm(timeline, NULL);
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "transfer_ms")));
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "late_rank")));
	g_assert_nonnull(strstr(tacho_table_borrow_note(table, 0), "not recorded completely"));
}

static void test_filters(void)
{
	g_autofree gchar *text = four_ranks("a");
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoTable) one_rank = NULL, later = NULL;
	TachoFilter filter = TACHO_FILTER_INIT;

	add_collective(timeline, "a", 8);
	filter.rank = 1;
	one_rank = tacho_view_comm(timeline, &filter);
	EXPECT(one_rank, 0, "total_ms", 70);
	EXPECT(one_rank, 0, "wait_ms", 30);
	EXPECT(one_rank, 0, "late_rank", 2); /* who was waited for, whoever asks */
	for (guint rank = 0; rank < 4; rank++) {
		add_step(timeline, rank, 0, 0, 100);
		add_step(timeline, rank, 1, 100, 200);
	}
	filter.rank = -1;
	filter.first_step = 1;
	later = tacho_view_comm(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(later), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/comm_view/by_hand", test_by_hand);
	g_test_add_func("/comm_view/killed", test_killed);
	g_test_add_func("/comm_view/bandwidths", test_bandwidths);
	g_test_add_func("/comm_view/size_classes", test_size_classes);
	g_test_add_func("/comm_view/not_whole", test_not_whole);
	g_test_add_func("/comm_view/filters", test_filters);
	return g_test_run();
}
