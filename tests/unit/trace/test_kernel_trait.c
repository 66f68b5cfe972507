/* kernel_trait: kernels that copy and fill for ROCm, and those that compute in tf32. */
#include "trace/kernel_trait.h"

static const struct {
	const gchar *name;
	enum kernel_trait trait;
} kernels[] = {
	{ "__amd_rocclr_copyBuffer", KERNEL_COPIES },
	{ "__amd_rocclr_copyBufferAligned.kd", KERNEL_COPIES },
	{ "__amd_rocclr_fillBufferAligned", KERNEL_FILLS },
	{ "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x64x32", KERNEL_IN_TF32 },
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
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel_trait/names", test_names);
	return g_test_run();
}
