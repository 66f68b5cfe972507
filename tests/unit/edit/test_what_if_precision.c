/* Numbers of another width, on a V100: 15.7 T/s in 32 bits, 125 in 16, 900 GB/s. Times are microseconds. */
#include <math.h>
#include <string.h>

#include "kernel_shares.h"
#include "predicted.h"
#include "timeline_text.h"

/* Each product is 2 * 1000^3 operations and 12 MB; the sum of 1 M numbers is bound by memory: 8 MB. */
#define PRODUCT "in=float32[1000,1000] in=float32[1000,1000] out=float32[1000,1000]"
static const gchar products[] =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  device 0 'Tesla V100-SXM2-16GB'\n"
	"  annotation ProfilerStep#0 0..1000\n"
	"    op aten::mm 0..10 seq=0 " PRODUCT "\n"
	"      runtime launch1 0..10\n"
	"    op aten::relu 10..20 seq=1 in=float32[1000000] out=float32[1000000]\n"
	"      runtime launch2 10..20\n"
	"    op other 20..30\n"
	"      runtime launch3 20..30\n"
	"    op MmBackward0 30..40 backward seq=0 fwd=1\n"
	"      op aten::mm 30..40 " PRODUCT "\n"
	"        runtime launch4 30..40\n"
	"    runtime cudaDeviceSynchronize 60..1000\n"
	"  alloc 5 address=4096 bytes=4000000\n"
	"  alloc 15 address=8192 bytes=4000000\n"
	"stream 7\n"
	"  kernel sgemm 100..300 launch=launch1\n"
	"  kernel relu 300..400 launch=launch2\n"
	"  kernel other 400..500 launch=launch3\n"
	"  kernel sgemm 500..700 launch=launch4\n";

static const struct kernel_demand mm = { KERNEL_GEMM, DEVICE_FP32, 2e9, 12e6, 0 };
static const struct kernel_demand relu = { KERNEL_ELEMENTWISE, DEVICE_FP32, 1e6, 8e6, 0 };

/* What they take in half precision. */
static gdouble product_us, relu_us;

static void test_part(void)
{
	/* Two inputs of the first are cast, then that of the relu, and both of the backward pass: 1 M numbers of
	 * 6 bytes each. */
	gdouble cast_us = 6e6 / 900e3;
	gdouble converted_us = 200 * precision_factor_on("V100", "V100", mm, 200, DEVICE_BF16);

	assert_predicted(products, "precision:op~^aten::mm$=fp16",
			 100 + (product_us + 2 * cast_us) + (100 + cast_us) + 100 +
				 (product_us + 2 * cast_us) + 300);
	/* of the forward operation alone, by its name; its backward pass goes with it */
	assert_predicted(products, "precision:op~mm=fp16:V100",
			 100 + (product_us + 2 * cast_us) + (100 + cast_us) + 100 +
				 (product_us + 2 * cast_us) + 300);
	/* the sum moves half: it is cast, and so is what the product after it reads of it */
	assert_predicted(products, "precision:op~relu=fp16",
			 100 + 200 + (relu_us + cast_us) + 100 + (200 + cast_us) + 300);
	/* no unit for bfloat16 on this device: numbers are converted on their way, and products are bound by arithmetic */
	g_assert_cmpfloat(converted_us, >, 200);
	assert_predicted(products, "precision:op~^aten::mm$=bf16",
			 100 + (converted_us + 2 * cast_us) + (100 + cast_us) + 100 +
				 (converted_us + 2 * cast_us) + 300);
	assert_predicted(products, "precision:op~^aten::mm$=fp32", 1000);
}

static void test_whole(void)
{
	assert_predicted(products, "precision=fp16",
			 100 + product_us + relu_us + 100 + product_us + 300);
	assert_predicted(products, "precision=fp32", 1000);
	/* an A100 does 19.5 T/s in 32 bits, and has 2039 GB/s */
	assert_predicted(products, "precision=fp32;device=A100-80GB;device=V100", 1000);
	assert_predicted(
		products, "device=A100-80GB,efficiency:equal;precision=fp16",
		100 +
			2 * 200 * 15.7 / 19.5 *
				precision_factor_on("V100", "A100-80GB", mm, 200, DEVICE_FP16) +
			100 * 900.0 / 2039 *
				(1 +
				 precision_factor_on("V100", "A100-80GB", relu, 100, DEVICE_FP16)) +
			300);
}

/* Each change on what those before it left: casts stay only where the numbers still differ. */
static void test_several(void)
{
	gdouble cast_us = 6e6 / 900e3;

	/* the sum between the products in half precision, too: of casts, the weights' stay, and the first input's */
	assert_predicted(products, "precision:op~^aten::mm$=fp16;precision:op~relu=fp16",
			 100 + (product_us + 2 * cast_us) + relu_us + 100 + (product_us + cast_us) +
				 300);
	/* in either order, and in one */
	assert_predicted(products, "precision:op~relu=fp16;precision:op~^aten::mm$=fp16",
			 100 + (product_us + 2 * cast_us) + relu_us + 100 + (product_us + cast_us) +
				 300);
	assert_predicted(products, "precision:op~^aten::mm$|relu=fp16",
			 100 + (product_us + 2 * cast_us) + relu_us + 100 + (product_us + cast_us) +
				 300);
	/* and back: nothing is left of it */
	assert_predicted(products, "precision:op~^aten::mm$=fp16;precision:op~^aten::mm$=fp32",
			 1000);
	assert_predicted(products, "precision:op~^aten::mm$=fp16;precision:op~.=fp32", 1000);
	/* numbers of one width, but not the same: 4 MB are read and written as many times */
	assert_predicted(
		products, "precision:op~^aten::mm$=fp16;precision:op~relu=bf16",
		100 + (product_us + 2 * cast_us) +
			(100 * precision_factor_on("V100", "V100", relu, 100, DEVICE_BF16) +
			 4e6 / 900e3) +
			100 + (product_us + cast_us + 4e6 / 900e3) + 300);
	/* all of it, but for the sum, which is bound by memory: its input is cast, and what comes out of it */
	assert_predicted(products, "precision=fp16;precision:op~relu=fp32",
			 100 + product_us + (100 + cast_us) + 100 + (product_us + cast_us) + 300);
	/* what was changed between stays so: twice as long a cast, of what is left */
	assert_predicted(products, "precision:op~relu=fp16;scale:op~relu=2;precision:op~relu=fp16",
			 100 + 200 + 2 * (relu_us + cast_us) + 100 + (200 + cast_us) + 300);
	assert_predicted(products, "precision:op~relu=fp16;scale:op~relu=2;precision:op~relu=fp32",
			 100 + 200 + 2 * 100 + 100 + 200 + 300);
}

/* With twice the samples, products do twice as much, which arithmetic bounds, and the sum moves twice as much; of the other kernel nothing is
 * known, so it goes with the batch as the sum does, which takes as long. What changes before and after make of it stays. */
static void test_batch(void)
{
	gdouble product = work_share_on("V100", mm, 200), sum = work_share_on("V100", relu, 100);
	gdouble twice_us = 2 * 200 * (1 + product) + 2 * 100 * (1 + sum);
	gdouble half_us = 2 * 200 * (1 - product / 2) + 2 * 100 * (1 - sum / 2);

	g_assert_cmpfloat(product, >, 0.8); /* it fills the device, and the sum does not */
	g_assert_cmpfloat(sum, <, 0.2);
	assert_predicted(products, "batch=2x", 100 + twice_us + 300);
	assert_predicted(products, "batch=0.5", 100 + half_us + 300);
	assert_predicted(products, "batch=1x", 1000);
	assert_predicted(products, "batch=2x;batch=0.5", 1000);
	assert_predicted(products, "batch=4x;batch=0.5", 100 + twice_us + 300);
	assert_predicted(products, "precision=fp16;precision=fp32;batch=2x", 100 + twice_us + 300);
	/* half as many samples, each in half as many bits: of the products' work as little is left as of both by themselves */
	assert_predicted(products, "precision=fp16;batch=0.5",
			 100 + 2 * (200 * (1 - product) + (product_us - 200 * (1 - product)) / 2) +
				 100 * (1 - sum * 3 / 4) + 100 * (1 - sum / 2) + 300);
}

/* A product of few rows is bound by its weight of 64 MB, and one of many is not: twice of 8 rows are next to nothing. */
static void test_weight(void)
{
	static const gchar few[] = "unit us\n"
				   "rank 0 thread 1000 main\n"
				   "  device 0 'Tesla V100-SXM2-16GB'\n"
				   "  annotation ProfilerStep#0 0..1000\n"
				   "    op aten::mm 0..10 seq=0 in=float32[8,4096] "
				   "in=float32[4096,4096] out=float32[8,4096]\n"
				   "      runtime launch1 0..10\n"
				   "    op MmBackward0 30..40 backward seq=0 fwd=1\n"
				   "      op other 30..40\n"
				   "    runtime cudaDeviceSynchronize 60..1000\n"
				   "stream 7\n"
				   "  kernel sgemm 100..200 launch=launch1\n";
	struct kernel_demand demand = { KERNEL_GEMM, DEVICE_FP32, 2.0 * 8 * 4096 * 4096,
					4.0 * 4096 * (4096 + 16), 4.0 * 4096 * 4096 };
	gdouble more =
		4.0 * 4096 * 16 / demand.bytes; /* of the bytes, those of 8 rows in and out */

	assert_predicted(few, "batch=2x", 1000 + 100 * work_share_on("V100", demand, 100) * more);
}

/* In 8 bits: what comes out is in 32, so each that follows is cast again. */
static void test_eight_bits(void)
{
	gdouble eight_us = 200 * precision_factor_on("T4", "T4", mm, 200, DEVICE_INT8),
		bytes = 320e3;
	gdouble half_us = 200 * precision_factor_on("T4", "T4", mm, 200, DEVICE_FP16);

	g_assert_cmpfloat(eight_us, <, half_us);
	assert_predicted(products, "precision:op~^aten::mm$=int8:T4",
			 100 + (eight_us + 2 * 5e6 / bytes) + 100 + 100 +
				 (half_us + 2 * 6e6 / bytes) + 300);
}

/* Changes one of two ranks. Each has a product, and both wait for both products at an all-reduce of 40
 * us. */
static void test_ranks(void)
{
#define RANK                                                                                       \
	"  device 0 'Tesla V100-SXM2-16GB'\n"                                                      \
	"  annotation ProfilerStep#0 0..400\n"                                                     \
	"    op aten::mm 0..10 " PRODUCT "\n"                                                      \
	"      runtime cudaLaunchKernel 0..10\n"                                                   \
	"    runtime cudaDeviceSynchronize 10..300\n"                                              \
	"    op c10d::allreduce_ 300..301\n"                                                       \
	"    op b 341..400\n"                                                                      \
	"    collective gloo:all_reduce 301..341 bytes=1024 end_tid=9\n"                           \
	"  alloc 5 address=4096 bytes=4000000\n"                                                   \
	"stream 7\n"                                                                               \
	"  kernel sgemm 100..300 launch=cudaLaunchKernel\n"
	static const gchar two[] =
		"unit us\nrank 0 thread 1000 main\n" RANK "rank 1 thread 1001 main\n" RANK;
	gdouble fast_us = product_us + 2 * 6e6 / 900e3, slow_us = 200 * 15.7 / 8.1;
	gdouble slow_half_us =
		slow_us * precision_factor_on("V100", "T4", mm, 200, DEVICE_FP16) + 2 * 6e6 / 320e3;

	/* the other one still takes as long */
	assert_predicted(two, "precision:1:op~mm=fp16", 400);
	assert_predicted(two, "precision:0-1:op~mm=fp16", 200 + fast_us);
	assert_predicted(two, "precision:0:op~mm=fp16;precision:1:op~mm=fp16", 200 + fast_us);
	/* QSync's case: the slow device in half precision keeps up, and gradients go round as they did */
	assert_predicted(two, "device:1=T4,efficiency:equal", 200 + slow_us);
	assert_predicted(two, "device:1=T4,efficiency:equal;precision:1=fp16;drop:0:kernel~sgemm",
			 200 + slow_half_us);
	assert_predicted(two, "device:1=T4,efficiency:equal;precision:1=fp16", 400);
	assert_predicted(two, "precision:1=fp16;device:1=T4,efficiency:equal", 400);
	assert_refused(two, "precision:2=fp16", "no rank 2");
	assert_refused(two, "precision:1:op=fp16", "KIND~REGEX");
	assert_refused(two, "precision:1;op~mm=fp16", "as 4, 4-7");
#undef RANK
}

static void assert_peak(const gchar *what_ifs, gint64 expected_bytes)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(products);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_ifs, &error);

	g_assert_no_error(error);
	g_test_message("%s: %" G_GINT64_FORMAT " B", what_ifs,
		       prediction->predicted_peak_memory_bytes);
	g_assert_cmpint(prediction->baseline_peak_memory_bytes, ==, 8000000);
	g_assert_cmpint(prediction->predicted_peak_memory_bytes, ==, expected_bytes);
}

/* 4 MB of the first product, from 5 on, and of the sum, from 15 on. */
static void test_memory(void)
{
	/* the sum's is half; the product of the backward pass reads 4 MB of it in 32 bits again */
	assert_peak("precision:op~relu=fp16", 4000000 + 2000000 + 4000000);
	/* the first product's is half; while the sum lasts, it reads 4 MB in 32 bits again, and later the product of the
	 * backward pass two inputs of 2 MB */
	assert_peak("precision:op~^aten::mm$=fp16", 2000000 + 4000000 + 4000000);
	/* of no cast is anything left */
	assert_peak("precision:op~relu=fp16;precision:op~relu=fp32", 8000000);
	assert_peak("precision=fp16", 4000000);
	/* without the sum, the backward pass still reads what it would have left */
	assert_peak("precision:op~relu=fp16;drop:op~relu", 4000000 + 4000000);
}

/* With the whole of it, gradients are half as large, and an all-reduce of 40 us takes 20. */
static void test_gradients(void)
{
#define RANK                                                                                       \
	"  annotation ProfilerStep#0 0..100\n"                                                     \
	"    op aten::relu 0..10 in=float32[1000000] out=float32[1000000]\n"                       \
	"      runtime launch 0..10\n"                                                             \
	"    op c10d::allreduce_ 10..11\n"                                                         \
	"    op b 51..100\n"                                                                       \
	"    collective gloo:all_reduce 11..51 bytes=1024 end_tid=9\n"                             \
	"stream 7\n"                                                                               \
	"  kernel relu 10..12 launch=launch\n"
	static const gchar two[] =
		"unit us\nrank 0 thread 1000 main\n" RANK "rank 1 thread 1001 main\n" RANK;

	assert_predicted(two, "precision=fp16:V100", 11 + 20 + 49);
	assert_predicted(two, "precision:op~relu=fp16:V100", 100);
#undef RANK
}

static void test_refusals(void)
{
	assert_refused(products, "precision=fp8", "write precision=P");
	assert_refused(products, "precision:op~mm", "write precision=P");
	assert_refused(products, "precision:mm=fp16", "KIND~REGEX");
	assert_refused(products, "precision:op~(=fp16", "missing");
	assert_refused(products, "precision:op~other=fp16", "no kernel belongs to such");
	assert_refused(products, "precision=fp16:Abacus", "'Abacus' is not a known device");
	assert_refused("unit us\nrank 0 thread 1000 main\n  annotation ProfilerStep#0 0..10\n"
		       "    op a 0..10\n",
		       "precision=fp16", "no kernels of a device");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	product_us = 200 * precision_factor_on("V100", "V100", mm, 200, DEVICE_FP16);
	relu_us = 100 * precision_factor_on("V100", "V100", relu, 100, DEVICE_FP16);
	g_test_add_func("/what_if_precision/part", test_part);
	g_test_add_func("/what_if_precision/whole", test_whole);
	g_test_add_func("/what_if_precision/several", test_several);
	g_test_add_func("/what_if_precision/batch", test_batch);
	g_test_add_func("/what_if_precision/weight", test_weight);
	g_test_add_func("/what_if_precision/eight_bits", test_eight_bits);
	g_test_add_func("/what_if_precision/ranks", test_ranks);
	g_test_add_func("/what_if_precision/memory", test_memory);
	g_test_add_func("/what_if_precision/gradients", test_gradients);
	g_test_add_func("/what_if_precision/refusals", test_refusals);
	return g_test_run();
}
