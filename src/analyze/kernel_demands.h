/* kernel_demands: what kernels of devices are there to do: class, operations, bytes, by the operation that launched
 * them and by their names. */
#ifndef TACHO_KERNEL_DEMANDS_H
#define TACHO_KERNEL_DEMANDS_H

#include "analyze/op_work.h"
#include "cost/kernel_efficiency.h"

struct kernel_demands {
	struct op_works works;
};

void kernel_demands_init(struct kernel_demands *demands, const TachoTimeline *timeline);
void kernel_demands_release(struct kernel_demands *demands);

/* The class of the innermost operation around its launch that has one, else that of its own name. */
enum kernel_class kernel_class_of(const TachoTimeline *timeline, guint32 kernel);

/* What the kernel's operation does, which is the kernel's own work where the operation launches one only. `ret_op`, if
 * not NULL: the operation whose work it is, TACHO_NONE where none is known. */
struct kernel_demand kernel_demands_of(struct kernel_demands *demands, guint32 kernel,
				       guint32 *ret_op);

#endif
