#include "analyze/op_work.h"

#include "analyze/op_flops.h"
#include "trace/kernel_class.h"

void op_works_init(struct op_works *works, const TachoTimeline *timeline)
{
	works->timeline = timeline;
	works->known = g_hash_table_new_full(NULL, NULL, NULL, g_free);
}

void op_works_release(struct op_works *works)
{
	g_clear_pointer(&works->known, g_hash_table_unref);
}

static void add_inputs(const TachoTimeline *timeline, guint32 slice, struct op_work *work)
{
	TachoTensor input;

	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &input); i++) {
		work->bytes += tensor_elements(&input) * input.dtype_bytes;
		if (work->rate == DEVICE_N_RATES)
			work->rate = device_rate_of(input.dtype);
	}
}

static gboolean is_backward(const TachoTimeline *timeline, guint32 slice)
{
	for (; slice != TACHO_NONE; slice = timeline->slices.parent[slice])
		if (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD)
			return TRUE;
	return FALSE;
}

/* The second matrix of a product is the weight; but the gradient of a weight is what comes out, and of batches of products both are activations.
 * In a backward pass both kinds of product look alike: the larger one counts, which at small batches, where it matters, is the weight. */
static gdouble weight_of_product(const TachoTimeline *timeline, guint32 slice)
{
	gdouble bytes = 0;
	TachoTensor input;

	if (!tacho_slice_input(timeline, slice, op_activation_input(timeline, slice) + 1, &input) ||
	    input.n_dims > 2)
		return 0;
	bytes = tensor_elements(&input) * input.dtype_bytes;
	return is_backward(timeline, slice) ? MAX(bytes, op_output_bytes(timeline, slice)) : bytes;
}

/* The smallest of the others is a convolution's weight. */
static gdouble weight_of_convolution(const TachoTimeline *timeline, guint32 slice)
{
	gdouble least = 0;
	TachoTensor input;

	for (guint32 i = 1; tacho_slice_input(timeline, slice, i, &input); i++) {
		gdouble bytes = tensor_elements(&input) * input.dtype_bytes;

		if (input.n_dims > 2 && (least == 0 || bytes < least)) /* not what is added */
			least = bytes;
	}
	return least;
}

static gdouble weight_bytes(const TachoTimeline *timeline, guint32 slice)
{
	switch (kernel_class_of_operation(timeline, timeline->slices.name[slice])) {
	case KERNEL_GEMM:
		return weight_of_product(timeline, slice);
	case KERNEL_CONVOLUTION:
		return weight_of_convolution(timeline, slice);
	default:
		return 0;
	}
}

const struct op_work *op_works_of(struct op_works *works, guint32 slice)
{
	struct op_work work = { .rate = DEVICE_N_RATES };
	gpointer known;

	if (g_hash_table_lookup_extended(works->known, GUINT_TO_POINTER(slice), NULL, &known))
		return known;
	work.flops = op_flops(works->timeline, slice);
	work.bytes = op_output_bytes(works->timeline, slice);
	add_inputs(works->timeline, slice, &work);
	work.weight_bytes = MIN(weight_bytes(works->timeline, slice), work.bytes);
	known = work.flops >= 0 && work.bytes > 0 ? g_memdup2(&work, sizeof(work)) : NULL;
	g_hash_table_insert(works->known, GUINT_TO_POINTER(slice), known);
	return known;
}

guint32 op_works_find(struct op_works *works, guint32 slice)
{
	const TachoSlices *slices = &works->timeline->slices;

	if (slices->launch[slice] != TACHO_NONE)
		slice = slices->launch[slice];
	for (; slice != TACHO_NONE; slice = slices->parent[slice])
		if (slices->kind[slice] == TACHO_SLICE_OP && op_works_of(works, slice))
			return slice;
	return TACHO_NONE;
}
