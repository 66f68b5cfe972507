/* kernel_programs: loads kernel.bpf.c into the kernel, and takes what it tells out of the ring. */
#ifndef TACHO_KERNEL_PROGRAMS_H
#define TACHO_KERNEL_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

struct kernel_programs;

/* The job is what `launcher` starts from now on (0: none is), and the `n_pids` processes `pids`, with what they start. NULL: `why`, of
 * `why_bytes`, says why it cannot be. */
struct kernel_programs *kernel_programs_load(int launcher, const int *pids, unsigned n_pids,
					     char *why, size_t why_bytes);
/* Hand all events that have been told to `take`, with their sizes. */
void kernel_programs_drain(struct kernel_programs *programs,
			   void (*take)(void *data, const void *event, size_t size_bytes),
			   void *data);
/* Events for which the ring had no room. */
uint64_t kernel_programs_lost(const struct kernel_programs *programs);
/* Of which tracepoints this kernel has none, separated by commas; "": it has all. Good as long as `programs`. */
const char *kernel_programs_missing(const struct kernel_programs *programs);
/* Takes NULL. */
void kernel_programs_unload(struct kernel_programs *programs);

#endif
