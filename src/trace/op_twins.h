/* op_twins: the tensors of operations that PyTorch was not asked for.
 *
 * The torch probe asks for tensors in some training steps only (probes/torch/shape_steps.h). The operations
 * of the other steps get those of their twin: the operation at the same place in a step that was asked. A place is
 * the path from the step down, through modules and operations of the thread: at each, which of how many of that name
 * below their parent it is.
 *
 * (1) Where a step has more or fewer of a name than the one that was asked, those have no twin, nor has what is in
 *     them: nothing is guessed.
 * (2) Steps are cut as the probe cuts them, at the ends of optimizers' steps in the process.
 * (3) The twin is the last one that was asked before; where there is none, the last of all. */
#ifndef TACHO_OP_TWINS_H
#define TACHO_OP_TWINS_H

#include <tacho/timeline.h>

/* Find the twin of every slice that is UNASKED, and hand them to the timeline's source. Slices must be in their final
 * order, with their parents. */
void op_twins_join(TachoTimeline *timeline);

#endif
