/* stack_samples: what samples say that threads ran (STACK records), as slices.
 *
 * Each thread that was sampled gets a track of its own beside its own (TACHO_TRACK_SAMPLED), because samples tell times
 * only roughly: they neither contain nor cut what the thread itself has recorded. On it, a frame is a FUNCTION slice for
 * as long as samples saw it, named by the line that ran in it, "train.py(57): main"; a thread that waits in the
 * operating system has a WAIT slice in the innermost.
 *
 *     samples        | a b c   a b c   a b d   a        (n_same: 3, 2, 1)
 *     slices         | a.................................
 *                    | b.....................]
 *                    | c............] d......]
 *
 * (1) One stack ends and the next begins in the middle between the last sight of the one and the first of the other.
 * (2) A record that continues one which is missing says nothing: what runs is unknown until the next whole stack. */
#ifndef TACHO_STACK_SAMPLES_H
#define TACHO_STACK_SAMPLES_H

#include <tacho/timeline.h>

struct process_input;

/* Put the stacks of `inputs` (struct process_input, one for each of the timeline's processes), whose other rows are there
 * already, behind these. FALSE: no memory. */
gboolean stack_samples_add(TachoTimeline *timeline, const GArray *inputs, GError **error);

#endif
