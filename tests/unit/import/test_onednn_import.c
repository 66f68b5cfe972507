/* Verbose logs of oneDNN: rows of every version, figures, and what is in between. */
#include <string.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar sample[] = TACHO_TEST_DATA "/onednn/verbose.log";

static TachoKernelArgs figures_of(const TachoTimeline *timeline, const gchar *name)
{
	TachoKernelArgs args;

	g_assert_true(tacho_slice_kernel(timeline, timeline_find(timeline, name, 0), &args));
	return args;
}

static void test_times(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(sample);
	const TachoSlices *slices = &timeline->slices;
	guint32 matmul = timeline_find(timeline, "matmul brg:avx512_core", 0);
	guint32 deconvolution =
		timeline_find(timeline, "deconvolution forward_training ref:any", 0);
	guint32 weights = timeline_find(timeline, "convolution backward_weights jit:gen", 0);
	guint32 sgemm = timeline_find(timeline, "SGEMM", 0);
	g_autofree gchar *args = tacho_slice_args_json(timeline, matmul);

	g_assert_cmpint(timeline->origin_unix_ns, ==, 1700000000000250000);
	g_assert_cmpint(slices->start_ns[matmul], ==, 750500);
	g_assert_cmpint(slices->duration_ns[matmul], ==, 250000);
	g_assert_cmpint(slices->duration_ns[weights], ==, 20000);
	g_assert_cmpint(slices->duration_ns[sgemm], ==, 1500);
	/* two at a time stand on two tracks, and a GPU's on its queue */
	g_assert_cmpuint(slices->track[deconvolution], !=, slices->track[matmul]);
	g_assert_cmpint(slices->duration_ns[deconvolution], ==, 125000);
	g_assert_cmpint(tacho_timeline_track(timeline, slices->track[weights])->device, ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 6);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_EVENT), ==, 1);
	g_assert_cmpuint(timeline->marks->len, ==, 3);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD)->count,
			 ==, 1);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	g_assert_nonnull(strstr(args, "\"problem\": \"16x32:32x8\""));
}

static void test_figures(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(sample);
	TachoKernelArgs matmul = figures_of(timeline, "matmul brg:avx512_core");
	TachoKernelArgs weights = figures_of(timeline, "convolution backward_weights jit:gen");
	TachoKernelArgs deconvolution =
		figures_of(timeline, "deconvolution forward_training ref:any");
	TachoKernelArgs inner = figures_of(timeline, "inner_product forward_inference gemm:jit");
	TachoKernelArgs sgemm = figures_of(timeline, "SGEMM");

	g_assert_cmpuint(matmul.flops, ==, 2 * 16 * 32 * 8);
	g_assert_cmpuint(matmul.bytes, ==, 16 * 32 * 2 + 32 * 8 * 2 + 16 * 8 * 4);
	g_assert_cmpstr(matmul.dtype, ==, "bfloat16");
	g_assert_cmpuint(matmul.n_dims, ==, 2);
	g_assert_cmpint(matmul.dims[1], ==, 8);
	g_assert_cmpuint(weights.flops, ==, 2 * 2 * (6 * 4 / 2) * 9 * 25);
	g_assert_cmpstr(weights.dtype, ==, "float16");
	g_assert_cmpuint(weights.n_dims, ==, 4);
	g_assert_cmpuint(deconvolution.flops, ==, 2 * (2 * 3) * 4 * 16);
	g_assert_cmpuint(inner.flops, ==, 2 * 4 * 5 * 6);
	g_assert_cmpuint(inner.n_dims, ==, 2);
	g_assert_cmpuint(sgemm.flops, ==, 2 * 64 * 32 * 16);
	g_assert_cmpstr(sgemm.dtype, ==, "float32");
}

static void test_damaged(void)
{
	foreign_damage(sample, 300);
}

/* "N exec rows, sum S ms" */
static void test_samples(void)
{
	static const struct {
		const gchar *name;
		guint n;
		gint64 sum_ns;
	} expected[] = {
		{ "mkldnn_v0.21_pytorch_alexnet.log", 3, 20894059 },
		{ "dnnl_v1.7_pytorch_resnet.log", 5, 41999343 },
		{ "onednn_v2.7_conv_pool.log", 5, 53046500 },
		{ "onednn_itex_bf16_training.log", 7, 19614985 },
		{ "onednn_v1_format_matmul.log", 2, 39954100 + 732178 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_autofree gchar *name = g_strconcat("onednn/", expected[i].name, NULL);
		g_autofree gchar *path = foreign_sample(name);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
		gint64 sum_ns = 0;

		if (!timeline)
			return;
		for (guint32 k = 0; k < timeline->slices.n; k++)
			if (timeline->slices.kind[k] == TACHO_SLICE_KERNEL)
				sum_ns += timeline->slices.duration_ns[k];
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==,
				 expected[i].n);
		g_assert_cmpint(sum_ns, ==, expected[i].sum_ns);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/onednn/times", test_times);
	g_test_add_func("/onednn/figures", test_figures);
	g_test_add_func("/onednn/damaged", test_damaged);
	g_test_add_func("/onednn/samples", test_samples);
	return g_test_run();
}
