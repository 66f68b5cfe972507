/* registry_problem: what a registry of kernels says of the operations of a problem. */
#include "precision/problem.h"
#include "precision/registry.h"

/* It casts what it reads by itself, so that no cast stands before it. Costs of casts are of a tensor: with other readers they stay. */
static void fuse_reads(const struct registered_kernel *kernel, TachoPrecisionProblem *problem,
		       guint32 operation)
{
	enum number_format input = number_format_input(kernel->precision);

	for (guint32 t = 0; t < problem->n_tensors; t++) {
		const struct precision_tensor *tensor = &problem->tensors[t];

		if (tensor->n_edges != 1 ||
		    problem->edges[tensor->first_edge].consumer != operation)
			continue;
		for (guint32 w = 0; w < problem->n_workers; w++)
			for (guint from = 0; from < N_NUMBER_FORMATS; from++)
				problem->workers[w].casts[t].forward_ns[from][input] = 0;
	}
}

static guint32 apply(const struct registered_kernel *kernel, TachoPrecisionProblem *problem)
{
	guint32 n = 0;

	for (guint32 i = 0; i < problem->n_operations; i++) {
		struct precision_operation *operation = &problem->operations[i];

		if (!registered_kernel_computes(kernel, operation->kind))
			continue;
		n++;
		operation->result[kernel->precision] =
			(guint8)kernel_operand_format(kernel, KERNEL_Y);
		operation->gradient[kernel->precision] =
			(guint8)kernel_operand_format(kernel, KERNEL_DW);
		if (kernel->fuses_quantize)
			fuse_reads(kernel, problem, i);
	}
	return n;
}

gboolean tacho_precision_problem_register(TachoPrecisionProblem *problem, const gchar *path,
					  GError **error)
{
	g_autoptr(KernelRegistry) registry = kernel_registry_read(path, error);

	if (!registry)
		return FALSE;
	/* the first of a format counts: it is applied last */
	for (guint i = kernel_registry_n(registry); i-- > 0;) {
		const struct registered_kernel *kernel = kernel_registry_at(registry, i);
		guint32 n = apply(kernel, problem);

		g_ptr_array_add(
			problem->notes,
			g_strdup_printf("the registered kernel '%s' computes %u operations in %s",
					kernel->name, n, number_format_name(kernel->precision)));
	}
	return TRUE;
}
