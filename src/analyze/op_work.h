/* op_work: what operations compute and move, for changes of what does it: by their formulas and the bytes of
 * their tensors (analyze/op_flops.h). */
#ifndef TACHO_OP_WORK_H
#define TACHO_OP_WORK_H

#include <tacho/timeline.h>

#include "cost/device_table.h"

struct op_work {
	gdouble flops, bytes;
	gdouble weight_bytes; /* of products and convolutions: of `bytes`, what is as large whatever the batch, as far as shapes tell */
	enum device_rate rate; /* of its first tensor that has one; DEVICE_N_RATES: none has */
};

struct op_works {
	const TachoTimeline *timeline;
	GHashTable *known; /* slice -> struct op_work; NULL: not known */
};

void op_works_init(struct op_works *works, const TachoTimeline *timeline);
void op_works_release(struct op_works *works);

/* What the operation does, good for as long as `works`; NULL: it has no formula, or no shapes. */
const struct op_work *op_works_of(struct op_works *works, guint32 slice);
/* The innermost operation with known work around the slice, or around the call that launched it; or
 * TACHO_NONE. */
guint32 op_works_find(struct op_works *works, guint32 slice);

#endif
