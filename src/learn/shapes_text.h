/* shapes_text: shapes of tensors as text, "[[8,16],[16,4]]"; a scalar is "[]". */
#ifndef TACHO_SHAPES_TEXT_H
#define TACHO_SHAPES_TEXT_H

#include <tacho/timeline.h>

/* Source: a rule: more inputs than operations with a formula have. If wrong, shapes of such a one are refused, or cut. */
#define SHAPES_MAX_TENSORS 16u

/* Read as many as there are into SHAPES_MAX_TENSORS rows, of which only dimensions are set. FALSE: it is not written so, or a number
 * is not from 0 to 2^40. */
gboolean shapes_text_read(const gchar *text, TachoTensor *tensors, guint32 *ret_n);
/* The inputs of an operation, the first SHAPES_MAX_TENSORS. */
void shapes_text_append(GString *text, const TachoTimeline *timeline, guint32 slice);

#endif
