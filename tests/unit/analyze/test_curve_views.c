/* The curves of queues and of bandwidths, and the bandwidths by kind, computed by hand. */
#include <tacho/analyze.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

struct point {
	gdouble at_ms, value;
};

static void expect_points(const TachoTable *table, guint first, const gchar *key,
			  const struct point *points, guint n)
{
	g_assert_cmpuint(tacho_table_n_rows(table), >=, first + n);
	for (guint i = 0; i < n; i++) {
		EXPECT(table, first + i, "at_ms", points[i].at_ms);
		EXPECT(table, first + i, key, points[i].value);
	}
}

#define EXPECT_POINTS(table, first, key, ...)                                                      \
	do {                                                                                       \
		static const struct point points[] = { __VA_ARGS__ };                              \
		expect_points(table, first, key, points, G_N_ELEMENTS(points));                    \
	} while (0)

/* At 10 one begins and another is launched: 2 all along. What began with its launch, and what has none, was in no
 * queue. */
static const gchar queued[] = "rank 0 thread 1 main\n"
			      "  runtime first 0..1\n"
			      "  runtime second 2..3\n"
			      "  runtime third 10..11\n"
			      "  runtime fourth 50..51\n"
			      "  stream 7\n"
			      "  kernel a 10..20 launch=first\n"
			      "  memcpy b 20..30 launch=second\n"
			      "  kernel c 40..50 launch=third\n"
			      "  kernel d 50..60 launch=fourth\n"
			      "  kernel e 70..80\n";

static void test_queue(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(queued);
	g_autoptr(TachoTable) table = tacho_view_queue_curve(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 5);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "device"), ==, "gpu 0");
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "stream"), ==, "stream 7");
	EXPECT_POINTS(table, 0, "depth", { 0, 1 }, { 2, 2 }, { 10, 2 }, { 20, 1 }, { 40, 0 });
	g_assert_cmpstr(
		tacho_table_borrow_note(table, 0), ==,
		"The launch of 1 pieces of work was not recorded, so they are in no queue.");
}

/* What was queued before the step is queued where it begins. */
static void test_queue_of_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(queued);
	TachoFilter filter = { .rank = -1, .first_step = 1, .last_step = 1 };
	g_autoptr(TachoTable) table = NULL;

	add_step(timeline, 0, 0, 0, 5);
	add_step(timeline, 0, 1, 5, 22);
	add_step(timeline, 0, 2, 22, 60);
	table = tacho_view_queue_curve(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	EXPECT_POINTS(table, 0, "depth", { 5, 2 }, { 10, 2 }, { 20, 1 });
}

/* Two streams of one device copy at once from 5 to 10; "c" takes no time, "d" does not tell its bytes, and
 * "e" tells more than can be. */
static const gchar copied[] = "rank 0 thread 1 main\n"
			      "  op aten::copy_ 0..100\n"
			      "  stream 7\n"
			      "  memcpy \"Memcpy HtoD (Pageable -> Device)\" 0..10 bytes=20000000\n"
			      "  memset \"Memset (Device)\" 10..20 bytes=10000000\n"
			      "  memcpy \"Memcpy DtoH c\" 20..20 bytes=8\n"
			      "  memcpy \"CopyDeviceToHost d\" 21..22\n"
			      "  memcpy \"Memcpy DtoH e\" 23..24 bytes=9000000000000000\n"
			      "  stream 8\n"
			      "  memcpy \"Memcpy HtoD (Pinned -> Device)\" 5..10 bytes=50000000\n"
			      "  memcpy \"MemcpyH2D\" 40..50 bytes=10000000\n";

static void test_bandwidth_curve(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(copied);
	g_autoptr(TachoTable) table = tacho_view_bandwidth_curve(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 7);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "kind"), ==, "HtoD");
	EXPECT_POINTS(table, 0, "gb_per_s", { 0, 2 }, { 5, 12 }, { 10, 0 }, { 40, 1 }, { 50, 0 });
	g_assert_cmpstr(tacho_table_cell_text(table, 5, "kind"), ==, "memset");
	EXPECT_POINTS(table, 5, "gb_per_s", { 10, 1 }, { 20, 0 });
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"3 copies or fills have no size, take no time, or would be faster than "
			"1,000,000 GB/s; no bandwidth includes them.");
}

static void test_bandwidth(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(copied);
	g_autoptr(TachoTable) table = tacho_view_bandwidth(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	EXPECT(table, 0, "count", 3);
	EXPECT(table, 0, "bytes", 80e6);
	EXPECT(table, 0, "total_ms", 25);
	EXPECT(table, 0, "mean_gb_per_s", 80.0 / 25);
	EXPECT(table, 0, "max_gb_per_s", 12);
	EXPECT(table, 0, "max_at_ms", 5);
	g_assert_cmpstr(tacho_table_cell_text(table, 1, "kind"), ==, "DtoH");
	EXPECT(table, 1, "count", 3);
	EXPECT(table, 1, "total_ms", 2);
	g_assert_null(tacho_table_cell_text(table, 1, "mean_gb_per_s"));
	g_assert_cmpstr(tacho_table_cell_text(table, 2, "kind"), ==, "memset");
	EXPECT(table, 2, "mean_gb_per_s", 1);
}

/* A thousand copies of 1 MB in 1 ms, one after another with 1 ms between, and one of 9 MB among them. */
static void test_thinned(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 thread 1 main\nstream 7\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoTable) table = NULL;
	gdouble most = 0, most_ms = 0;
	guint n;

	for (guint i = 0; i < 1000; i++)
		g_string_append_printf(text, "memcpy \"Memcpy DtoD\" %u..%u bytes=%u\n", 2 * i,
				       2 * i + 1, i == 777 ? 9000000 : 1000000);
	timeline = timeline_from_text(text->str);
	table = tacho_view_bandwidth_curve(timeline, NULL);
	n = tacho_table_n_rows(table);
	g_assert_cmpuint(n, >, 100);
	g_assert_cmpuint(n, <=, 200);
	for (guint i = 0; i < n; i++) {
		gdouble value = tacho_table_cell_number(table, i, "gb_per_s");

		if (value > most)
			most_ms = tacho_table_cell_number(table, i, "at_ms");
		most = MAX(most, value);
		g_assert_true(i == 0 || tacho_table_cell_number(table, i, "at_ms") >
						tacho_table_cell_number(table, i - 1, "at_ms"));
	}
	g_assert_cmpfloat(most, ==, 9);
	g_assert_cmpfloat(most_ms, ==, 2 * 777);
	EXPECT(table, n - 1, "at_ms", 1999);
	g_assert_cmpfloat(tacho_table_cell_number(table, n - 1, "gb_per_s"), ==, 0);
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(table, 0), "1 curve has more"));
}

static void test_nothing(void)
{
	g_autoptr(TachoTimeline) host = timeline_from_text("rank 0 thread 1 main\n"
							   "  op aten::mm 0..10\n");
	g_autoptr(TachoTable) depths = tacho_view_queue_curve(host, NULL);
	g_autoptr(TachoTable) rates = tacho_view_bandwidth_curve(host, NULL);
	g_autoptr(TachoTable) kinds = tacho_view_bandwidth(host, NULL);

	g_assert_cmpuint(tacho_table_n_rows(depths), ==, 0);
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(depths, 0), "No work of a device"));
	g_assert_cmpuint(tacho_table_n_rows(rates), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(rates, 0), ==,
			"No copies or fills of a device (GPU) were recorded.");
	g_assert_cmpuint(tacho_table_n_rows(kinds), ==, 0);
	g_assert_cmpuint(tacho_table_n_notes(kinds), >, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/curve_views/queue", test_queue);
	g_test_add_func("/curve_views/queue_of_steps", test_queue_of_steps);
	g_test_add_func("/curve_views/bandwidth_curve", test_bandwidth_curve);
	g_test_add_func("/curve_views/bandwidth", test_bandwidth);
	g_test_add_func("/curve_views/thinned", test_thinned);
	g_test_add_func("/curve_views/nothing", test_nothing);
	return g_test_run();
}
