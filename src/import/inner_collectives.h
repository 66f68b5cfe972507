/* inner_collectives: collectives of an added trace that the run's own records tell one layer below. Horovod says
 * "allreduce" of what is an MPI_Allreduce in the same process, which the run's probe has: counted twice, a step
 * would have twice the communication.
 *
 * (1) A collective of the trace is the longest of those of the run's process whose middle lies in it and that do the same (all-reduce,
 *     broadcast), each of which is taken once.
 * (2) The run's own stays: it is there on each rank, with what queued it and the messages. What else the trace says of its own,
 *     the tensors in it, is then of that one. * (3) A device's kernel is no layer above or below: it runs when the host is at something else.
 */
#ifndef TACHO_INNER_COLLECTIVES_H
#define TACHO_INNER_COLLECTIVES_H

#include "import/timeline_join.h"

/* Fill in the slices of `join` that are so and that nothing was said of yet; the run's own are the rows [0, n_own).
 * Processes must have been filled in. Returns how many. */
guint64 inner_collectives_find(struct timeline_join *join, guint32 n_own);

#endif
