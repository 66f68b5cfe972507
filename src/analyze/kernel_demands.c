/* TensorFloat-32 is told by the kernel's name alone; so are the numbers of a kernel without shapes. */
#include "analyze/kernel_demands.h"

#include <tacho/correlate.h>

#include "trace/kernel_trait.h"

void kernel_demands_init(struct kernel_demands *demands, const TachoTimeline *timeline)
{
	op_works_init(&demands->works, timeline);
}

void kernel_demands_release(struct kernel_demands *demands)
{
	op_works_release(&demands->works);
}

enum kernel_class kernel_class_of(const TachoTimeline *timeline, guint32 kernel)
{
	const TachoSlices *slices = &timeline->slices;
	enum kernel_class class = KERNEL_OTHER;

	for (guint32 i = tacho_kernel_op(timeline, kernel);
	     i != TACHO_NONE && class == KERNEL_OTHER; i = slices->parent[i])
		if (slices->kind[i] == TACHO_SLICE_OP)
			class = kernel_class_of_operation(timeline, slices->name[i]);
	return class != KERNEL_OTHER ? class
				     : kernel_class_of_kernel(timeline, slices->name[kernel]);
}

static enum device_rate rate_of_trait(enum kernel_trait trait)
{
	switch (trait) {
	case KERNEL_IN_TF32:
		return DEVICE_TF32;
	case KERNEL_IN_BF16:
		return DEVICE_BF16;
	case KERNEL_IN_FP16:
		return DEVICE_FP16;
	default:
		return DEVICE_FP32;
	}
}

struct kernel_demand kernel_demands_of(struct kernel_demands *demands, guint32 kernel,
				       guint32 *ret_op)
{
	const TachoTimeline *timeline = demands->works.timeline;
	enum kernel_trait trait = kernel_trait_of_name(timeline, timeline->slices.name[kernel]);
	guint32 op = op_works_find(&demands->works, kernel);
	struct kernel_demand demand = { .class = kernel_class_of(timeline, kernel),
					.rate = DEVICE_N_RATES };

	if (op != TACHO_NONE) {
		const struct op_work *work = op_works_of(&demands->works, op);

		demand.rate = work->rate == DEVICE_FP32 && kernel_trait_is_tf32(trait) ? DEVICE_TF32
										       : work->rate;
		/* of its table it reads as much as it gives, which was not recorded */
		demand.flops = demand.class == KERNEL_GATHER ? 0 : work->flops;
		demand.bytes = demand.class == KERNEL_GATHER ? 0 : work->bytes;
		demand.weight_bytes = demand.class == KERNEL_GATHER ? 0 : work->weight_bytes;
	} else if (kernel_class_is_arithmetic(demand.class)) {
		demand.rate = rate_of_trait(trait);
	}
	if (ret_op)
		*ret_op = op;
	return demand;
}
