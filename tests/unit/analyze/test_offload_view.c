/* Before, in and after the device, computed by hand. */
#include <tacho/analyze.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

static void expect_row(const TachoTable *table, guint row, const gchar *kind, const gchar *size)
{
	g_assert_cmpstr(tacho_table_cell_text(table, row, "kind"), ==, kind);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "size"), ==, size);
}

/* The kernel is launched in 4 ms, waits for 6, takes 20, and is seen 15 ms later, when the wait ends that began while it ran. Of the copies two are small; the last is seen by
 * nobody. */
static const gchar text[] =
	"rank 0 thread 1 main\n"
	"  runtime cudaLaunchKernel 0..4\n"
	"  runtime first 5..6\n"
	"  runtime cudaStreamSynchronize 20..45\n"
	"  runtime second 50..53\n"
	"  runtime third 60..61\n"
	"  stream 7\n"
	"  kernel a 10..30 launch=cudaLaunchKernel\n"
	"  memcpy \"Memcpy HtoD (Pinned -> Device)\" 30..31 bytes=4096 launch=first\n"
	"  memcpy \"Memcpy HtoD (Pinned -> Device)\" 55..58 bytes=1000 launch=second\n"
	"  memcpy \"Memcpy HtoD (Pinned -> Device)\" 61..71 bytes=50000000 launch=third\n";

static void test_offload(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoTable) table = tacho_view_offload(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	expect_row(table, 0, "kernel", "");
	EXPECT(table, 0, "count", 1);
	EXPECT(table, 0, "call_mean_us", 4000);
	EXPECT(table, 0, "queued_mean_us", 6000);
	EXPECT(table, 0, "device_mean_us", 20000);
	EXPECT(table, 0, "seen_mean_us", 15000);
	expect_row(table, 1, "HtoD", "to 4 KiB");
	EXPECT(table, 1, "count", 2);
	EXPECT(table, 1, "bytes", 5096);
	EXPECT(table, 1, "call_mean_us", 2000);
	EXPECT(table, 1, "queued_mean_us", 13000);
	EXPECT(table, 1, "device_mean_us", 2000);
	EXPECT(table, 1, "seen_mean_us", 14000);
	expect_row(table, 2, "HtoD", "to 256 MiB");
	EXPECT(table, 2, "mean_gb_per_s", 5);
	EXPECT(table, 2, "queued_mean_us", 0);
	g_assert_null(tacho_table_cell_text(table, 2, "seen_mean_us"));
}

static void test_nothing(void)
{
	g_autoptr(TachoTimeline) host = timeline_from_text("rank 0 thread 1 main\n"
							   "  op aten::mm 0..10\n");
	g_autoptr(TachoTable) table = tacho_view_offload(host, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_true(g_str_has_prefix(tacho_table_borrow_note(table, 0), "No work of a device"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/offload_view/offload", test_offload);
	g_test_add_func("/offload_view/nothing", test_nothing);
	return g_test_run();
}
