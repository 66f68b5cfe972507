/* function_kind: whose a function of the program's language is. */
#ifndef TACHO_FUNCTION_KIND_H
#define TACHO_FUNCTION_KIND_H

#include <tacho/timeline.h>

/* Whether a FUNCTION slice is of the program's own source, by its name: "train.py(12): main" is, "torch/optim/sgd.py(30):
 * step" and a function built into the language are not. */
gboolean function_is_own(const TachoTimeline *timeline, guint32 slice);

#endif
