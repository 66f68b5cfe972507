/* cuda_buffers: the memory that CUPTI writes its records of activities into, and what becomes of them.
 *
 * (1) Buffers are asked for and come back in any thread, and in any order.
 * (2) What CUPTI dropped, and what cannot be read, is counted as lost.
 * (3) A forked child has none of its parent's buffers. */
#ifndef TACHO_CUDA_BUFFERS_H
#define TACHO_CUDA_BUFFERS_H

#include <stddef.h>

struct cupti;

/* Hand CUPTI the two functions. The library stays as it is. Returns CUPTI's result. */
int cuda_buffers_start(const struct cupti *cupti);

/* So many records are missing from what the calling thread writes. */
void cuda_count_lost(size_t n);

#endif
