/* Another accelerator, on timelines whose results can be computed by hand. Times are microseconds. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "cost/device_table.h"
#include "predicted.h"
#include "timeline_text.h"

/* On a V100, fp32 on its 15.7 T/s and 900 GB/s:
 *   mm     2 * 1000^3 operations and 12 MB: by arithmetic, for 127 us at least and 13 for the memory
 *   relu   1 M operations and 8 MB: by memory
 *   other  nobody knows: by memory
 * and in half precision a product of 2 * 1000^3 and 6 MB, which at 125 T/s takes 16 us, and 6.7 for the memory. */
#define KERNELS(mark)                                                                              \
	"unit us\n"                                                                                \
	"rank 0 thread 1000 main\n" mark "  annotation ProfilerStep#0 0..1000\n"                   \
	"    op aten::mm 0..10 in=float32[1000,1000] in=float32[1000,1000] "                       \
	"out=float32[1000,1000]\n"                                                                 \
	"      runtime cudaLaunchKernel 0..10\n"                                                   \
	"    op aten::relu 10..20 in=float32[1000000] out=float32[1000000]\n"                      \
	"      runtime cudaLaunchKernel#2 10..20\n"                                                \
	"    op other 20..30\n"                                                                    \
	"      runtime cudaLaunchKernel#3 20..30\n"                                                \
	"    op aten::mm 30..40 in=float16[1000,1000] in=float16[1000,1000] "                      \
	"out=float16[1000,1000]\n"                                                                 \
	"      runtime cudaLaunchKernel#4 30..40\n"                                                \
	"    runtime cudaMemcpyAsync 40..50\n"                                                     \
	"    runtime cudaMemcpyAsync#2 50..60\n"                                                   \
	"    runtime cudaDeviceSynchronize 60..1000\n"                                             \
	"stream 7\n"                                                                               \
	"  kernel sgemm 100..300 launch=cudaLaunchKernel\n"                                        \
	"  kernel relu 300..400 launch=cudaLaunchKernel#2\n"                                       \
	"  kernel other 400..500 launch=cudaLaunchKernel#3\n"                                      \
	"  kernel hgemm 500..600 launch=cudaLaunchKernel#4\n"                                      \
	"  memcpy \"Memcpy DtoD (Device -> Device)\" 600..700 launch=cudaMemcpyAsync\n"            \
	"  memcpy \"Memcpy DtoH (Device -> Pageable)\" 700..800 launch=cudaMemcpyAsync#2\n"

static const gchar untold[] = KERNELS("");
static const gchar v100[] = KERNELS("  device 0 'Tesla V100-SXM2-16GB'\n");
static const gchar strange[] = KERNELS("  device 0 'Abacus'\n");

static gdouble least(gdouble flops, gdouble bytes)
{
	return MAX(flops, bytes);
}

static void test_known(void)
{
	const gdouble product = 2e9, sum_bytes = 8e6, wide_bytes = 12e6, half_bytes = 6e6;
	/* an A100 of 80 GB: 19.5 and 312 T/s, 2039 GB/s */
	gdouble sgemm = 200 * least(product / 19.5e6, wide_bytes / 2039e3) /
			least(product / 15.7e6, wide_bytes / 900e3);
	gdouble memory = 900.0 / 2039;
	gdouble hgemm = 100 * least(product / 312e6, half_bytes / 2039e3) /
			least(product / 125e6, half_bytes / 900e3);

	g_assert_cmpfloat_with_epsilon(sgemm, 200 * 15.7 / 19.5, 1e-9);
	g_assert_cmpfloat_with_epsilon(hgemm, 100 * 125 / 312.0, 1e-9);
	g_assert_cmpfloat(sum_bytes / 900e3, >, 1e6 / 15.7e6);
	assert_predicted(v100, "device=A100-80GB,efficiency:equal",
			 100 + sgemm + 3 * 100 * memory + hgemm + 100 + 200);
	assert_predicted(untold, "device=A100-80GB:V100,efficiency:equal",
			 100 + sgemm + 3 * 100 * memory + hgemm + 100 + 200);
	assert_predicted(v100, "device=V100,efficiency:equal", 1000);
	/* by the T4's 320 GB/s, the product in half precision is bound by its arithmetic still: 65 T/s */
	assert_predicted(v100, "device=T4,efficiency:equal",
			 100 + 200 * 15.7 / 8.1 + 300 * 900 / 320.0 + 100 * 125 / 65.0 + 100 + 200);
}

/* Filling memory goes with the memory's bandwidth, a copy to the host stays. */
static void test_fill(void)
{
	static const gchar fill[] =
		"unit us\n"
		"rank 0 thread 1000 main\n"
		"  annotation ProfilerStep#0 0..500\n"
		"    runtime cudaMemsetAsync 0..10\n"
		"    runtime cudaMemcpyAsync 10..20\n"
		"    runtime cudaLaunchKernel 20..30\n"
		"    runtime cudaDeviceSynchronize 30..500\n"
		"stream 7\n"
		"  memset \"Memset (Device)\" 100..200 launch=cudaMemsetAsync\n"
		"  memcpy \"Memcpy DtoH (Device -> Pageable)\" 200..300 launch=cudaMemcpyAsync\n"
		"  kernel vectorized_elementwise_kernel 300..400 launch=cudaLaunchKernel\n";

	assert_predicted(fill, "device=A100-80GB:V100,efficiency:equal",
			 100 + 2 * 100 * 900 / 2039.0 + 100 + 100);
}

/* An operation that changes sides: on an L4 of 121 T/s and 300 GB/s, 2e9 operations take 16.5 us, 6 MB 20. */
static void test_other_side(void)
{
	assert_predicted(
		v100, "device=L4,efficiency:equal",
		100 + 200 * 40.0 / (2e9 / 15.7e6) * (2e9 / 30.3e6 > 40 ? 2e9 / 30.3e6 / 40 : 1) +
			300 * 3 + 100 * 20 / 16.0 + 100 + 200);
}

/* A rank: a product on a V100, of which the host waits for the end, and an all-reduce of 40 us. */
#define RANK(number, device)                                                                       \
	"rank " number " thread 1000 main\n"                                                       \
	"  device 0 '" device "'\n"                                                                \
	"  annotation ProfilerStep#0 0..400\n"                                                     \
	"    op aten::mm 0..10 in=float32[1000,1000] in=float32[1000,1000] "                       \
	"out=float32[1000,1000]\n"                                                                 \
	"      runtime cudaLaunchKernel 0..10\n"                                                   \
	"    runtime cudaDeviceSynchronize 10..300\n"                                              \
	"    op c10d::allreduce_ 300..301\n"                                                       \
	"    op b 341..400\n"                                                                      \
	"    collective gloo:all_reduce 301..341 bytes=1024 end_tid=9\n"                           \
	"stream 7\n"                                                                               \
	"  kernel sgemm 100..300 launch=cudaLaunchKernel\n"

static const gchar two_v100[] =
	"unit us\n" RANK("0", "Tesla V100-SXM2-16GB") RANK("1", "Tesla V100-SXM2-16GB");
static const gchar unequal[] = "unit us\n" RANK("0", "Tesla V100-SXM2-16GB") RANK("1", "Tesla T4");

static gdouble predicted_us(const gchar *text, const gchar *what_ifs, gboolean is_unfolded)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_ifs, &error);

	g_assert_no_error(error);
	if (!is_unfolded)
		return prediction->predicted_step_ms * 1000;
	tacho_prediction_unfold(prediction, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(prediction->unfolded_ranks, ==, 8);
	return prediction->unfolded_step_ms * 1000;
}

/* Some of the ranks are on another device: the others wait for them at the all-reduce. */
static void test_some_ranks(void)
{
	gdouble slow_us = 200 * 15.7 / 8.1, fast_us = 200 * 15.7 / 19.5;

	assert_predicted(two_v100, "device:1=T4,efficiency:equal", 100 + slow_us + 100);
	assert_predicted(two_v100, "device:0-1=T4,efficiency:equal", 100 + slow_us + 100);
	assert_predicted(two_v100,
			 "device:0=T4,efficiency:equal;device:1=A100-80GB,efficiency:equal",
			 100 + slow_us + 100);
	assert_predicted(two_v100, "device:0,1=A100-80GB,efficiency:equal", 100 + fast_us + 100);
	/* as fast as the other was: nobody waits for it */
	assert_predicted(two_v100, "device:1=A100-80GB,efficiency:equal", 400);
	assert_predicted(two_v100,
			 "device:1=A100-80GB,efficiency:equal;device:0=A100-80GB,efficiency:equal",
			 100 + fast_us + 100);
	/* 1.5 times on one of them only, and then on none */
	assert_predicted(two_v100, "scale:1:kernel~sgemm=1.5", 500);
	assert_predicted(two_v100, "drop:0:kernel~sgemm", 400);
	/* half the rate of what the one product is bound by, on one */
	assert_predicted(two_v100, "device:1=bytes:0.5x", 600);
	/* each on what it was recorded on: the T4's kernel becomes as fast as on the V100 */
	assert_predicted(unequal, "device:1=V100,efficiency:equal", 400);
	assert_predicted(unequal, "device=V100,efficiency:equal;drop:0:kernel~sgemm",
			 100 + 200 * 8.1 / 15.7 + 100);
}

/* The same of copies that were not recorded; each by itself gives the same. */
static void test_copies(void)
{
	gdouble eight_us = predicted_us(two_v100, "ranks=8", FALSE);
	gdouble slower_us = 200 * 15.7 / 8.1 - 200;

	for (guint i = 0; i < 2; i++) {
		g_assert_cmpfloat_with_epsilon(
			predicted_us(two_v100, "ranks=8;device:4-7=T4,efficiency:equal", i),
			eight_us + slower_us, 0.01);
		g_assert_cmpfloat_with_epsilon(
			predicted_us(two_v100, "ranks=8;device:7=T4,efficiency:equal", i),
			eight_us + slower_us, 0.01);
		g_assert_cmpfloat_with_epsilon(
			predicted_us(two_v100, "ranks=8;device:0-3,7=A100-80GB,efficiency:equal",
				     i),
			eight_us, 0.01);
		/* what all were put on counts for those that are put on another: back, and further */
		g_assert_cmpfloat_with_epsilon(
			predicted_us(two_v100,
				     "ranks=8;device=A100-80GB,efficiency:equal;"
				     "device:6-7=V100,efficiency:equal",
				     i),
			eight_us, 0.01);
		g_assert_cmpfloat_with_epsilon(
			predicted_us(two_v100,
				     "ranks=8;device=A100-80GB,efficiency:equal;"
				     "device:5=T4,efficiency:equal",
				     i),
			eight_us + slower_us, 0.01);
	}
}

/* --- shares that were measured ------------------------------------------------------------------ */

static gchar *write_shares(const gchar *text)
{
	GError *error = NULL;
	gchar *path = NULL;
	gint file = g_file_open_tmp("tacho_shares_XXXXXX", &path, &error);

	g_assert_no_error(error);
	close(file);
	g_file_set_contents(path, text, -1, &error);
	g_assert_no_error(error);
	return path;
}

/* A V100 spends 20 us before it begins with a product, and reaches half its peak; an L4 does in 5 us, and a quarter. The
 * product's 180 us of work take (15.7 / 2) / (30.3 / 4) as long. What streams is as before. */
static void test_measured(void)
{
	g_autofree gchar *path = write_shares("[V100 gemm fp32]\nfloor_us=20\noperations=0.5\n"
					      "[L4 gemm fp32]\nfloor_us=5\noperations=0.25\n"
					      "[V100 gemm fp16]\noperations=0.25\n"
					      "[L4 gemm fp16]\nfloor_us=300\noperations=0.5\n");
	g_autofree gchar *what_if = g_strdup_printf("device=L4,efficiency:%s", path);
	g_autofree gchar *back = g_strdup_printf("%s;device=V100,efficiency:%s", what_if, path);
	gdouble sgemm = 5 + 180 * (15.7 / 2) / (30.3 / 4);
	/* a floor that one tells counts for both: the shorter kernel is as long as before */
	gdouble hgemm = 100;

	assert_predicted(v100, what_if, 100 + sgemm + 300 * 3 + hgemm + 100 + 200);
	assert_predicted(v100, back, 1000);
	g_assert_cmpint(g_remove(path), ==, 0);
}

/* A second device with the same chip has its shares: an A100-80GB those of an A100-40GB. */
static void test_chip(void)
{
	g_autofree gchar *path = write_shares("[V100-PCIe gemm fp32]\noperations=0.9\n"
					      "[A100-40GB gemm fp32]\noperations=0.6\n"
					      "[A100-PCIe-80GB gemm fp16]\noperations=0.1\n");
	g_autofree gchar *what_if = g_strdup_printf("device=A100-80GB,efficiency:%s", path);
	gdouble sgemm = 200 * (15.7 * 0.9) / (19.5 * 0.6), memory = 900.0 / 2039;

	assert_predicted(v100, what_if,
			 100 + sgemm + 3 * 100 * memory + 100 * 125 / 312.0 + 100 + 200);
	g_assert_cmpint(g_remove(path), ==, 0);
}

/* The host's 200 us after it has waited go by one factor, products by the other. */
static void test_host_and_library(void)
{
	assert_predicted(v100, "device=V100,host:2x", 100 + 700 + 100);
	assert_predicted(v100, "device=V100,library:2x", 1000 - 200 / 2.0 - 100 / 2.0);
	assert_predicted(v100, "device=L4,efficiency:equal,library:2,host:1",
			 100 + 200 * 15.7 / 30.3 / 2 + 300 * 3 + 100 * 20 / 16.0 / 2 + 100 + 200);
	assert_refused(v100, "device=L4,host:2,host:2", "each once");
	assert_refused(v100, "device=L4,efficiency:", "efficiency:FILE");
	assert_refused(v100, "device=L4,efficiency:equal,efficiency:equal", "each once");
	assert_refused(v100, "device=L4,library:0", "more than 0");
	assert_refused(v100, "device=L4,speed:2", "host:F");
}

/* From one maker to another, what was not measured is not assumed. */
static void test_makers(void)
{
	g_autofree gchar *path = write_shares("[V100 gemm]\noperations=0.5\n"
					      "[MI210 gemm]\noperations=0.5\n");
	g_autofree gchar *what_if = g_strdup_printf("device=MI210,efficiency:%s", path);

	assert_refused(v100, "device=MI210", "measured on devices of both makers");
	assert_refused(v100, "device=MI210,efficiency:equal", "only 0 %");
	/* 300 of 500 us are products */
	assert_predicted(v100, what_if,
			 100 + 200 * 15.7 / 22.6 + 200 * 900 / 1638.0 + 100 * 125 / 181.0 +
				 100 * 900 / 1638.0 + 100 + 200);
	g_assert_cmpint(g_remove(path), ==, 0);
}

static void test_nothing_known(void)
{
	static const gchar strange_kernels[] =
		"unit us\n"
		"rank 0 thread 1000 main\n"
		"  device 0 'Tesla T4'\n"
		"  annotation ProfilerStep#0 0..500\n"
		"    op other 0..10\n"
		"      runtime cudaLaunchKernel 0..10\n"
		"stream 7\n"
		"  kernel abracadabra 100..300 launch=cudaLaunchKernel\n";

	assert_refused(strange_kernels, "device=V100", "names tell what they do");
}

static void test_bad_files(void)
{
	static const struct {
		const gchar *text, *reason;
	} files[] = {
		{ "[Abacus gemm]\noperations=0.5\n", "[Abacus gemm]" },
		{ "[V100 sums]\noperations=0.5\n", "[V100 sums]" },
		{ "[V100 gemm fp7]\noperations=0.5\n", "[V100 gemm fp7]" },
		{ "[V100 gemm fp16 fp32]\noperations=0.5\n", "a section is called" },
		{ "[V100 gemm]\noperations=-1\n", "from 1e-06" },
		{ "[V100 gemm]\noperations=nan\n", "from 1e-06" },
		{ "[V100 gemm]\nbytes=1e9\n", "from 1e-06" },
		{ "[V100 gemm]\nbytes=0.5\nfloor_us=a\n", "from 1e-06" },
		{ "[V100 gemm]\nfloor_us=1\n", "neither" },
		{ "operations=0.5\n", "group" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree gchar *path = write_shares(files[i].text);
		g_autofree gchar *what_if = g_strdup_printf("device=L4,efficiency:%s", path);

		assert_refused(v100, what_if, files[i].reason);
		g_assert_cmpint(g_remove(path), ==, 0);
	}
	assert_refused(v100, "device=L4,efficiency:/nowhere/shares.ini", "/nowhere/shares.ini");
}

static void test_refusals(void)
{
	assert_refused(two_v100, "device:2=T4", "no rank 2");
	assert_refused(two_v100, "ranks=8;device:8=T4", "no rank 8");
	assert_refused(two_v100, "device:0-=T4", "as 4, 4-7");
	assert_refused(two_v100, "device:T4", "device:RANKS=NAME");
	assert_refused(two_v100, "device:1=Abacus", "A100-40GB");
	assert_refused(two_v100, "ranks=1;device:1=T4", "ranks=N");

	assert_refused(untold, "device=A100-80GB", "does not name the recorded device");
	assert_refused(strange, "device=A100-80GB", "'Abacus' is not a known device");
	assert_refused(v100, "device=Abacus", "A100-40GB");
	assert_refused(v100, "device=H100:Abacus", "'Abacus' is not a known device");
	assert_refused(v100, "device=", "device=NAME");
	assert_refused(v100, "device=H100:V100:T4", "device=NAME");
	assert_refused("unit us\nrank 0 thread 1000 main\n  annotation ProfilerStep#0 0..10\n"
		       "    op a 0..10\n",
		       "device=H100:A100", "no kernels");
}

static void test_table(void)
{
	static const struct {
		const gchar *recorded, *name;
	} devices[] = {
		{ "Tesla V100-SXM2-16GB", "V100" },
		{ "Tesla V100-PCIE-32GB", "V100-PCIe" },
		{ "NVIDIA A100-SXM4-80GB", "A100-80GB" },
		{ "NVIDIA A100-PG509-200", "A100-40GB" },
		{ "NVIDIA A100 80GB PCIe", "A100-PCIe-80GB" },
		{ "NVIDIA H100", "H100" },
		{ "NVIDIA H100 80GB HBM3", "H100" },
		{ "NVIDIA H100 PCIe", "H100-PCIe" },
		{ "NVIDIA L40S", "L40S" },
		{ "NVIDIA L4", "L4" },
		{ "NVIDIA A10", "A10" },
		{ "Tesla T4", "T4" },
		{ "NVIDIA GeForce RTX 4090", "RTX-4090" },
		{ "NVIDIA B200", "B200" },
		{ "AMD Instinct MI300X", "MI300X" },
		{ "h200", "H200" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(devices); i++) {
		const struct device_peak *device = device_find(devices[i].recorded);

		g_assert_nonnull(device);
		g_assert_cmpstr(device->name, ==, devices[i].name);
		for (guint rate = 0; rate < DEVICE_N_RATES; rate++)
			g_assert_cmpfloat(device_ops_per_ns(device, rate), >, 0);
		g_assert_true(g_str_has_prefix(device->source, "https://"));
	}
	g_assert_null(device_find("Abacus"));
	g_assert_null(device_find(""));
	/* no unit for bfloat16, nor for whole numbers: half precision, or else plain arithmetic */
	g_assert_cmpfloat(device_ops_per_ns(device_find("V100"), DEVICE_BF16), ==, 15700);
	g_assert_cmpfloat(device_ops_per_ns(device_find("V100"), DEVICE_INT8), ==, 125000);
	g_assert_cmpint(device_rate_of("float64"), ==, DEVICE_N_RATES);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/what_if_device/known", test_known);
	g_test_add_func("/what_if_device/fill", test_fill);
	g_test_add_func("/what_if_device/other_side", test_other_side);
	g_test_add_func("/what_if_device/some_ranks", test_some_ranks);
	g_test_add_func("/what_if_device/copies", test_copies);
	g_test_add_func("/what_if_device/measured", test_measured);
	g_test_add_func("/what_if_device/chip", test_chip);
	g_test_add_func("/what_if_device/host_and_library", test_host_and_library);
	g_test_add_func("/what_if_device/makers", test_makers);
	g_test_add_func("/what_if_device/nothing_known", test_nothing_known);
	g_test_add_func("/what_if_device/bad_files", test_bad_files);
	g_test_add_func("/what_if_device/refusals", test_refusals);
	g_test_add_func("/what_if_device/table", test_table);
	return g_test_run();
}
