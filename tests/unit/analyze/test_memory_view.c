#include <tacho/analyze.h>

#include <math.h>
#include <string.h>

#include "analyze/memory_blocks.h"
#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Held: 100 from 1, 400 from 11, 300 from 15, 350 from 25 (50 outside of all), 250 from 35, 650 from 41 on
 * (400 in a module only), 250 from 45. */
static const gchar one_rank[] = "rank 0 thread 1 main\n"
				"  op aten::linear 0..10\n"
				"    op aten::empty 1..2\n"
				"    alloc 1 address=1 bytes=100\n"
				"  op aten::empty 10..20\n"
				"  alloc 11 address=2 bytes=300\n"
				"  free 15 address=1 bytes=100\n"
				"  alloc 25 address=3 bytes=50\n"
				"  free 30 address=99 bytes=7777\n"
				"  op aten::addmm 33..38\n"
				"  alloc 34 address=4 bytes=200\n"
				"  free 35 address=2 bytes=300\n"
				"  module Block 40..50\n"
				"  alloc 41 address=5 bytes=400\n"
				"  free 45 address=5 bytes=400\n";

static guint find_row(const TachoTable *table, const gchar *name)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (strcmp(tacho_table_cell_text(table, row, "name"), name) == 0)
			return row;
	g_error("no row '%s'", name);
}

/* Kineto told no addresses at first: held are 100, 200, 500, 400, 700, 400 and 300. What is given back is the last of its
 * size, and of what was there before nothing counts. */
static const gchar without_addresses[] = "rank 0 thread 1 main\n"
					 "  free 0 address=0 bytes=7777\n"
					 "  op aten::linear 0..10\n"
					 "    alloc 1 address=0 bytes=100\n"
					 "    alloc 2 address=0 bytes=100\n"
					 "    alloc 3 address=0 bytes=300\n"
					 "  op aten::relu 10..30\n"
					 "    free 11 address=0 bytes=100\n"
					 "    alloc 12 address=0 bytes=300\n"
					 "    free 13 address=0 bytes=300\n"
					 "    free 14 address=0 bytes=100\n";

static void test_without_addresses(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(without_addresses);
	g_autoptr(TachoTable) table = tacho_view_memory(timeline, NULL);
	guint linear = find_row(table, "aten::linear"), relu = find_row(table, "aten::relu");

	EXPECT(table, relu, "memory_peak_bytes", 700);
	EXPECT(table, relu, "peak_at_ms", 12);
	EXPECT(table, relu, "peak_bytes", 300);
	EXPECT(table, relu, "kept_bytes", 0);
	EXPECT(table, relu, "mean_life_ms", 1);
	EXPECT(table, linear, "peak_bytes", 400);
	EXPECT(table, linear, "kept_bytes", 300);
	EXPECT(table, linear, "mean_life_ms", (9 + 13) / 2.0);
}

/* What is handed out and given back at one moment is not there behind it. */
static void test_one_moment(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::linear 0..10\n"
							       "    alloc 1 address=1 bytes=100\n"
							       "    free 1 address=1 bytes=100\n"
							       "    alloc 5 address=2 bytes=30\n");
	g_autoptr(TachoTable) table = tacho_view_memory(timeline, NULL);

	EXPECT(table, 0, "memory_peak_bytes", 30);
	EXPECT(table, 0, "kept_bytes", 30);
}

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_rank);
	g_autoptr(TachoTable) table = tacho_view_memory(timeline, NULL);
	guint empty = find_row(table, "aten::empty"), addmm = find_row(table, "aten::addmm");
	guint outside = find_row(table, "(outside of all)"), block = find_row(table, "Block");
	gdouble at_peak = 0;

	/* 300 + 50 + 200 = 550 at 34, 650 at 41 */
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 4);
	g_assert_cmpuint(block, ==, 0);
	EXPECT(table, block, "peak_bytes", 400);
	EXPECT(table, block, "memory_peak_bytes", 650);
	EXPECT(table, block, "peak_at_ms", 41);
	EXPECT(table, block, "peak_pct", 100.0 * 400 / 650);
	EXPECT(table, block, "mean_life_ms", 4);
	EXPECT(table, block, "kept_bytes", 0);
	EXPECT(table, addmm, "peak_bytes", 200);
	EXPECT(table, addmm, "kept_bytes", 200);
	g_assert_true(isnan(tacho_table_cell_number(table, addmm, "mean_life_ms")));
	EXPECT(table, outside, "peak_bytes", 50);
	EXPECT(table, empty, "peak_bytes", 0);
	EXPECT(table, empty, "count", 2);
	EXPECT(table, empty, "allocated_bytes", 400);
	EXPECT(table, empty, "largest_bytes", 300);
	EXPECT(table, empty, "mean_life_ms", (14 + 24) / 2.0);
	for (guint row = 0; row < 4; row++)
		at_peak += tacho_table_cell_number(table, row, "peak_bytes");
	g_assert_cmpfloat(at_peak, ==, 650);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"Rank 0, host, held most: 0.001 MB, at 41.000 ms (1 MB is 10^6 bytes).");
}

/* Steps asked for by number: the peak in them, what is held when one begins included. */
static void test_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_rank);
	TachoFilter filter = { .rank = -1, .first_step = 1, .last_step = 1 };
	g_autoptr(TachoTable) table = NULL;
	guint empty;

	add_step(timeline, 0, 0, 0, 12);
	add_step(timeline, 0, 1, 12, 26);
	add_step(timeline, 0, 2, 26, 60);
	table = tacho_view_memory(timeline, &filter);
	empty = find_row(table, "aten::empty");
	EXPECT(table, empty, "memory_peak_bytes", 400); /* at its begin */
	EXPECT(table, empty, "peak_at_ms", 12);
	EXPECT(table, empty, "peak_bytes", 400);
	EXPECT(table, empty, "peak_blocks", 2);
	EXPECT(table, empty, "count", 0); /* both were handed out before */
	EXPECT(table, find_row(table, "(outside of all)"), "count", 1);
	g_clear_pointer(&table, tacho_table_free);
	filter.first_step = filter.last_step = 2;
	table = tacho_view_memory(timeline, &filter);
	EXPECT(table, 0, "memory_peak_bytes", 650);
	g_clear_pointer(&table, tacho_table_free);
	table = tacho_view_memory(timeline, NULL); /* warm-up left out, but not for what is held */
	EXPECT(table, 0, "memory_peak_bytes", 650);
	for (guint row = 0; row < tacho_table_n_rows(table);
	     row++) /* was handed out before, is back */
		g_assert_cmpstr(tacho_table_cell_text(table, row, "name"), !=, "aten::empty");
}

/* The memories of a rank, and ranks, are told apart. */
static void test_devices(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n"
				   "  op aten::empty 0..10\n"
				   "  alloc 1 address=1 bytes=100\n"
				   "  alloc 2 address=2 bytes=60 device=0\n"
				   "  alloc 3 address=3 bytes=50 device=1\n"
				   "  free 4 address=2 bytes=60 device=0\n"
				   "  alloc 5 address=2 bytes=20 device=0\n"
				   "rank 1 thread 2 main\n"
				   "  alloc 2 address=2 bytes=70 device=0\n");
	TachoFilter filter = { .rank = 0,
			       .first_step = -1,
			       .last_step = -1,
			       .device = g_regex_new("gpu 0", 0, 0, NULL) };
	g_autoptr(TachoTable) table = tacho_view_memory(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 4);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "memory"), ==, "host");
	EXPECT(table, 1, "rank", 1);
	EXPECT(table, 1, "peak_bytes", 70);
	g_assert_cmpstr(tacho_table_cell_text(table, 2, "memory"), ==, "gpu 0");
	EXPECT(table, 2, "peak_bytes", 60);
	EXPECT(table, 2, "kept_bytes", 20);
	g_clear_pointer(&table, tacho_table_free);
	table = tacho_view_memory(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_regex_unref(filter.device);
}

/* What one thread had handed out, another gives back; a worker process has addresses of its own. */
static void test_threads(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  alloc 1 address=1 bytes=100\n"
							       "  thread 2\n"
							       "  free 5 address=1 bytes=100\n"
							       "  alloc 6 address=2 bytes=70\n"
							       "process 77 thread 3\n"
							       "  alloc 2 address=1 bytes=1000\n"
							       "rank 1 thread 4\n"
							       "  alloc 2 address=1 bytes=30\n");
	g_autoptr(TachoTable) table = tacho_view_memory(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	EXPECT(table, 0, "memory_peak_bytes", 100);
	EXPECT(table, 0, "kept_bytes", 70);
	EXPECT(table, 0, "mean_life_ms", 4);
	EXPECT(table, 1, "rank", 1);
	EXPECT(table, 1, "memory_peak_bytes", 30);
}

/* The allocator's own totals: what was before the recording, and what it keeps. */
static void test_totals(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n"
				   "  alloc 10 address=1 bytes=1000000 device=1\n"
				   "  alloc 10 address=2 bytes=500\n"
				   "  sample other 10 99\n"
				   "  sample 'allocated bytes, device 0' 10 777\n"
				   "  sample 'allocated bytes, device 1' 10 4000000\n"
				   "  sample 'reserved bytes, device 1' 10 5000000\n"
				   "  sample 'allocated bytes, device 1' 20 6000000\n"
				   "  sample 'reserved bytes, device 1' 20 8000000\n"
				   "  sample 'allocated bytes, device 1' 30 6000000\n"
				   "  sample 'reserved bytes, device 1' 30 9000000\n");
	g_autoptr(TachoTable) table = tacho_view_memory(timeline, NULL);

	g_assert_cmpstr(tacho_table_cell_text(table, 0, "memory"), ==, "gpu 1");
	EXPECT(table, 0, "memory_peak_bytes", 1000000);
	EXPECT(table, 0, "allocator_peak_bytes", 6000000);
	EXPECT(table, 0, "allocator_reserved_bytes", 8000000);
	g_assert_cmpstr(tacho_table_borrow_note(table, 1), ==,
			"Its allocator had handed out 6.000 MB at most, of 8.000 MB reserved then; "
			"25 % of that was free.");
	g_assert_true(isnan(tacho_table_cell_number(table, 1, "allocator_peak_bytes"))); /* host */
}

static void test_names_and_nothing(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_rank);
	g_autoptr(TachoTimeline) without = timeline_from_text("rank 0 thread 1 main\n"
							      "  op aten::mm 0..10\n");
	TachoFilter filter = { .rank = -1,
			       .first_step = -1,
			       .last_step = -1,
			       .name = g_regex_new("addmm", 0, 0, NULL) };
	g_autoptr(TachoTable) table = tacho_view_memory(timeline, &filter);
	g_autoptr(TachoTable) empty = tacho_view_memory(without, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	EXPECT(table, 0, "peak_pct", 100.0 * 200 / 650); /* of all, not of what is shown */
	g_assert_cmpuint(tacho_table_n_rows(empty), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(empty, 0), ==, "No allocations were recorded.");
	g_regex_unref(filter.name);
}

/* What an allocator hands out lies in what it took of the driver, and its first block has the same address: each layer has its own
 * peak, and where both tell of a memory, only the allocator's counts as held. */
static const gchar two_layers[] = "rank 0 thread 1 main\n"
				  "  runtime cudaMalloc 0..2\n"
				  "  alloc 1 address=4096 bytes=2000 device=0 driver\n"
				  "  op aten::mm 2..10\n"
				  "  alloc 3 address=4096 bytes=500 device=0\n"
				  "  alloc 4 address=4596 bytes=300 device=0\n"
				  "  free 8 address=4096 bytes=500 device=0\n"
				  "  free 20 address=4096 bytes=2000 device=0 driver\n"
				  "  alloc 30 address=64 bytes=700 device=1 driver\n";

static void expect_layer(const TachoTable *table, guint row, const gchar *memory,
			 const gchar *layer, gdouble peak)
{
	g_assert_cmpstr(tacho_table_cell_text(table, row, "memory"), ==, memory);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "layer"), ==, layer);
	EXPECT(table, row, "memory_peak_bytes", peak);
}

static void test_layers(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_layers);
	g_autoptr(TachoTable) table = tacho_view_memory(timeline, NULL);
	g_autoptr(TachoTable) curve = tacho_view_memory_curve(timeline, NULL);
	g_autoptr(GArray) blocks = memory_blocks_of_process(timeline, 0);
	const struct memory_block *block = (const struct memory_block *)(gconstpointer)blocks->data;

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	expect_layer(table, 0, "gpu 0", "driver", 2000);
	EXPECT(table, 0, "mean_life_ms", 19);
	expect_layer(table, 1, "gpu 0", "allocator", 800);
	EXPECT(table, 1, "kept_bytes", 300);
	expect_layer(table, 2, "gpu 1", "driver", 700);
	g_assert_cmpstr(
		tacho_table_borrow_note(table, 0), ==,
		"Rank 0, gpu 0 (driver), held most: 0.002 MB, at 1.000 ms (1 MB is 10^6 bytes).");
	g_assert_cmpuint(tacho_table_n_rows(curve), ==, 6);
	g_assert_cmpstr(tacho_table_cell_text(curve, 3, "layer"), ==, "driver");
	EXPECT(curve, 3, "held_bytes", 2000);
	g_assert_cmpuint(blocks->len, ==, 3);
	g_assert_cmpint(block[0].bytes, ==, 500);
	g_assert_cmpint(block[2].bytes, ==, 700);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/memory_view/without_addresses", test_without_addresses);
	g_test_add_func("/memory_view/one_moment", test_one_moment);
	g_test_add_func("/memory_view/by_hand", test_by_hand);
	g_test_add_func("/memory_view/steps", test_steps);
	g_test_add_func("/memory_view/devices", test_devices);
	g_test_add_func("/memory_view/threads", test_threads);
	g_test_add_func("/memory_view/totals", test_totals);
	g_test_add_func("/memory_view/names_and_nothing", test_names_and_nothing);
	g_test_add_func("/memory_view/layers", test_layers);
	return g_test_run();
}
