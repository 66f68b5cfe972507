/* kernel_trace: what the recorder writes: a CTF trace beside those of the job's processes, in the run's folder `traces`. Any CTF viewer reads
 * it, and `tacho` does as it reads traces of LTTng's kernel tracer (src/import/ctf/ctf_kernel.c). README.md lists events and fields.
 *
 * (1) Events may be added in any order, as long as each comes before the flush that is to write it: they are sorted first.
 * (2) The clock is CLOCK_MONOTONIC, from 0: the reader brings it to the run's clock by the readings of both in the run.
 * (3) It is written under a name that begins with a point, and renamed when it is whole. */
#ifndef TACHO_KERNEL_TRACE_H
#define TACHO_KERNEL_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct kernel_trace;

/* Sums of a thread, as /proc tells them, since it began. */
struct thread_sums {
	uint32_t pid, tid;
	uint64_t run_ns, wait_ns;     /* on a core; ready for one */
	uint64_t n_given_up, n_taken; /* switches: it had to wait; another took its core */
	uint64_t minor_faults, major_faults;
	uint64_t io_wait_ns;
};

/* In the run at `run`. NULL: errno says why. */
struct kernel_trace *kernel_trace_open(const char *run);
/* Add a struct kernel_event with what follows it (kernel_events.h), of `size_bytes`; one that is too short is left out. */
void kernel_trace_add(struct kernel_trace *trace, const void *event, size_t size_bytes);
void kernel_trace_add_sums(struct kernel_trace *trace, uint64_t stamp_ns,
			   const struct thread_sums *sums);
/* Write the events from before `limit_ns`; `n_lost` of all times did not come here. 0 or -errno. */
int kernel_trace_flush(struct kernel_trace *trace, uint64_t limit_ns, uint64_t n_lost);
/* The rest is written, and the trace gets its name; one without events is removed. Takes NULL. 0 or -errno. */
int kernel_trace_close(struct kernel_trace *trace, uint64_t n_lost);

#endif
