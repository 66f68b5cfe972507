/* op_flops: floating-point operations of an operation, by its name and the shapes of its tensors. */
#ifndef TACHO_OP_FLOPS_H
#define TACHO_OP_FLOPS_H

#include <tacho/timeline.h>

/* As the trace tells it, else by a formula. One multiply-add counts two. -1: no formula for that name, or its shapes were not recorded. Inner
 * operations are not looked at. */
gdouble op_flops(const TachoTimeline *timeline, guint32 slice);

/* Bytes of all its outputs, as told or of their shapes; 0: none recorded. */
gdouble op_output_bytes(const TachoTimeline *timeline, guint32 slice);

/* Elements of the parameter that it is, as told, or whose gradient it accumulates; 0: neither. */
gdouble op_parameters(const TachoTimeline *timeline, guint32 slice);

/* Which of its inputs another operation made: the others of a product or convolution are weights, or what is added. */
guint32 op_activation_input(const TachoTimeline *timeline, guint32 slice);

gdouble tensor_elements(const TachoTensor *tensor);

#endif
