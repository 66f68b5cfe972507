/* memory_gaps: what was given back in control steps, in which nothing is recorded, so that nobody saw it go.
 *
 * (1) A block that a control step parts from its end, or that has none, and that outlasts all its likes, was given back in that step. Its
 *     address may have been handed out again there, unseen: what is given back at it later is another block. Without this rule the gradients
 *     of the last step before control steps are held to the end, or far into it, and the peak grows with them.
 * (2) Likes are blocks of the same size and memory, handed out in the same operations within one another, that were given back in the
 *     stretch of recorded steps in which they were handed out. What has none is kept, as an optimizer keeps its state. */
#ifndef TACHO_MEMORY_GAPS_H
#define TACHO_MEMORY_GAPS_H

#include <tacho/timeline.h>

/* End the blocks (struct memory_block) of the process so. */
void memory_gaps_end_blocks(const TachoTimeline *timeline, guint32 process, GArray *blocks);

#endif
