#include "analyze/op_work.h"

#include "analyze/op_flops.h"

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

const struct op_work *op_works_of(struct op_works *works, guint32 slice)
{
	struct op_work work = { .rate = DEVICE_N_RATES };
	gpointer known;

	if (g_hash_table_lookup_extended(works->known, GUINT_TO_POINTER(slice), NULL, &known))
		return known;
	work.flops = op_flops(works->timeline, slice);
	work.bytes = op_output_bytes(works->timeline, slice);
	add_inputs(works->timeline, slice, &work);
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
