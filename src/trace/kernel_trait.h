/* kernel_trait: what the name of a kernel tells of it beyond its class (kernel_class.h). */
#ifndef TACHO_KERNEL_TRAIT_H
#define TACHO_KERNEL_TRAIT_H

#include <tacho/timeline.h>

enum kernel_trait {
	KERNEL_TRAIT_NONE,
	KERNEL_COPIES,	/* ROCm copies by a kernel of its own */
	KERNEL_FILLS,	/* and fills by another one */
	KERNEL_IN_TF32, /* it multiplies numbers of 32 bits in the format tf32 */
	KERNEL_IN_BF16,
	KERNEL_IN_FP16,
	KERNEL_ON_TILES, /* matrix units add up in 32 bits what they multiply: tf32 of 32 bits, else less */
	KERNEL_CONVERTS_LAYOUT, /* between NCHW and NHWC */
};

/* What a kernel of that name (string id) does. */
enum kernel_trait kernel_trait_of_name(const TachoTimeline *timeline, guint32 name);

/* Whether such a kernel computes in tf32 if its operation's tensors are of 32 bits. */
static inline gboolean kernel_trait_is_tf32(enum kernel_trait trait)
{
	return trait == KERNEL_IN_TF32 || trait == KERNEL_ON_TILES;
}

#endif
