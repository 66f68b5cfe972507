/* kernel_counters: hardware counters kernel by kernel (CUPTI's range profiler, 12.6 and later: a range for each kernel, and each kernel again
 * for each pass), as COUNTER records at the begin of their kernel.
 *
 *     a kernel is launched ---> its context counts from here on; who launched it, is noted
 *     64 are, or one must not be counted ---> stop, decode: the n-th range is of the n-th launch
 *     CUPTI tells when the kernel began (cuda_records.h) ---> its values are written
 *
 * (1) A kernel that is counted runs alone, and its launch returns when it is done: what this run says of times is not the job's.
 * (2) Kernels that wait for others would wait for ever: those of NCCL and NVSHMEM, and graphs, whose kernels are not known, are not counted;
 *     and while a stream is captured nothing is, since the device must not be waited for then.
 * (3) Where there are not as many ranges as launches, or launches of several threads overlapped, nobody knows whose a value is: it is
 *     left out, and counted as lost.
 * (4) Where CUPTI does not tell of kernels that it counts, their values are at their launches; how many is said (MARK).
 * (5) Whoever launches waits no longer than WAIT_MS for another thread that stops and decodes; then nothing more is counted. */
#ifndef TACHO_KERNEL_COUNTERS_H
#define TACHO_KERNEL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/counter_library.h"
#include "common/counter_list.h"

struct cupti_call;

/* Both stay. */
void kernel_counters_start(const struct counter_library *library, const struct counter_list *list,
			   bool is_on);
void kernel_counters_switch(bool is_on);

/* The driver's function of that name begins, or ends, in this thread. `correlation`: of the call of the program's that it lies in. */
void kernel_counters_call(const struct cupti_call *call, uint32_t correlation);

/* A kernel of that correlation began at `ticks`. In any thread. */
void kernel_counters_began(uint32_t correlation, uint64_t ticks);

/* At the end: stop, and decode. */
void kernel_counters_stop(void);
/* ... and when all kernels have been told: what is left. */
void kernel_counters_end(void);

#endif
