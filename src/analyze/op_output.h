/* op_output: what an operation made, where the trace tells only what it was given. */
#ifndef TACHO_OP_OUTPUT_H
#define TACHO_OP_OUTPUT_H

#include <tacho/timeline.h>

/* How an output's shape comes of the inputs'. */
typedef enum {
	OUTPUT_UNKNOWN,
	OUTPUT_BROADCAST, /* of all inputs: element by element */
	OUTPUT_MATMUL,
	OUTPUT_CONV,
} OutputRule;

/* The first output: as recorded, else as the rule makes it. FALSE: neither is known; `ret_output` is then
 * untouched. An output that was made has no storage. */
gboolean op_output(const TachoTimeline *timeline, guint32 slice, OutputRule rule,
		   TachoTensor *ret_output);

/* The last two inputs that are not scalars: the factors of a product. FALSE: there are none. */
gboolean op_factors(const TachoTimeline *timeline, guint32 slice, TachoTensor *ret_a,
		    TachoTensor *ret_b);

/* What a convolution made, as what reads it tells; FALSE: that does not tell it. */
gboolean op_conv_output_read(const TachoTimeline *timeline, guint32 slice, TachoTensor *ret_output);

/* For a convolution's backward whose outputs were not recorded: of how many of input and weight it made the
 * gradient; -1: not known. */
gint op_conv_gradients(const TachoTimeline *timeline, guint32 slice);

#endif
