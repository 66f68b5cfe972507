/* What kernels are there to do: in which numbers they count, by their operations or by their names. */
#include <tacho/correlate.h>

#include "analyze/kernel_demands.h"
#include "timeline_text.h"

static const gchar text[] =
	"unit us\n"
	"rank 0 thread 1 main\n"
	"op aten::mm 0..10 in=float32[100,10] in=float32[10,20] out=float32[100,20]\n"
	"  runtime launch 1..3\n"
	"op aten::mm 10..20 in=float32[100,10] in=float32[10,20] out=float32[100,20]\n"
	"  runtime launch_tf32 11..13\n"
	"op aten::embedding 20..30 in=float32[1000,8] in=float32[4] out=float32[4,8]\n"
	"  runtime launch_embedding 21..23\n"
	"stream 7\n"
	"kernel sgemm_128x64 20..30 launch=launch\n"
	"kernel ampere_tf32_gemm 30..40 launch=launch_tf32\n"
	"kernel indexSelectSmallIndex 40..50 launch=launch_embedding\n"
	"kernel ampere_bf16_s16816gemm_bf16 50..60\n"
	"kernel volta_fp16_s884gemm_fp16 60..70\n"
	"kernel turing_h1688gemm 70..80\n"
	"kernel cutlass_gemm_Half 80..90\n"
	"kernel cutlass_tf32_gemm 90..100\n"
	"kernel ampere_sgemm 100..110\n"
	"kernel mystery_of_tf32 110..120\n";

static struct kernel_demand demand_of(struct kernel_demands *demands, const gchar *kernel,
				      guint32 *ret_op)
{
	return kernel_demands_of(demands, timeline_find(demands->works.timeline, kernel, 0),
				 ret_op);
}

static void test_operations(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	struct kernel_demands demands;
	struct kernel_demand demand;
	guint32 op;

	tacho_correlate(timeline);
	kernel_demands_init(&demands, timeline);
	demand = demand_of(&demands, "sgemm_128x64", &op);
	g_assert_cmpuint(op, ==, timeline_find(timeline, "aten::mm", 0));
	g_assert_cmpuint(demand.class, ==, KERNEL_GEMM);
	g_assert_cmpuint(demand.rate, ==, DEVICE_FP32);
	g_assert_cmpfloat(demand.flops, ==, 2 * 100 * 10 * 20);
	g_assert_cmpfloat(demand.bytes, ==, 4 * (100 * 10 + 10 * 20 + 100 * 20));
	demand = demand_of(&demands, "ampere_tf32_gemm", &op);
	g_assert_cmpuint(op, ==, timeline_find(timeline, "aten::mm", 1));
	g_assert_cmpuint(demand.rate, ==, DEVICE_TF32);
	/* how much of its table it reads was not recorded */
	demand = demand_of(&demands, "indexSelectSmallIndex", NULL);
	g_assert_cmpuint(demand.class, ==, KERNEL_GATHER);
	g_assert_cmpfloat(demand.flops, ==, 0);
	g_assert_cmpfloat(demand.bytes, ==, 0);
	kernel_demands_release(&demands);
}

static void test_names(void)
{
	static const struct {
		const gchar *kernel;
		enum device_rate rate;
	} cases[] = {
		{ "ampere_bf16_s16816gemm_bf16", DEVICE_BF16 },
		{ "volta_fp16_s884gemm_fp16", DEVICE_FP16 },
		{ "turing_h1688gemm", DEVICE_FP16 },
		{ "cutlass_gemm_Half", DEVICE_FP16 },
		{ "cutlass_tf32_gemm", DEVICE_TF32 },
		{ "ampere_sgemm", DEVICE_FP32 },
		{ "mystery_of_tf32", DEVICE_N_RATES }, /* it may not compute at all */
	};
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	struct kernel_demands demands;

	tacho_correlate(timeline);
	kernel_demands_init(&demands, timeline);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		guint32 op;
		struct kernel_demand demand = demand_of(&demands, cases[i].kernel, &op);

		g_test_message("%s", cases[i].kernel);
		g_assert_cmpuint(op, ==, TACHO_NONE);
		g_assert_cmpuint(demand.rate, ==, cases[i].rate);
		g_assert_cmpfloat(demand.flops, ==, 0);
	}
	kernel_demands_release(&demands);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel_demands/operations", test_operations);
	g_test_add_func("/kernel_demands/names", test_names);
	return g_test_run();
}
