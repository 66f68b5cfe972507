/* counter_library: CUPTI's functions for hardware counters (12.6 and later), of the library that the probe uses. */
#ifndef TACHO_COUNTER_LIBRARY_H
#define TACHO_COUNTER_LIBRARY_H

#include <stdbool.h>

#include "cuda/counters_abi.h"

struct cupti;

/* What cannot be counted is called so in what `tacho record` says at its end. */
#define COUNTERS_UNSEEN "hardware counters"

struct counter_library {
#define COUNTER_MEMBER(name, member, parameters) int (*member)(struct parameters *);
	COUNTERS_FUNCTIONS(COUNTER_MEMBER)
	SAMPLING_FUNCTIONS(COUNTER_MEMBER)
	RANGES_FUNCTIONS(COUNTER_MEMBER)
#undef COUNTER_MEMBER
	const struct cupti *cupti;
};

/* Find them in the library at `cupti`, which stays. False: which one it has not, in `missing`. */
bool counter_library_load(struct counter_library *library, const struct cupti *cupti,
			  const char **missing);

/* Say once, in what `tacho record` says at its end, that CUPTI refuses to count: `what` it was asked, in its words why, and what helps. */
void counter_library_say(const struct counter_library *library, const char *what, int result);

#endif
