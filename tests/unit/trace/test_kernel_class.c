/* kernel_class: operations and kernels by name. */
#include "trace/kernel_class.h"

struct named {
	const gchar *name;
	enum kernel_class class;
};

static const struct named operations[] = {
	{ "aten::addmm", KERNEL_GEMM },
	{ "aten::_scaled_mm", KERNEL_GEMM },
	{ "MatMul", KERNEL_GEMM },
	{ "aten::cudnn_convolution", KERNEL_CONVOLUTION },
	{ "aten::miopen_convolution", KERNEL_CONVOLUTION },
	{ "Conv2DBackpropFilter", KERNEL_CONVOLUTION },
	{ "aten::_flash_attention_forward", KERNEL_ATTENTION },
	{ "aten::_softmax", KERNEL_SOFTMAX },
	{ "aten::_log_softmax_backward_data", KERNEL_SOFTMAX },
	{ "aten::native_layer_norm", KERNEL_LAYER_NORM },
	{ "FusedBatchNormGradV3", KERNEL_BATCH_NORM },
	{ "aten::mean", KERNEL_REDUCTION },
	{ "aten::index_select", KERNEL_GATHER },
	{ "aten::copy_", KERNEL_MOVE },
	{ "aten::add_", KERNEL_ELEMENTWISE },
	{ "aten::addcmul_", KERNEL_ELEMENTWISE },
	{ "c10d::allreduce_", KERNEL_COLLECTIVE },
	{ "aten::adders", KERNEL_OTHER }, /* a whole name counts, not how it begins */
	{ "other", KERNEL_OTHER },
	{ "", KERNEL_OTHER },
	{ "::", KERNEL_OTHER },
	{ "____", KERNEL_OTHER },
};

static const struct named kernels[] = {
	{ "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", KERNEL_GEMM },
	{ "Cijk_Alik_Bljk_B_BS_BH_Bias_HAS_SAV", KERNEL_GEMM },
	{ "ampere_sgemm_128x64_tn", KERNEL_GEMM },
	{ "sm80_xmma_fprop_implicit_gemm_f32f32", KERNEL_CONVOLUTION },
	{ "void cudnn::ops::nchwToNhwcKernel<float>", KERNEL_CONVOLUTION },
	{ "attn_fwd", KERNEL_ATTENTION },
	{ "void pytorch_flash::flash_fwd_kernel<...>", KERNEL_ATTENTION },
	{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL", KERNEL_COLLECTIVE },
	{ "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8>", KERNEL_SOFTMAX },
	{ "void at::native::vectorized_elementwise_kernel<4>", KERNEL_ELEMENTWISE },
	{ "triton_red_fused_add_mean_0", KERNEL_REDUCTION },
	{ "abracadabra", KERNEL_OTHER },
	{ "", KERNEL_OTHER },
};

static void test_names(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(operations); i++) {
		guint32 name = tacho_timeline_intern(timeline, operations[i].name, -1);

		g_assert_cmpint(kernel_class_of_operation(timeline, name), ==, operations[i].class);
	}
	for (guint i = 0; i < G_N_ELEMENTS(kernels); i++) {
		guint32 name = tacho_timeline_intern(timeline, kernels[i].name, -1);

		g_assert_cmpint(kernel_class_of_kernel(timeline, name), ==, kernels[i].class);
	}
}

static void test_classes(void)
{
	for (guint i = 0; i < N_KERNEL_CLASSES; i++)
		g_assert_cmpint(kernel_class_find(kernel_class_name(i)), ==, i);
	g_assert_cmpint(kernel_class_find("gems"), ==, N_KERNEL_CLASSES);
	g_assert_true(kernel_class_is_arithmetic(KERNEL_ATTENTION));
	g_assert_false(kernel_class_is_arithmetic(KERNEL_SOFTMAX));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel_class/names", test_names);
	g_test_add_func("/kernel_class/classes", test_classes);
	return g_test_run();
}
