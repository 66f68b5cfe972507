/* Two ranks with two linear layers, 1 MiB of weights and 3 MiB, and a kernel of one's own in bf16 that casts as it goes and gives out gradients in
 * bf16. All can be added up by hand: an all-reduce takes 2 us and 4 us a MiB, the update 6 us. Times are microseconds. */
#include <math.h>
#include <string.h>

#include "precision/predict_plan.h"
#include "timeline_text.h"

static const gchar step_in_fp32[] =
	"annotation ProfilerStep#0 0..46\n"
	"op aten::linear 0..5 seq=0 in=float32[4,512]@0x1000 in=float32[512,512]@0x2000 "
	"out=float32[4,512]@0x3000\n"
	"op aten::linear 5..10 seq=1 in=float32[4,512]@0x3000 in=float32[1536,512]@0x4000 "
	"out=float32[4,1536]@0x5000\n"
	"op LinearBackward0 10..18 backward seq=1 fwd=1\n"
	"op autograd::engine::evaluate_function:AccumulateGrad 18..20\n"
	"  op torch::autograd::AccumulateGrad 18..20 backward in=float32[786432]\n"
	"op LinearBackward0 20..28 backward seq=0 fwd=1\n"
	"op autograd::engine::evaluate_function:AccumulateGrad 28..30\n"
	"  op torch::autograd::AccumulateGrad 28..30 backward in=float32[262144]\n"
	"collective gloo:all_reduce 20..34 bytes=3145728 end_tid=9\n"
	"collective gloo:all_reduce 30..40 bytes=1048576 end_tid=9\n"
	"annotation Optimizer.step#SGD.step 40..46\n"
	"  op aten::add_ 40..46\n";
static const gchar step_in_bf16[] =
	"annotation ProfilerStep#0 0..36\n"
	"op aten::linear 0..2 seq=0 in=float32[4,512]@0x1000 in=float32[512,512]@0x2000 "
	"out=float32[4,512]@0x3000\n"
	"op aten::linear 2..4 seq=1 in=float32[4,512]@0x3000 in=float32[1536,512]@0x4000 "
	"out=float32[4,1536]@0x5000\n"
	"op LinearBackward0 4..8 backward seq=1 fwd=1\n"
	"op autograd::engine::evaluate_function:AccumulateGrad 8..10\n"
	"  op torch::autograd::AccumulateGrad 8..10 backward in=float32[786432]\n"
	"op LinearBackward0 10..14 backward seq=0 fwd=1\n"
	"op autograd::engine::evaluate_function:AccumulateGrad 14..16\n"
	"  op torch::autograd::AccumulateGrad 14..16 backward in=float32[262144]\n"
	"collective gloo:all_reduce 10..24 bytes=3145728 end_tid=9\n"
	"collective gloo:all_reduce 16..30 bytes=1048576 end_tid=9\n"
	"annotation Optimizer.step#SGD.step 30..36\n"
	"  op aten::add_ 30..36\n";

static TachoTimeline *of_two_ranks(const gchar *step)
{
	g_autofree gchar *text = g_strconcat("unit us\nrank 0 thread 1000 main\n", step,
					     "rank 1 thread 1001 main\n", step, NULL);

	return correlated(text);
}

#define KERNEL(gradient)                                                                           \
	"kernel \"ours\" {\n match forward \"ours::*\"\n precision bf16\n"                         \
	" input x: bf16 fused_quant\n output y: fp32\n" gradient                                   \
	" variant_of \"aten::linear\"\n}\n"

enum { INPUT, A, B, N_OF_JOB };

static struct precision_job *job_with(const gchar *registry_text)
{
	const struct job_source sources[] = {
		{ "fp32", FORMAT_FP32, of_two_ranks(step_in_fp32), NULL },
		{ "bf16", FORMAT_BF16, of_two_ranks(step_in_bf16), NULL }
	};
	g_autoptr(GError) error = NULL;
	KernelRegistry *registry =
		kernel_registry_parse(registry_text, strlen(registry_text), &error);
	struct precision_job *job = precision_job_of(sources, 2, NULL, registry, &error);

	g_assert_no_error(error);
	return job;
}

/* a and b compute so on rank 0, and on rank 1; a rank waits this long. */
static void assert_step(const struct precision_job *job, const enum number_format of_rank[2][2],
			gdouble expected_us, gdouble waits_0, gdouble waits_1)
{
	struct plan_prediction prediction;
	struct rank_formats ranks;

	rank_formats_init(&ranks, N_OF_JOB, 2);
	for (guint32 rank = 0; rank < 2; rank++) {
		guint8 formats[N_OF_JOB] = { FORMAT_FP32, (guint8)of_rank[rank][0],
					     (guint8)of_rank[rank][1] };

		rank_formats_set(&ranks, rank, formats);
	}
	g_assert_true(plan_prediction_of_ranks(&prediction, job, &ranks, NULL));
	g_assert_cmpfloat_with_epsilon(prediction.step_ns / 1e3, expected_us, 0.01);
	g_assert_cmpfloat_with_epsilon(prediction.wait_ns[0] / 1e3, waits_0, 0.01);
	g_assert_cmpfloat_with_epsilon(prediction.wait_ns[1] / 1e3, waits_1, 0.01);
	plan_prediction_release(&prediction);
	rank_formats_release(&ranks);
}

#define BOTH(a, b)                                                                                 \
	{                                                                                          \
		{ FORMAT_##a, FORMAT_##b },                                                        \
		{                                                                                  \
			FORMAT_##a, FORMAT_##b                                                     \
		}                                                                                  \
	}

static void test_widths(void)
{
	static const enum number_format none[2][2] = BOTH(FP32, FP32), all[2][2] = BOTH(BF16, BF16),
					first[2][2] = BOTH(BF16, FP32),
					second[2][2] = BOTH(FP32, BF16);
	g_autoptr(precision_job) narrow = job_with(KERNEL(" grad dw: bf16\n"));
	g_autoptr(precision_job) wide = job_with(KERNEL(""));

	g_assert_cmpuint(narrow->identity->operations->len, ==, N_OF_JOB);
	assert_step(narrow, none, 46, 0, 0);
	/* b's gradient is there at 10, and takes 2 + 6; a's follows with 2 + 2 */
	assert_step(narrow, all, 10 + 8 + 4 + 6, 0, 0);
	assert_step(wide, all, 10 + 14 + 6 + 6, 0, 0);
	/* a alone: b's gradient is there at 2 + 5 + 10 */
	assert_step(narrow, first, 17 + 14 + 4 + 6, 0, 0);
	/* b alone: its own at 5 + 2 + 6, until 21; a's at 13 + 10 */
	assert_step(narrow, second, 23 + 6 + 6, 0, 0);
}

/* One rank in fp32 keeps all of the collective in it, and the other waits. */
static void test_ranks(void)
{
	static const enum number_format slow_last[2][2] = { { FORMAT_BF16, FORMAT_BF16 },
							    { FORMAT_FP32, FORMAT_FP32 } };
	static const enum number_format slow_first[2][2] = { { FORMAT_FP32, FORMAT_FP32 },
							     { FORMAT_BF16, FORMAT_BF16 } };
	g_autoptr(precision_job) job = job_with(KERNEL(" grad dw: bf16\n"));

	/* b's gradient is there at 10 and at 20, a's at 16 and at 30: moments in both count once */
	assert_step(job, slow_last, 46, 20, 0);
	assert_step(job, slow_first, 46, 0, 20);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/plan_gradients/widths", test_widths);
	g_test_add_func("/plan_gradients/ranks", test_ranks);
	return g_test_run();
}
