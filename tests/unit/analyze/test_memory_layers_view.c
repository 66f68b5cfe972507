/* Memory in each form, by hand. */
#include <tacho/analyze.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* The driver hands 2000 out, of which the allocator has 800 at most by what was seen, and 1000 by its own account. */
static const gchar text[] = "rank 0 thread 1 main\n"
			    "  op aten::mm 0..50\n"
			    "  alloc 1 address=4096 bytes=2000 device=0 driver\n"
			    "  alloc 3 address=4096 bytes=500 device=0\n"
			    "  alloc 4 address=4596 bytes=300 device=0\n"
			    "  free 8 address=4096 bytes=500 device=0\n"
			    "  sample \"allocated bytes, device 0\" 3 700\n"
			    "  sample \"allocated bytes, device 0\" 4 1000\n"
			    "  sample \"allocated bytes, device 0\" 8 500\n"
			    "  sample \"reserved bytes, device 0\" 3 2000\n"
			    "  sample \"CUDA pool: used bytes\" 5 64\n"
			    "  sample \"GPU_0_bfc fragmentation\" 5 0.5\n"
			    "  sample \"total_bytes_in_use of bin 2 of GPU_0_bfc\" 5 9\n"
			    "  sample \"total_bytes_in_use of GPU_0_bfc\" 5 10\n"
			    "  sample \"parameter bytes\" 5 11\n"
			    "  sample \"waves\" 5 12\n";

static void expect_row(const TachoTable *table, guint row, const gchar *memory, const gchar *layer,
		       const gchar *name)
{
	g_assert_cmpstr(tacho_table_cell_text(table, row, "memory"), ==, memory);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "layer"), ==, layer);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "name"), ==, name);
}

static void expect_bytes(const TachoTable *table, guint row, gdouble n, gdouble most, gdouble at_ms,
			 gdouble last)
{
	EXPECT(table, row, "count", n);
	EXPECT(table, row, "peak_bytes", most);
	EXPECT(table, row, "peak_at_ms", at_ms);
	EXPECT(table, row, "last_bytes", last);
}

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	TachoChunk chunk = { .bytes = 48, .device = 1, .state = TACHO_CHUNK_FREE };
	g_autoptr(TachoTable) table = NULL;

	g_array_append_val(timeline->chunks, chunk);
	g_array_append_val(timeline->chunks, chunk);
	table = tacho_view_memory_layers(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 8);
	expect_row(table, 0, "gpu 0", "driver", "blocks handed out");
	expect_bytes(table, 0, 1, 2000, 1, 2000);
	expect_row(table, 1, "gpu 0", "pool", "used");
	expect_row(table, 2, "gpu 0", "allocator", "blocks handed out");
	expect_bytes(table, 2, 2, 800, 4, 300);
	expect_row(table, 3, "gpu 0", "allocator", "handed out, its own account");
	expect_bytes(table, 3, 3, 1000, 4, 500);
	expect_row(table, 4, "gpu 0", "allocator", "reserved");
	expect_row(table, 5, "gpu 0", "chunks", "free chunks");
	EXPECT(table, 5, "last_bytes", 96);
	g_assert_null(tacho_table_cell_text(table, 5, "peak_bytes"));
	expect_row(table, 6, "GPU_0_bfc", "chunks", "chunks in use");
	expect_bytes(table, 6, 1, 10, 5, 10);
	expect_row(table, 7, "by category", "category", "parameter bytes");
}

static void test_filters(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GRegex) bfc = g_regex_new("bfc", 0, 0, NULL);
	g_autoptr(GRegex) other = g_regex_new("gpu 9", 0, 0, NULL);
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) table = NULL;

	filter.device = bfc;
	table = tacho_view_memory_layers(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_clear_pointer(&table, tacho_table_free);
	filter.device = other;
	table = tacho_view_memory_layers(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"No memory that matches 'gpu 9' was recorded.");
}

static void test_nothing(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::mm 0..10\n");
	g_autoptr(TachoTable) table = tacho_view_memory_layers(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"No memory was recorded in any form.");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/memory_layers_view/by_hand", test_by_hand);
	g_test_add_func("/memory_layers_view/filters", test_filters);
	g_test_add_func("/memory_layers_view/nothing", test_nothing);
	return g_test_run();
}
