/* call_cost: what a probe's own part in a call takes the job: the least of some rounds of calls, whose records are thrown away. */
#ifndef TACHO_CALL_COST_H
#define TACHO_CALL_COST_H

#include "common/probe.h"

/* In picoseconds, of one_call(i, data), for i from 1 on, each of which writes at most `bytes`. 0: there is no room to measure it in. */
static inline uint64_t tacho_call_cost_ps(size_t bytes, void (*one_call)(uint64_t i, void *data),
					  void *data)
{
	enum { ROUNDS = 9, CALLS = 32 };
	uint64_t least_ns = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		struct tacho_clock_pair before, after;

		if (!tacho_scratch_begin(CALLS * bytes))
			return 0;
		before = tacho_clock_pair_now();
		for (uint64_t i = 1; i <= CALLS; i++)
			one_call(i, data);
		after = tacho_clock_pair_now();
		tacho_scratch_end();
		if (after.ns - before.ns < least_ns)
			least_ns = after.ns - before.ns;
	}
	return least_ns * 1000 / CALLS;
}

#endif
