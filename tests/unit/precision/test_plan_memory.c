/* What two linear layers hold under plans, added up by hand. Each has 4 x 8 numbers and a weight of 8 x 8; times are microseconds. The last
 * peak is in b's backward pass, which has scratch of 1000 bytes in fp32, and of 300 in bf16. */
#include "precision/plan_scratch.h"
#include "precision/predict_plan.h"
#include "timeline_text.h"

#define X "in=float32[4,8]@0x1000"
static const gchar in_fp32[] =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"    module Net 0..40\n"
	"      module 'Net.a (Linear)' 0..20\n"
	"        op aten::linear 0..20 seq=0 " X " in=float32[8,8]@0x2000 out=float32[4,8]@0x3000\n"
	"        alloc 5 address=12288 bytes=128\n"
	"      module 'Net.b (Linear)' 20..40\n"
	"        op aten::linear 20..40 seq=1 in=float32[4,8]@0x3000 "
	"in=float32[8,8]@0x4000 out=float32[4,8]@0x5000\n"
	"        alloc 25 address=20480 bytes=128\n"
	"    op LinearBackward0 40..60 backward seq=1 fwd=1\n"
	"    alloc 42 address=131072 bytes=1000\n"
	"    free 44 address=131072 bytes=1000\n"
	"    free 55 address=20480 bytes=128\n"
	"    free 56 address=12288 bytes=128\n"
	"    op LinearBackward0 60..90 backward seq=0 fwd=1\n"
	"    annotation Optimizer.step#SGD.step 90..100\n"
	"      op aten::add_ 90..100\n";
static const gchar in_bf16[] =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  annotation ProfilerStep#0 0..50\n"
	"    module Net 0..20\n"
	"      module 'Net.a (Linear)' 0..10\n"
	"        op aten::linear 0..10 seq=1 " X
	" in=float32[8,8]@0x2000 out=bfloat16[4,8]@0x8000\n"
	"        alloc 5 address=32768 bytes=64\n"
	"      module 'Net.b (Linear)' 10..20\n"
	"        op aten::linear 10..20 seq=3 in=bfloat16[4,8]@0x8000 in=float32[8,8]@0x4000 "
	"out=bfloat16[4,8]@0xa000\n"
	"        alloc 15 address=40960 bytes=64\n"
	"    op LinearBackward0 20..30 backward seq=3 fwd=1\n"
	"    alloc 21 address=131072 bytes=300\n"
	"    free 23 address=131072 bytes=300\n"
	"    free 26 address=32768 bytes=64\n"
	"    free 27 address=40960 bytes=64\n"
	"    op LinearBackward0 30..40 backward seq=1 fwd=1\n"
	"    annotation Optimizer.step#SGD.step 40..50\n"
	"      op aten::add_ 40..50\n";

enum { INPUT, A, B, N_OF_JOB };

static struct precision_job *job_of(void)
{
	const struct job_source sources[] = { { "fp32", FORMAT_FP32, correlated(in_fp32), NULL },
					      { "bf16", FORMAT_BF16, correlated(in_bf16), NULL } };

	return precision_job_of(sources, G_N_ELEMENTS(sources), NULL, NULL, NULL);
}

static void assert_peak(const struct precision_job *job, enum number_format a, enum number_format b,
			gdouble expected_bytes)
{
	guint8 formats[N_OF_JOB] = { FORMAT_FP32, (guint8)a, (guint8)b };
	struct plan_prediction prediction;

	g_assert_true(plan_prediction_init(&prediction, job, formats, NULL));
	g_assert_cmpfloat(prediction.peak_bytes, ==, expected_bytes);
	plan_prediction_release(&prediction);
}

static void test_scratch(void)
{
	g_autoptr(precision_job) job = job_of();
	const gdouble *scratch = job->run_of[FORMAT_BF16]->scratch_bytes;

	g_assert_null(job->reference->scratch_bytes);
	g_assert_cmpfloat(scratch[LAYER_BACKWARD * N_OF_JOB + B], ==, 300);
	g_assert_cmpfloat(scratch[LAYER_FORWARD * N_OF_JOB + B], ==, 0);
	g_assert_cmpfloat(scratch[LAYER_BACKWARD * N_OF_JOB + A], ==, 0);
}

static void test_peaks(void)
{
	g_autoptr(precision_job) job = job_of();
	gdouble out = 32 * 4, narrow = 32 * 2, weight = 64 * 2;

	assert_peak(job, FORMAT_FP32, FORMAT_FP32, out + out + 1000);
	/* a keeps a copy of x, and b what a made; b keeps a copy of its weight, and nobody wants the gradient of what a reads */
	assert_peak(job, FORMAT_BF16, FORMAT_BF16, 3 * narrow + weight + 300);
	/* what a made is kept as a copy alone, and the gradient of that is cast */
	assert_peak(job, FORMAT_FP32, FORMAT_BF16, 2 * narrow + weight + out + 300);
	assert_peak(job, FORMAT_BF16, FORMAT_FP32, narrow + out + out + narrow + 1000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/plan_memory/scratch", test_scratch);
	g_test_add_func("/plan_memory/peaks", test_peaks);
	return g_test_run();
}
