/* fuzz_kernel_registry: whatever bytes as a registry of kernels. */
#include "fuzz_input.h"
#include "precision/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(KernelRegistry) registry = kernel_registry_parse((const gchar *)data, n, &error);

	if (!registry) {
		g_assert_nonnull(error);
		return 0;
	}
	for (guint i = 0; i < kernel_registry_n(registry); i++) {
		const struct registered_kernel *kernel = kernel_registry_at(registry, i);

		g_assert_cmpint(kernel->precision, <, N_NUMBER_FORMATS);
		g_assert_cmpuint(kernel->patterns->len, >, 0);
		for (guint j = 0; j < N_KERNEL_OPERANDS; j++)
			g_assert_cmpint(kernel_operand_format(kernel, (enum kernel_operand_name)j),
					<, N_NUMBER_FORMATS);
	}
	kernel_registry_find(registry, "aten::linear");
	return 0;
}
