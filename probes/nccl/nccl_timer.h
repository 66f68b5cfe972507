/* nccl_timer: when, on the trace's clock, a device was at a time of its own (the "pTimer" of NCCL's kernels).
 *
 * NCCL tells of a time some while after it was, and of nothing else. So what is told soonest is nearest to the truth: each
 * event bounds how far the clocks are apart from one side, and a launch, before which its kernel cannot begin, from the other.
 *
 * (1) The tightest bound of the last one to two seconds counts, so a clock may drift.
 * (2) A time comes out too late by the shortest delay of those seconds, never too early by more than the clocks drift apart in them.
 * (3) One timer a device. Threads may use it at once: who does not get it at once goes without. */
#ifndef TACHO_NCCL_TIMER_H
#define TACHO_NCCL_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/activity.h"

struct nccl_timer {
	uint32_t is_held; /* atomic */
	uint32_t has_pair;
	struct tacho_clock_pair best[2]; /* of this second, and of the one before */
	uint64_t second_begin;		 /* ticks */
	uint64_t error_ticks;		 /* least distance of the two bounds; 0: not known */
};

/* It is `ns` of the device or later, now that this thread hears of it. */
void nccl_timer_heard(struct nccl_timer *timer, uint64_t ns, uint64_t now_ticks);
/* A kernel that began at `ns` was launched no earlier than at `launch_ticks`. */
void nccl_timer_launched(struct nccl_timer *timer, uint64_t ns, uint64_t launch_ticks);
/* 0: not known. */
uint64_t nccl_timer_ticks(struct nccl_timer *timer, uint64_t ns);

#endif
