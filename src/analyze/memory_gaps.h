/* memory_gaps: what was given back in control steps, in which nothing is recorded, so that nobody saw it go.
 *
 * (1) A block whose end was not seen, and that outlasts all its likes, was given back in the first control step behind its begin, if any.
 *     Without that, the gradients of the last step before each control step would be held to the end, and the peak would grow with them.
 * (2) Likes are blocks of the same size and memory, handed out in the same operations within one another, that were seen to go in one
 *     recorded stretch. What has none is kept, as an optimizer keeps its state. */
#ifndef TACHO_MEMORY_GAPS_H
#define TACHO_MEMORY_GAPS_H

#include <tacho/timeline.h>

/* End the blocks (struct memory_block) of the process so. */
void memory_gaps_end_blocks(const TachoTimeline *timeline, guint32 process, GArray *blocks);

#endif
