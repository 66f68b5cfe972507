/* thread_sums: what anybody may know of the threads of own processes, where programs cannot be loaded into the kernel: sums in /proc since each
 * thread began (run time, time ready for a core, switches, page faults, time spent waiting for block devices). */
#ifndef TACHO_THREAD_SUMS_H
#define TACHO_THREAD_SUMS_H

#include <stdint.h>

struct kernel_trace;

/* Add the sums of all threads of the processes below `launcher` (0: none), but for `self`, and of the `n_pids` processes `pids`. Returns
 * how many threads there were. */
unsigned thread_sums_look(struct kernel_trace *trace, uint64_t now_ns, int launcher, int self,
			  const int *pids, unsigned n_pids);

#endif
