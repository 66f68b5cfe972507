/* op_trait: what a framework's operation does to parameters and gradients, as far as its name, scope or type tells. What it
 * computes is its class (kernel_class.h). */
#ifndef TACHO_OP_TRAIT_H
#define TACHO_OP_TRAIT_H

#include <tacho/timeline.h>

enum op_trait {
	OP_TRAIT_NONE,
	OP_IN_PLACE,	      /* it changes its first input: PyTorch's names end in an underscore */
	OP_IN_GRADIENTS,      /* it is in the scope of a TensorFlow graph's gradients */
	OP_APPLIES_GRADIENTS, /* a type of TensorFlow's operations that change variables */
};

/* What an operation of that name (string id) does. */
enum op_trait op_trait_of_name(const TachoTimeline *timeline, guint32 name);

static inline enum op_trait op_trait_of(const TachoTimeline *timeline, guint32 slice)
{
	return op_trait_of_name(timeline, timeline->slices.name[slice]);
}

#endif
