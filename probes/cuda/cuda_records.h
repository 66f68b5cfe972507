/* cuda_records: what CUPTI tells of activities, as records.
 *
 * (1) A record that is not whole in its buffer is not read.
 * (2) Kinds that are not known are passed over, and counted.
 * (3) What waited for an event is told who had recorded it by the order in which CUPTI tells of both. */
#ifndef TACHO_CUDA_RECORDS_H
#define TACHO_CUDA_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

/* `record` has at most `room` bytes. One thread at a time. False: it is not whole. */
bool cuda_record(const void *record, size_t room);
/* A device's context that is made: records of waits tell no device. */
void cuda_records_know(unsigned context, int device);

#endif
