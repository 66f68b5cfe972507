#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include <math.h>
#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 thread 1 main\n"
		"  op aten::mm 0..20\n"
		"    kernel sgemm 1..11 flops=2000000 bytes=500000 dims=8x8x16\n"
		"  op aten::addmm 20..40\n"
		"    kernel sgemm 21..26 flops=2000000 bytes=500000 dims=8x8x16\n"
		"    kernel sgemm 30..34 dims=1x1x1\n"
		"  kernel reorder 40..42 dtype=float32 text=nchw\n");
	g_autoptr(TachoTable) table = NULL;

	tacho_correlate(timeline);
	g_array_set_size(timeline->steps, 0);
	add_step(timeline, 0, 0, 0, 100);
	table = tacho_view_kernel(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, "sgemm");
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "shape"), ==, "8x8x16");
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "op"), ==, "aten::mm");
	EXPECT(table, 0, "count", 2);
	EXPECT(table, 0, "total_ms", 15);
	EXPECT(table, 0, "share_pct", 15);
	EXPECT(table, 0, "mean_us", 7500);
	EXPECT(table, 0, "gflop_per_s", 4e6 / 15e6);
	EXPECT(table, 0, "gb_per_s", 1e6 / 15e6);
	g_assert_true(isnan(tacho_table_cell_number(table, 1, "gflop_per_s"))); /* not known */
	g_assert_cmpstr(tacho_table_cell_text(table, 2, "text"), ==, "nchw");
	g_assert_null(tacho_table_cell_text(table, 2, "op"));
}

static void test_device(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  kernel sgemm 0..9\n"
							       "  stream 7\n"
							       "  kernel gemm 0..10\n"
							       "  stream 7 device=1\n"
							       "  kernel gemm 0..20\n");
	TachoFilter filter = { .rank = -1,
			       .first_step = -1,
			       .last_step = -1,
			       .device = g_regex_new("gpu 1", 0, 0, NULL) };
	g_autoptr(TachoTable) table = tacho_view_kernel(timeline, &filter);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	EXPECT(table, 0, "total_ms", 20);
	g_clear_pointer(&table, tacho_table_free);
	g_regex_unref(filter.device);
	filter.device = g_regex_new("gpu 2", 0, 0, NULL);
	table = tacho_view_kernel(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(
		tacho_table_borrow_note(table, 0), ==,
		"No device stream with work in the chosen ranks and steps matches 'gpu 2'.");
	g_regex_unref(filter.device);
}

static void test_static_kernels(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 thread 1 main\n"
		"  op aten::mm 0..20\n"
		"  mark no_kernels 1 text=\"BLAS is linked into libtorch_cpu.so.\"\n"
		"rank 1 thread 2 main\n"
		"  mark no_kernels 1 text=\"BLAS is linked into libtorch_cpu.so.\"\n");
	g_autoptr(TachoTable) table = tacho_view_kernel(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"BLAS is linked into libtorch_cpu.so.");
	g_assert_cmpuint(tacho_table_n_notes(table), ==, 2); /* once, and the steps */
}

/* A V100 does 15.7 T operations a second on 32 bits and 125 T on 16. */
static void test_device_work(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"unit us\n"
		"rank 0 thread 1 main\n"
		"  device 0 'Tesla V100-SXM2-16GB'\n"
		"  op aten::mm 0..10 in=float32[1000,1000]@1 in=float32[1000,785]@2 "
		"out=float32[1000,785]@3\n"
		"    runtime one 1..2\n"
		"  op aten::mm 10..20 in=float16[1000,1000]@1 in=float16[1000,1250]@2 "
		"out=float16[1000,1250]@3\n"
		"    runtime two 11..12\n"
		"  op aten::mm 20..30 in=float32[1000,1000]@1 in=float32[1000,785]@2 "
		"out=float32[1000,785]@3\n"
		"    runtime convert 21..22\n"
		"    runtime three 23..24\n"
		"  op aten::mm 30..40 in=float64[1000,1000]@1 in=float64[1000,785]@2 "
		"out=float64[1000,785]@3\n"
		"    runtime four 31..32\n"
		"  op aten::mystery 40..50\n"
		"    runtime five 41..42\n"
		"stream 7\n"
		"  kernel sgemm 100..300 launch=one\n" /* 1.57e9 flops in 200 us: 7.85 T/s */
		"  kernel hgemm 300..500 launch=two\n" /* 2.5e9: 12.5 T/s */
		"  kernel half 500..600 launch=convert\n"
		"  kernel other_half 600..700 launch=three\n"
		"  kernel dgemm 700..750 launch=four\n"
		"  kernel mystery 750..770 launch=five\n");
	g_autoptr(TachoTable) table = NULL;

	tacho_correlate(timeline);
	table = tacho_view_kernel(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 6);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, "sgemm");
	EXPECT(table, 0, "gflop_per_s", 7850);
	EXPECT(table, 0, "peak_pct", 50);
	EXPECT(table, 0, "flops", 1.57e9);
	EXPECT(table, 1, "gflop_per_s", 12500);
	EXPECT(table, 1, "peak_pct", 10);
	for (guint row = 2; row < 4; row++) { /* which of the two did what, nothing tells */
		g_assert_true(isnan(tacho_table_cell_number(table, row, "gflop_per_s")));
		g_assert_true(isnan(tacho_table_cell_number(table, row, "peak_pct")));
		g_assert_true(isnan(tacho_table_cell_number(table, row, "flops")));
	}
	g_assert_cmpstr(tacho_table_cell_text(table, 4, "name"), ==, "dgemm");
	EXPECT(table, 4, "gflop_per_s", 31400); /* no peak of 64 bits is known */
	g_assert_true(isnan(tacho_table_cell_number(table, 4, "peak_pct")));
	g_assert_true(isnan(tacho_table_cell_number(table, 5, "gflop_per_s")));
}

/* Many kernels are sampled by stretches, and a rare one outside them has a rate all the same. */
static void test_many_kernels(void)
{
	enum {
		N = 20000,
		RARE = 1500
	}; /* the second stretch of 1024, of which one in three is asked for */
	g_autoptr(GString) text = g_string_new("unit us\nrank 0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoTable) table = NULL;

	for (guint i = 0; i < N; i++)
		g_string_append_printf(text,
				       "  op aten::mm %u..%u in=float32[1000,1000]@1 "
				       "in=float32[1000,%u]@2 out=float32[1000,%u]@3\n"
				       "    runtime r%u %u..%u\n",
				       10 * i, 10 * i + 9, i == RARE ? 250 : 500,
				       i == RARE ? 250 : 500, i, 10 * i + 1, 10 * i + 2);
	g_string_append(text, "stream 7\n");
	for (guint i = 0; i < N; i++)
		g_string_append_printf(text, "  kernel %s %u..%u launch=r%u\n",
				       i == RARE ? "rare" : "usual", 10 * i + 3, 10 * i + 8, i);
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	table = tacho_view_kernel(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	EXPECT(table, 0, "count", N - 1);
	EXPECT(table, 0, "gflop_per_s", 200000); /* 1e9 in 5 us */
	EXPECT(table, 1, "gflop_per_s", 100000);
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "flops"))); /* not all were asked */
	g_assert_nonnull(strstr(tacho_table_borrow_note(table, 0), "one stretch of kernels of 3"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel_view/by_hand", test_by_hand);
	g_test_add_func("/kernel_view/device", test_device);
	g_test_add_func("/kernel_view/static_kernels", test_static_kernels);
	g_test_add_func("/kernel_view/device_work", test_device_work);
	g_test_add_func("/kernel_view/many_kernels", test_many_kernels);
	return g_test_run();
}
