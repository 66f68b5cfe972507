/* kernel_trait: what the name of a kernel tells of it beyond its class (kernel_class.h). */
#ifndef TACHO_KERNEL_TRAIT_H
#define TACHO_KERNEL_TRAIT_H

#include <tacho/timeline.h>

enum kernel_trait {
	KERNEL_TRAIT_NONE,
	KERNEL_COPIES,	/* ROCm copies by a kernel of its own */
	KERNEL_FILLS,	/* and fills by another one */
	KERNEL_IN_TF32, /* it multiplies numbers of 32 bits in the format tf32 */
};

/* Of a kernel of that name (string id). */
enum kernel_trait kernel_trait_of_name(const TachoTimeline *timeline, guint32 name);

#endif
