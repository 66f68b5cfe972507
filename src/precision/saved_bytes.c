#include "precision/saved_bytes.h"

#include <string.h>

#include "base/for_each.h"
#include "precision/operation_kind.h"

/* Statistics that norms keep are in fp32. Source: derived from PyTorch's native_layer_norm and native_batch_norm. */
#define STATISTIC_BYTES 4.0

gboolean saved_bytes_keeps_inputs(const struct identity_operation *operation)
{
	return (operation_kind_keeps(operation->kind) & KEEPS_INPUTS) != 0;
}

/* Means and deviations: of a layer norm each row's, of a batch norm each channel's. A norm's weight is told with its bias. */
static gdouble statistics(const struct identity_operation *operation)
{
	gdouble features = operation->weight / 2;

	if (features < 1)
		return 0;
	if (strcmp(operation->kind, "layer_norm") == 0)
		return 2 * STATISTIC_BYTES * operation->elements_in / features;
	if (strcmp(operation->kind, "batch_norm") == 0)
		return 2 * STATISTIC_BYTES * features;
	return 0;
}

/* Its weight gives the gradient of what it reads, where that is wanted. */
static gboolean needs_weight(const struct precision_job *job, const struct identity_operation *own)
{
	for (guint32 i = 0; i < own->n_inputs; i++) {
		guint32 producer = identity_input_at(job->identity, own->first_input + i)->producer;

		if (producer != IDENTITY_OUTSIDE && job->has_gradient[producer])
			return TRUE;
	}
	return FALSE;
}

gboolean saved_bytes_keeps_weight(const struct precision_job *job, guint32 operation,
				  enum number_format format)
{
	const struct identity_operation *own = identity_at(job->identity, operation);
	guint keeps = operation_kind_keeps(own->kind);

	return keeps & KEEPS_WEIGHT && own->rule == PRECISION_CHOSEN &&
	       (keeps & KEEPS_WEIGHT_ALWAYS || needs_weight(job, own)) &&
	       precision_job_keeps_weight(job, operation, format);
}

gdouble saved_bytes_own(const struct precision_job *job, guint32 operation,
			enum number_format format)
{
	const struct identity_operation *own = identity_at(job->identity, operation);
	guint keeps = operation_kind_keeps(own->kind);
	enum number_format reads = precision_job_reads(job, operation, format);
	gdouble bytes = statistics(own);

	if (keeps & KEEPS_OUTPUT)
		bytes += own->elements_out *
			 number_format_bytes(precision_job_stores(job, operation, format));
	if (keeps & KEEPS_MASK && !(keeps & KEEPS_UNKNOWN))
		bytes += own->elements_out;
	if (saved_bytes_keeps_weight(job, operation, format) &&
	    reads != format_reads(job->reference->format))
		bytes += own->weight * number_format_bytes(reads);
	return bytes;
}

/* producer << 4 | format, of what is kept of tensors. */
static gpointer tensor_key(guint32 producer, guint format)
{
	return GSIZE_TO_POINTER((gsize)producer << 4 | format);
}

G_STATIC_ASSERT(N_NUMBER_FORMATS < 16);

/* What an operation keeps of what it reads, that nobody keeps yet; a batch of indices is no tensor of floating numbers. */
static gdouble keep_inputs(const struct precision_job *job, guint32 operation,
			   const guint8 *formats, GHashTable *kept)
{
	const struct identity_operation *own = identity_at(job->identity, operation);
	enum number_format keeps = precision_job_keeps(job, operation, formats[operation]);
	gdouble bytes = 0;

	for (guint32 i = 0; i < own->n_inputs && keeps != N_NUMBER_FORMATS; i++) {
		const struct identity_input *input =
			identity_input_at(job->identity, own->first_input + i);
		gboolean is_outside = input->producer == IDENTITY_OUTSIDE;
		guint stored = is_outside ? keeps
					  : precision_job_stores(job, input->producer,
								 formats[input->producer]);
		gboolean is_copy = !is_outside && stored != keeps && !job->is_cast_once;

		/* each reader has a copy of its own, but one that is kept as it was is there once */
		if (is_copy || g_hash_table_add(kept, tensor_key(input->producer, keeps)))
			bytes += input->elements * number_format_bytes(keeps);
	}
	return bytes;
}

/* By formula; each tensor once in each format. */
static gdouble formula(const struct precision_job *job, const guint8 *formats)
{
	g_autoptr(GHashTable) kept = g_hash_table_new(NULL, NULL);
	gdouble bytes = 0;

	for (guint32 i = 0; i < job->identity->operations->len; i++)
		if (operation_kind_keeps(identity_at(job->identity, i)->kind) & KEEPS_OUTPUT)
			g_hash_table_add(kept,
					 tensor_key(i, precision_job_stores(job, i, formats[i])));
	for (guint32 i = 0; i < job->identity->operations->len; i++) {
		bytes += saved_bytes_own(job, i, (enum number_format)formats[i]);
		if (saved_bytes_keeps_inputs(identity_at(job->identity, i)))
			bytes += keep_inputs(job, i, formats, kept);
	}
	return bytes;
}

/* What the reference keeps beside what the formula has: indices, masks and numbers, which no format changes. */
static gdouble beside_formula(const struct precision_job *job)
{
	g_autofree guint8 *formats = g_malloc(MAX(job->identity->operations->len, 1u));

	if (job->identity->kept_bytes < 0 || job->identity->format != job->reference->format)
		return 0;
	memset(formats, job->reference->format, job->identity->operations->len);
	precision_job_follow(job, formats);
	return job->identity->kept_bytes - formula(job, formats);
}

gdouble saved_bytes_of_plan(const struct precision_job *job, const guint8 *formats)
{
	return MAX(formula(job, formats) + beside_formula(job), 0);
}

guint32 saved_bytes_unknown(const struct precision_job *job)
{
	guint32 n = 0;

	FOR_EACH(const struct identity_operation, own, job->identity->operations)
		n += operation_kind_keeps(own->kind) & KEEPS_UNKNOWN && !identity_is_border(own);
	return n;
}
