/* kernel_class: what kernels of a device do, as far as devices and libraries differ in how well they do it. */
#ifndef TACHO_KERNEL_CLASS_H
#define TACHO_KERNEL_CLASS_H

#include <tacho/timeline.h>

/* CLASS(enumerator, name, whether arithmetic usually bounds it, rather than memory) */
#define KERNEL_CLASSES(CLASS)                                                                      \
	CLASS(OTHER, "other", FALSE)                                                               \
	CLASS(GEMM, "gemm", TRUE)                                                                  \
	CLASS(CONVOLUTION, "convolution", TRUE)                                                    \
	CLASS(ATTENTION, "attention", TRUE)                                                        \
	CLASS(BATCH_NORM, "batch_norm", FALSE)                                                     \
	CLASS(LAYER_NORM, "layer_norm", FALSE)                                                     \
	CLASS(SOFTMAX, "softmax", FALSE)                                                           \
	CLASS(REDUCTION, "reduction", FALSE)                                                       \
	CLASS(POOLING, "pooling", FALSE)                                                           \
	CLASS(GATHER, "gather", FALSE)                                                             \
	CLASS(MOVE, "move", FALSE)                                                                 \
	CLASS(ELEMENTWISE, "elementwise", FALSE)                                                   \
	CLASS(OPTIMIZER, "optimizer", FALSE)                                                       \
	CLASS(COLLECTIVE, "collective", FALSE)

enum kernel_class {
#define KERNEL_CLASS_ENUM(enumerator, name, is_arithmetic) KERNEL_##enumerator,
	KERNEL_CLASSES(KERNEL_CLASS_ENUM)
#undef KERNEL_CLASS_ENUM
		N_KERNEL_CLASSES
};

/* What an operation or a kernel of that name (string id) does; KERNEL_OTHER: the name does not tell. An operation's
 * name is a framework's ("aten::addmm", "Conv2D"), a kernel's a library's or a compiler's. */
enum kernel_class kernel_class_of_operation(const TachoTimeline *timeline, guint32 name);
enum kernel_class kernel_class_of_kernel(const TachoTimeline *timeline, guint32 name);

/* "gemm". Never NULL. */
const gchar *kernel_class_name(enum kernel_class class);
/* N_KERNEL_CLASSES: there is none of that name. */
enum kernel_class kernel_class_find(const gchar *name);

/* Whether arithmetic usually bounds such kernels, rather than memory. */
gboolean kernel_class_is_arithmetic(enum kernel_class class);

#endif
