/* same_records: what an added trace tells again that the run's own records tell. PyTorch's profiler and the torch probe, in
 * one process, both record every operation: counted twice, a step would hold twice the work.
 *
 * (1) A slice of the trace is the same as one of the run's if both are on one thread (for what is queued, of one process), of
 *     one kind and name, and begin within SAME_RECORDS_NS of each other. They are paired in order, each once.
 * (2) The run's own slice stays: it has the run's clock, and tensors. What the trace says of the other, arrows and launches,
 *     is then of that one. */
#ifndef TACHO_SAME_RECORDS_H
#define TACHO_SAME_RECORDS_H

#include "import/timeline_join.h"

/* Two recorders see one call at moments that differ by what the other takes to write its record, and by the error of the
 * clock's reading, both microseconds; calls of one name in one thread that do something are seldom nearer than this. */
#define SAME_RECORDS_NS G_GINT64_CONSTANT(1000000)

/* Fill in the slices of `join` that the other timeline has already: its rows [0, n_own), in timeline order. Processes and
 * tracks must have been filled in. Returns how many. */
guint64 same_records_find(struct timeline_join *join, guint32 n_own);

#endif
