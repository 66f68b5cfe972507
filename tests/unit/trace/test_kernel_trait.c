/* kernel_trait: kernels that copy and fill for ROCm, that convert layouts, and the formats that others compute in. */
#include "trace/kernel_trait.h"

static const struct {
	const gchar *name;
	enum kernel_trait trait;
} kernels[] = {
	{ "__amd_rocclr_copyBuffer", KERNEL_COPIES },
	{ "__amd_rocclr_copyBufferAligned.kd", KERNEL_COPIES },
	{ "__amd_rocclr_fillBufferAligned", KERNEL_FILLS },
	{ "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x64x32", KERNEL_IN_TF32 },
	{ "cutlass_80_tensorop_s1688gemm_128x128_16x4_tn_align4", KERNEL_ON_TILES },
	{ "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_32x3_tn", KERNEL_IN_BF16 },
	{ "void at::native::vectorized_elementwise_kernel<4, AddFunctor<c10::BFloat16>>",
	  KERNEL_IN_BF16 },
	{ "cutlass_75_tensorop_f16_s1688gemm_f16_256x128", KERNEL_IN_FP16 },
	{ "volta_h884gemm_128x64_ldg8_nn", KERNEL_IN_FP16 },
	{ "volta_s884cudnn_fp16_256x64_ldg8_relu_exp_medium_nhwc_tn_v1", KERNEL_IN_FP16 },
	{ "void cudnn::ops::nchwToNhwcKernel<float, float, float, true>", KERNEL_CONVERTS_LAYOUT },
	{ "ampere_sgemm_128x64_tn", KERNEL_TRAIT_NONE },
	{ "Memcpy HtoD", KERNEL_TRAIT_NONE },
	{ "", KERNEL_TRAIT_NONE },
};

static void test_names(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(kernels); i++) {
		guint32 name = tacho_timeline_intern(timeline, kernels[i].name, -1);

		g_assert_cmpint(kernel_trait_of_name(timeline, name), ==, kernels[i].trait);
		g_assert_cmpint(kernel_trait_is_tf32(kernels[i].trait), ==,
				kernels[i].trait == KERNEL_IN_TF32 ||
					kernels[i].trait == KERNEL_ON_TILES);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel_trait/names", test_names);
	return g_test_run();
}
