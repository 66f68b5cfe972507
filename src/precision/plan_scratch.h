/* plan_scratch: memory that an operation hands out and gives back within one of its passes: workspaces, which each kernel has of its own
 * size, whatever the format of what it reads.
 *
 * (1) How far a pass goes above where it began is seen in the recording in a format: the median over its steps and ranks, with what is given back in it.
 * (2) What plan_memory.h says that the pass hands out and leaves, in the formats of that recording, is part of it. The rest is scratch, held
 *     from the pass's begin to its end wherever the operation computes in that format, so that the pass goes as far as it was seen to. */
#ifndef TACHO_PLAN_SCRATCH_H
#define TACHO_PLAN_SCRATCH_H

#include "precision/precision_job.h"

/* The block begins and ends in one pass of one operation. */
gboolean plan_scratch_has(const struct layers *layers, const struct graph_block *block);

/* The scratch of each operation in a recording that is not the reference, in bytes: [pass * operations + operation], -1 where the operation
 * was not found there. NULL: it has no memory. The caller's. */
gdouble *plan_scratch_of_run(const struct precision_job *job, const struct job_run *run);

#endif
