/* plan_memory: the memory that ranks hold under a plan: the reference's blocks with other sizes and ends, and the copies that casts make.
 *
 * (1) What an operation hands out in its forward pass is as wide as its results are stored in; in its backward pass, as what it reads, but
 *     for the gradient of its weight, which is as wide as the weight itself, unless a registered kernel says otherwise.
 * (2) A copy of a weight is held from the operation's forward pass to the end of its backward pass, where that gives the gradient of what
 *     the operation reads, which takes the weight. So is a copy of what it reads, where it keeps that. Else each until the forward pass ends. A copy of a gradient is held while the reader's backward pass lasts.
 * (3) What is kept in the reference, and nobody keeps any more as it is, since all that keep it keep copies, is given back when the last
 *     that reads it has. Who reads or keeps a view of it reads or keeps it. What is held for another reason stays: the job has it.
 * (4) Where the reference gives back in the forward pass what an operation is to keep, and the operation has memory of that size itself, it
 *     keeps a copy of its own, as one does that wants its input contiguous. A cast of that is held until its forward pass ends.
 * (5) What an operation gives back in the pass in which it was handed out is as in the recording in its format (plan_scratch.h). */
#ifndef TACHO_PLAN_MEMORY_H
#define TACHO_PLAN_MEMORY_H

#include "precision/precision_job.h"
#include "replay/replay_internal.h"

/* Change the blocks of ranks r with set_of[r] == set (NULL: of all) in `graph`, a copy of the reference's with the same nodes, before it gets
 * others. */
void plan_memory_edit(const struct precision_job *job, TachoGraph *graph, const guint8 *formats,
		      const guint32 *set_of, guint32 set);
/* The peak of the fullest memory of a rank; -1: no memory was recorded. */
gdouble plan_memory_peak(const TachoReplay *replay);

#endif
