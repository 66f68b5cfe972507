/* added_steps: the training steps of an added trace, where not the trace but who had it written knows what a step is. */
#ifndef TACHO_ADDED_STEPS_H
#define TACHO_ADDED_STEPS_H

#include "import/added_trace.h"

#include <tacho/timeline.h>

/* Make marks of the calls that are steps: each lasts until the next begins, the last until the trace ends. Where the trace
 * has steps of its own, these count. */
void added_steps_mark(TachoTimeline *trace, const struct added_trace *added);

#endif
