/* kernel_work: what kernels of devices compute, and what their device could have computed meanwhile. */
#ifndef TACHO_KERNEL_WORK_H
#define TACHO_KERNEL_WORK_H

#include "analyze/op_work.h"
#include "analyze/selection.h"

struct kernel_works {
	const TachoTimeline *timeline;
	struct op_works ops;
	guint8 *n_kernels;		    /* launched inside each slice; from 2 on 2 */
	const struct device_peak **devices; /* of each rank's index; NULL: not known */
	guint stride; /* stretches of kernels to ask for: one in so many, for the time that it takes */
	guint64 n_seen; /* kernels so far */
};

struct kernel_work {
	gdouble flops;
	gdouble peak_flops; /* of its device in that time, on such numbers; 0: not known */
};

void kernel_works_init(struct kernel_works *works, const struct selection *selection);
void kernel_works_release(struct kernel_works *works);

/* What a kernel of a stream computes. False: its operation has no formula or no recorded shapes, launched other
 * kernels, too, or the kernel was launched with a graph. */
gboolean kernel_works_find(struct kernel_works *works, guint32 slice, struct kernel_work *ret);

/* Whether to ask for the next kernel, stream by stream: the `n_of_name`th of its name, from 1. */
gboolean kernel_works_want_next(struct kernel_works *works, guint64 n_of_name);

/* The device of the rank, or NULL. */
const struct device_peak *kernel_works_device(const struct kernel_works *works, guint rank_index);

#endif
